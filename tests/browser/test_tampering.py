"""The browser's own check of a record that the database's owner has edited."""

import asyncio
import json
from collections.abc import AsyncIterator
from uuid import UUID

import asyncpg
import pytest
from playwright.async_api import Page, expect

from app.domain.chain import Entry
from app.domain.evidence_tree import leaf
from app.domain.merkle import completed
from app.providers.embedded_postgres import EmbeddedPostgres
from tests.browser.conftest import LiveServer, Visit
from tests.browser.test_inspector import ASKED, PATIENCE, answered, tab
from tests.fixtures.owner import connection

RECORD = "SELECT * FROM evidence WHERE id = $1"


@pytest.fixture
async def hand(live_server: LiveServer) -> AsyncIterator[asyncpg.Connection]:
    """The superuser, whom no trigger stops. What it edits is undone at the end."""
    server = await asyncio.to_thread(EmbeddedPostgres.start, live_server.home)
    try:
        async with connection(server.owner_url) as opened:
            await opened.execute("SET session_replication_role = replica")
            tables = ("evidence", "merkle_nodes")
            for table in tables:
                await opened.execute(f"CREATE TEMP TABLE kept_{table} AS SELECT * FROM {table}")
            yield opened
            await opened.execute(
                "UPDATE evidence e SET payload = k.payload FROM kept_evidence k "
                "WHERE k.organisation_id = e.organisation_id AND k.sequence = e.sequence AND k.payload <> e.payload"
            )
            await opened.execute(
                "UPDATE merkle_nodes m SET hash = k.hash FROM kept_merkle_nodes k WHERE k.hash <> m.hash "
                "AND (k.organisation_id, k.level, k.position) = (m.organisation_id, m.level, m.position)"
            )
    finally:
        await asyncio.to_thread(server.stop)


async def asked(visit: Visit, live_server: LiveServer) -> tuple[Page, UUID]:
    """A page with an answer, and its record."""
    page = await visit.open(live_server.token, **ASKED)
    await answered(page)
    return page, UUID(await page.locator(".terms code").inner_text())


async def edit(hand: asyncpg.Connection, record: UUID) -> asyncpg.Record:
    """Make the record say that another text was delivered."""
    row = await hand.fetchrow(RECORD, record)
    assert row is not None
    event = json.loads(row["payload"])
    digest: str = event["chunks"][0]["sha256"]
    forged = row["payload"].replace(digest.encode(), digest[::-1].encode())
    assert forged != row["payload"]
    await hand.execute("UPDATE evidence SET payload = $2 WHERE id = $1", record, forged)
    edited = await hand.fetchrow(RECORD, record)
    assert edited is not None
    return edited


async def test_a_record_that_was_edited_no_longer_fits_its_proof(
    visit: Visit, live_server: LiveServer, hand: asyncpg.Connection
) -> None:
    page, record = await asked(visit, live_server)
    await tab(page, "Proof").click()
    await expect(page.get_by_text("Proven.")).to_be_visible(timeout=PATIENCE)
    await hand.execute("INSERT INTO kept_evidence SELECT * FROM evidence WHERE id = $1", record)

    await edit(hand, record)
    await page.get_by_role("button", name="Check again").click()
    await expect(page.get_by_text("Not proven. The evidence does not fit")).to_be_visible(timeout=PATIENCE)
    failed = page.locator(".check-bad strong")
    await expect(failed).to_have_text(["These texts are the recorded ones", "The record is in the tree"])
    await expect(page.locator(".hash-wrong")).to_be_visible()
    await page.get_by_role("button", name="Verify").click()
    await expect(page.get_by_text("TAMPERED.")).to_be_visible(timeout=PATIENCE)
    assert await visit.all_complaints() == []


async def test_a_tree_that_was_made_to_fit_the_edit_is_not_the_one_that_was_signed(
    visit: Visit, live_server: LiveServer, hand: asyncpg.Connection
) -> None:
    page, record = await asked(visit, live_server)
    row = None
    while row is None or await hand.fetchval("SELECT max(size) FROM checkpoints") < row["sequence"]:
        await asyncio.sleep(0.1)
        row = await hand.fetchrow(RECORD, record)
    await hand.execute("INSERT INTO kept_evidence SELECT * FROM evidence WHERE id = $1", record)
    nodes = {
        (node["level"], node["position"]): node["hash"]
        for node in await hand.fetch("SELECT * FROM merkle_nodes WHERE organisation_id = $1", row["organisation_id"])
    }
    await hand.execute("INSERT INTO kept_merkle_nodes SELECT * FROM merkle_nodes ON CONFLICT DO NOTHING")

    edited = await edit(hand, record)
    entry = Entry(*(edited[name] for name in ("sequence", "key_id", "previous_mac", "mac", "payload")))
    for (level, position), digest in completed(
        entry.sequence - 1, leaf(edited["organisation_id"], entry), nodes.__getitem__
    ):
        await hand.execute(
            "UPDATE merkle_nodes SET hash = $4 WHERE organisation_id = $1 AND level = $2 AND position = $3",
            edited["organisation_id"],
            level,
            position,
            digest,
        )
    await tab(page, "Proof").click()
    await expect(page.get_by_text("Not proven. The evidence does not fit")).to_be_visible(timeout=PATIENCE)
    await expect(page.locator(".check-bad strong")).to_have_text(
        ["These texts are the recorded ones", "The root was signed"]
    )
    assert await visit.all_complaints() == []
