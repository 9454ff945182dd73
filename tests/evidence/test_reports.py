"""Records by what they are about: against a plain filter in memory, for each kind of viewer, page by page; and what a
page costs on a long chain."""

import itertools
import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import text

from app.domain.canonical import canonical
from app.domain.errors import Code, MunimentError
from app.domain.instant import format_instant, parse_instant
from app.domain.principal import Level, Permission
from app.evidence.reports import Filter, page, position
from app.providers.ids import new_id
from app.storage import queue, reports
from app.storage.reports import Wanted
from app.storage.viewer import Viewer
from tests.fixtures.explain import explained
from tests.retrieval.test_statements import statements

START = datetime(2026, 5, 1, tzinfo=UTC)
CATEGORIES = ["context_attribution", "context_attribution_link", "subject_erasure", "chain_verification"]
SUBJECTS = ["a" * 64, "b" * 64, None]
CLIENTS = ["console", "editor", None]


async def queued(world, records: list[dict[str, Any]]) -> None:
    async with world.parts.database.unstamped(world.organisation) as session:
        for record in records:
            await queue.enqueue(session, record["id"], canonical({**record, "id": str(record["id"])}))


@pytest.fixture
async def kept(world):
    """Sixty records in the order of the chain, the last ten still queued; who wrote them, where, when: at random."""
    chance = random.Random(7)
    other = await world.add_space("other", Level.PROJECT, "/")
    people = [world.principal, *[await world.add_person(name) for name in ("ann", "bob")]]
    made = []
    for number in range(60):
        id, client, subject = new_id(), chance.choice(CLIENTS), chance.choice(SUBJECTS)
        record = {
            "id": id,
            "category": chance.choice(CATEGORIES),
            "organisationId": str(world.organisation),
            "userId": str(chance.choice(people).id),
            "spaceId": str(chance.choice([world.root, world.project, other])),
            # Hardly, and not quite, in the order of the chain.
            "issuedAt": format_instant(START + timedelta(minutes=number + chance.randint(-3, 3))),
            "client": {"id": client, "name": "x", "version": "1"},
            **({} if subject is None else {"subjectPseudonym": subject}),
        }
        made.append(record)
    await queued(world, made[:50])
    await world.parts.sequencer.turn(world.organisation)
    await queued(world, made[50:])
    return made, people, other


async def everything(world, principal, filter=None, newest=False, size=7):
    """All pages; how long each but the last must be is checked too."""
    found, rows, after = [], [None] * (size + 1), None
    while len(rows) > size:
        rows = await page(
            world.parts.database, principal, filter or Filter(), newest=newest, after=after, limit=size + 1
        )
        found += [item.id for item in rows[:size]]
        after = position(rows[size - 1]) if len(rows) > size else None
    return found


def expected(made, principal, spaces, filter, newest=False):
    def wanted(record):
        issued = parse_instant(record["issuedAt"])
        return (
            (spaces is None or record["userId"] == str(principal.id) or record["spaceId"] in {str(id) for id in spaces})
            and filter.category in (None, record["category"])
            and filter.client_id in (None, record["client"]["id"])
            and filter.space_id in (None, record["spaceId"])
            and filter.subject_pseudonym in (None, record.get("subjectPseudonym"))
            and (filter.start is None or issued >= filter.start)
            and (filter.end is None or issued < filter.end)
        )

    found = [record["id"] for record in made if wanted(record)]
    return found[::-1] if newest else found


def filters(world, other):
    yield Filter()
    for category in CATEGORIES:
        yield Filter(category=category)
    yield Filter(client_id="editor")
    yield Filter(client_id="nobody")
    yield Filter(space_id=str(world.project))
    yield Filter(subject_pseudonym="a" * 64)
    yield Filter(start=START + timedelta(minutes=20))
    yield Filter(end=START + timedelta(minutes=20))
    yield Filter(start=START + timedelta(minutes=10), end=START + timedelta(minutes=55))
    yield Filter(start=START + timedelta(days=1))
    yield Filter(
        category=CATEGORIES[0],
        client_id="console",
        space_id=str(world.project),
        subject_pseudonym="b" * 64,
        start=START,
        end=START + timedelta(minutes=50),
    )


@pytest.mark.parametrize("newest", [False, True])
async def test_each_viewer_finds_what_a_plain_filter_finds(world, kept, newest):
    made, (auditor, ann, _), other = kept
    warden = await world.add_person("warden", (world.project, Permission.ADMIN), (other, Permission.AUDIT_READ))
    below = await world.add_person("below", (world.root, Permission.ADMIN))
    nobody = await world.add_person("nobody", (world.root, Permission.SEARCH))
    viewers = [
        (auditor, None),
        (ann, []),
        (nobody, []),
        (warden, [world.project, other]),
        (replace(ann, groups=(warden.id,)), [world.project, other]),
        (below, [world.root, world.project, other]),
    ]
    compared = 0
    for (viewer, spaces), filter in itertools.product(viewers, filters(world, other)):
        if viewer is ann and filter.space_id is not None:
            # A space that may not be seen is no space.
            with pytest.raises(MunimentError) as refused:
                await everything(world, viewer, filter, newest)
            assert refused.value.code is Code.SPACE_NOT_FOUND
            continue
        found = await everything(world, viewer, filter, newest)
        assert found == expected(made, viewer, spaces, filter, newest), (viewer.external_id, filter)
        compared += len(found)
    assert compared > 200


@pytest.mark.parametrize("newest", [False, True])
async def test_pages_stand_while_records_are_chained(world, kept, newest):
    """A cursor into the queue holds wherever its record has got to."""
    made, (auditor, *_), _ = kept
    ids = [record["id"] for record in made]
    order = ids[::-1] if newest else ids
    first = await page(world.parts.database, auditor, newest=newest, limit=5 if newest else 55)
    assert [item.id for item in first] == order[: len(first)]
    assert first[-1].sequence is None
    await world.parts.sequencer.turn(world.organisation)
    rest = await page(world.parts.database, auditor, newest=newest, after=position(first[-1]), limit=100)
    assert [item.id for item in (*first, *rest)] == order
    assert all(item.sequence is not None for item in rest)


async def test_another_organisation_sees_nothing(world, kept):
    _, (auditor, *_), _ = kept
    assert await everything(world, replace(auditor, organisation=uuid4())) == []


async def test_a_subject_by_its_own_name(world, memory):
    await memory.remember("ada likes tea", subjectId="ada")
    await memory.remember("bob likes tea", subjectId="bob")
    for name in ("ada", "bob", "ada"):
        await world.ask("tea", subject_id=name)
    found = await page(world.parts.database, world.principal, Filter(subject_id="ada"), limit=10)
    assert len(found) == 2
    [pseudonym] = {item.record["subjectPseudonym"] for item in found}
    same = await page(world.parts.database, world.principal, Filter(subject_pseudonym=pseudonym.upper()), limit=10)
    assert [item.id for item in same] == [item.id for item in found]
    assert await page(world.parts.database, world.principal, Filter(subject_id="nobody"), limit=10) == []
    # Who may not see the subject learns neither its pseudonym nor whether there is one.
    auditor = await world.add_person("auditor", (world.root, Permission.AUDIT_READ))
    stranger = await world.add_person("stranger")
    assert len(await page(world.parts.database, auditor, Filter(subject_id="ada"), limit=10)) == 2
    assert await page(world.parts.database, stranger, Filter(subject_id="ada"), limit=10) == []
    await memory.forget("ada")
    assert await page(world.parts.database, world.principal, Filter(subject_id="ada"), limit=10) == []
    [tombstone, *_] = found = await page(
        world.parts.database, auditor, Filter(subject_pseudonym=pseudonym), newest=True, limit=10
    )
    assert len(found) == 3
    assert tombstone.record["category"] == "subject_erasure"


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"category": ""}, "category"),
        ({"client_id": "x" * 257}, "clientId"),
        ({"client_id": "a\0b"}, "clientId"),
        ({"subject_pseudonym": "\ud800"}, "subjectPseudonym"),
        ({"subject_id": "a", "subject_pseudonym": "b"}, "subjectId"),
        ({"start": START, "end": START}, "to"),
        ({"start": datetime(2026, 1, 1), "end": START}, "from"),  # noqa: DTZ001
    ],
)
def test_what_no_record_can_be_is_refused(given, field):
    with pytest.raises(MunimentError) as refused:
        Filter(**given)
    assert (refused.value.code, refused.value.field) == (Code.BAD_USER_INPUT, field)


@pytest.mark.parametrize("after", ["", "x", "-1", str(uuid4()), "9" * 30, "٣"])
async def test_a_place_that_is_none_is_refused(world, after):
    with pytest.raises(MunimentError) as refused:
        await page(world.parts.database, world.principal, after=after, limit=5)
    assert (refused.value.code, refused.value.field) == (Code.BAD_USER_INPUT, "after")


@pytest.mark.parametrize("count", [3, 30])
async def test_so_many_statements_however_many_records(world, count):
    await queued(world, [{"id": new_id(), "category": "x", "userId": str(uuid4())} for _ in range(count)])
    await world.parts.sequencer.turn(world.organisation)
    with statements(world.parts.database) as run:
        assert len(await page(world.parts.database, world.principal, limit=100)) == count
    # Entering, two for what may be seen, the chain, the queue.
    assert len(run) == 5


# Cost

LONG = 20_000
ME, SPACE, RARE = uuid4(), uuid4(), "c" * 64


@pytest.fixture(scope="module")
async def long_chain(parts, owner_url):
    """A long chain of somebody else's, with a few records of mine, of a space, of a client, of a subject in it."""
    organisation = uuid4()
    async with parts.database.unstamped(organisation) as session:
        await session.run(
            text(
                """
                INSERT INTO evidence (organisation_id, sequence, id, payload, previous_mac, mac, key_id, queued_at)
                SELECT :organisation, n, i.id, convert_to(CAST(jsonb_build_object('id', i.id, 'category',
                    CASE WHEN n % 5000 = 17 THEN 'subject_erasure' ELSE 'context_attribution' END,
                    'userId', CASE WHEN n % 5000 = 0 THEN CAST(:me AS text) ELSE md5(CAST(n AS text)) END,
                    'spaceId', CASE WHEN n % 5000 = 1 THEN CAST(:space AS text) ELSE md5(CAST(n % 7 AS text)) END,
                    'client', jsonb_build_object('id', CASE WHEN n % 5000 = 2 THEN 'rare' ELSE 'usual' END),
                    'subjectPseudonym', CASE n % 5000 WHEN 3 THEN CAST(:rare AS text) ELSE md5(CAST(n % 9 AS text)) END,
                    'issuedAt', to_char(timestamp '2026-01-01' + n * interval '1 minute',
                        'YYYY-MM-DD"T"HH24:MI:SS".000000Z"')) AS text), 'UTF8'),
                    sha256(int8send(n)), sha256(int8send(n + 1)), 'k', now()
                FROM generate_series(1, :long) n CROSS JOIN LATERAL (SELECT gen_random_uuid() AS id WHERE n > 0) i
                """
            ),
            {"organisation": organisation, "me": str(ME), "space": str(SPACE), "rare": RARE, "long": LONG},
        )
    return organisation


AUDITOR, MINE, WARDEN = Viewer(uuid4(), True), Viewer(ME, False), Viewer(uuid4(), False, [SPACE, uuid4()])
DAY = START.replace(month=1, day=5)


@pytest.mark.parametrize(
    ("wanted", "viewer", "many"),
    [
        (Wanted(), AUDITOR, True),
        (Wanted(), MINE, False),
        (Wanted(), WARDEN, False),
        (Wanted(space=SPACE), AUDITOR, False),
        (Wanted(client="rare"), AUDITOR, False),
        (Wanted(client="nobody"), AUDITOR, False),
        (Wanted(subjects=(RARE,)), AUDITOR, False),
        (Wanted(category="subject_erasure"), AUDITOR, False),
        (Wanted(category="context_attribution"), AUDITOR, True),
        (Wanted(start=DAY, end=DAY + timedelta(minutes=30)), AUDITOR, True),
        (Wanted(start=DAY + timedelta(days=1000)), AUDITOR, False),
        (Wanted(category="context_attribution", start=DAY, end=DAY + timedelta(minutes=30)), MINE, False),
    ],
)
@pytest.mark.parametrize("newest", [False, True])
async def test_a_page_costs_as_much_on_a_long_chain(parts, long_chain, owner, wanted, viewer, many, newest):
    """As the application's role, under its policies."""
    await owner.execute("ANALYZE evidence")
    async with explained(parts.database, long_chain) as session:
        found = await reports.page(session, wanted, viewer, newest=newest, behind=None, limit=11)
        (plan,) = session.plans
    assert len(found) == 11 if many else len(found) <= 4, len(found)
    assert "evidence" not in plan.scanned, plan
    assert plan.fetched <= 120, plan
