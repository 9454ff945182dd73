"""The tables appear, vanish and appear again, and are what the code believes them to be."""

import asyncio
import os
import subprocess
import sys
from dataclasses import replace

import pytest
from alembic.config import Config

from alembic import command
from app.assembly.installation import ALEMBIC, ROOT
from app.ingestion.embedding import EmbeddingWorker
from app.retrieval.request import make_request
from app.storage.engine import ROLE, Database
from app.storage.migration import migrate
from app.storage.tables import metadata
from tests.fixtures.owner import connection, database_beside
from tests.fixtures.store import make_world


def alembic(url, name, *arguments):
    config = Config(ALEMBIC)
    config.attributes["url"] = url
    getattr(command, name)(config, *arguments)


async def run(url, name, *arguments):
    """Alembic runs an event loop of its own."""
    await asyncio.to_thread(alembic, url, name, *arguments)


async def relations(url):
    async with connection(url) as opened:
        rows = await opened.fetch(
            "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')"
        )
    return {row["relname"] for row in rows}


async def left_behind(url):
    """Types and functions in the schema that no extension brought."""
    async with connection(url) as opened:
        return await opened.fetch(
            """
            SELECT 'type ' || typname FROM pg_type t WHERE typnamespace = 'public'::regnamespace AND NOT EXISTS
                (SELECT FROM pg_depend d WHERE d.objid = t.oid AND d.deptype = 'e') AND typname !~ 'alembic_version'
                AND NOT EXISTS (SELECT FROM pg_depend d JOIN pg_type b ON b.oid = d.refobjid
                    JOIN pg_depend e ON e.objid = b.oid AND e.deptype = 'e' WHERE d.objid = t.oid)
            UNION ALL
            SELECT 'function ' || proname FROM pg_proc p WHERE pronamespace = 'public'::regnamespace AND NOT EXISTS
                (SELECT FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e')
            """
        )


async def test_up_down_and_up_again(owner_url):
    async with database_beside(owner_url) as empty:
        await run(empty.owner_url, "upgrade", "head")
        await run(empty.owner_url, "check")
        assert set(metadata.tables) <= await relations(empty.owner_url)
        await run(empty.owner_url, "downgrade", "base")
        assert await relations(empty.owner_url) == {"alembic_version"}
        assert await left_behind(empty.owner_url) == []
        await run(empty.owner_url, "upgrade", "head")
        await run(empty.owner_url, "check")


async def test_to_migrate_again_changes_nothing(owner_url):
    async with database_beside(owner_url) as empty:
        await asyncio.to_thread(migrate, empty.owner_url, ALEMBIC)
        before = await relations(empty.owner_url)
        await asyncio.to_thread(migrate, empty.owner_url, ALEMBIC)
        assert await relations(empty.owner_url) == before


async def test_the_application_is_given_nothing_else_of_the_database(owner_url):
    async with database_beside(owner_url) as shared, connection(shared.owner_url) as opened:
        await opened.execute("CREATE TABLE somebody_else (secret text)")
        await run(shared.owner_url, "upgrade", "head")
        allowed = await opened.fetch(
            "SELECT table_name, privilege_type FROM information_schema.role_table_grants WHERE grantee = $1", ROLE
        )
        tables = {row["table_name"] for row in allowed}
        assert set(metadata.tables) <= tables
        assert tables - set(metadata.tables) == {"embeddings_live", "embeddings_past", "alembic_version"}


async def test_two_processes_migrate_at_once(owner_url):
    async with database_beside(owner_url) as empty:
        environment = {**os.environ, "MUNIMENT_MIGRATION_DATABASE_URL": empty.owner_url}
        racing = [
            subprocess.Popen(
                [sys.executable, "-m", "alembic", "upgrade", "head"],
                cwd=ROOT,
                env=environment,
                stderr=subprocess.PIPE,
                text=True,
            )
            for _ in range(2)
        ]
        ended = await asyncio.gather(*(asyncio.to_thread(process.communicate) for process in racing))
        assert [process.returncode for process in racing] == [0, 0], ended
        await run(empty.owner_url, "check")


async def test_the_extension_in_a_schema_of_its_own(owner_url, parts):
    async with database_beside(owner_url) as beside:
        async with connection(beside.owner_url) as opened:
            await opened.execute('CREATE SCHEMA "the extensions"')
            await opened.execute('CREATE EXTENSION vector SCHEMA "the extensions"')
        await run(beside.owner_url, "upgrade", "head")
        await run(beside.owner_url, "check")
        database = Database.connect(beside.url, pool_size=2)
        try:
            there = await make_world(replace(parts, database=database))
            await there.write("page.md", ("# Refunds\n\nTier two agents authorise refunds.", None, None))
            assert await EmbeddingWorker(database, parts.retriever.embedder).drain(there.organisation) == 1
            request = make_request(there.principal, query="who authorises refunds", space_key="project")
            answer = await replace(parts.retriever, database=database).retrieve(request)
            (found,) = answer.passages
            assert found.candidate.scores.vector > 0
            assert found.candidate.scores.text > 0
        finally:
            await database.close()


async def test_another_encoding_is_refused(owner_url):
    options = "ENCODING 'SQL_ASCII' TEMPLATE template0 LOCALE_PROVIDER libc LOCALE 'C'"
    async with database_beside(owner_url, options) as foreign:
        with pytest.raises(SystemExit, match="UTF8"):
            await asyncio.to_thread(migrate, foreign.owner_url, ALEMBIC)
        assert await relations(foreign.owner_url) == set()
