"""`muniment ingest` killed in the middle, and run again: the same store as one that was left in peace."""

import asyncio
import signal
import subprocess

import pygit2

from app.assembly.installation import ALEMBIC
from app.identity.development import ORGANISATION
from app.storage.migration import migrate
from tests.fixtures.owner import connection, database_beside
from tests.fixtures.server import MUNIMENT, ROOT, LiveServer
from tests.providers.test_git_history import START, commit

PAGES = 400
CONTENT = """
    SELECT v.external_id, v.title, encode(v.content_sha256, 'hex'), v.valid_from, v.valid_to,
        (SELECT array_agg(ROW(encode(c.identity, 'hex'), c.start_offset, c.end_offset, c.valid_from, c.valid_to)::text
            ORDER BY c.identity) FROM chunks c WHERE c.organisation_id = v.organisation_id
            AND c.document_id = v.document_id AND c.system_to IS NULL) AS chunks,
        (SELECT count(*) FROM embeddings e JOIN chunks c ON c.organisation_id = e.organisation_id
            AND c.id = e.chunk_id AND c.document_id = v.document_id AND c.system_to IS NULL
            WHERE e.organisation_id = v.organisation_id AND e.system_to IS NULL) AS embedded
    FROM document_versions v WHERE v.organisation_id = $1 AND v.system_to IS NULL ORDER BY v.external_id, v.valid_from
"""


def page(number, revision):
    return b"# Page %d\n\nIt says %d.\n\n## Same\n\nAlways the same.\n" % (number, revision)


async def killed_when(command, opened, query, environment):
    """Run the command, and kill it as soon as the query finds something; how it ended."""
    process = subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    try:
        while process.poll() is None and not await opened.fetchval(query, ORGANISATION):
            await asyncio.sleep(0.005)
    finally:
        process.kill()
        _, error = await asyncio.to_thread(process.communicate)
    assert process.returncode == -signal.SIGKILL, error


async def test_killed_in_the_middle_and_run_again(owner, owner_url, intake, world, tmp_path):
    place = tmp_path / "handbook"
    repo = pygit2.init_repository(str(place))
    commit(repo, {f"{number}.md": page(number, 0) for number in range(PAGES)}, START)
    commit(repo, {f"{number}.md": page(number, number % 3) for number in range(PAGES)}, START + 3600)
    await intake.read_unchecked(place)
    await intake.embed()
    in_peace = [tuple(row.values()) for row in await owner.fetch(CONTENT, world.organisation)]

    async with database_beside(owner_url) as beside, connection(beside.owner_url) as opened:
        await asyncio.to_thread(migrate, beside.owner_url, ALEMBIC)
        server = LiveServer(
            tmp_path / "home",
            options={
                "MUNIMENT_DATABASE_URL": beside.url,
                "MUNIMENT_MIGRATION_DATABASE_URL": beside.owner_url,
            },
        )
        command = [*MUNIMENT, "ingest", str(place)]
        await killed_when(
            command,
            opened,
            "SELECT EXISTS (SELECT FROM document_versions WHERE organisation_id = $1)",
            server.environment,
        )
        half = await opened.fetchval("SELECT count(*) FROM document_versions")
        assert 0 < half < len(in_peace)
        assert await opened.fetchval("SELECT count(*) FROM source_syncs") == 0
        await killed_when(
            command,
            opened,
            "SELECT EXISTS (SELECT FROM embeddings WHERE organisation_id = $1)",
            server.environment,
        )
        assert await opened.fetchval("SELECT count(*) FROM embedding_queue") > 0
        await opened.execute("UPDATE embedding_queue SET claimed_until = now() WHERE claimed_until IS NOT NULL")
        ended = await asyncio.to_thread(server.run, "ingest", str(place))
        assert ended.returncode == 0, ended.stderr
        assert [tuple(row.values()) for row in await opened.fetch(CONTENT, ORGANISATION)] == in_peace
        assert await opened.fetchval("SELECT count(*) FROM embedding_queue") == 0
