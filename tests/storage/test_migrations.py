"""The tables appear, vanish and appear again, and are what the code believes them to be."""

import asyncio
import os
import subprocess
import sys

import pytest
from alembic.config import Config

from alembic import command
from app.bootstrap import ALEMBIC, ROOT
from app.storage.migration import migrate
from app.storage.tables import metadata
from tests.fixtures.owner import connection, database_beside


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


async def test_two_processes_migrate_at_once(owner_url):
    async with database_beside(owner_url) as empty:
        environment = {**os.environ, "MUNIMENT_MIGRATION_DATABASE_URL": empty.owner_url}
        racing = [
            subprocess.Popen(  # noqa: ASYNC220 (waited for in threads)
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


async def test_another_encoding_is_refused(owner_url):
    options = "ENCODING 'SQL_ASCII' TEMPLATE template0 LOCALE_PROVIDER libc LOCALE 'C'"
    async with database_beside(owner_url, options) as foreign:
        with pytest.raises(SystemExit, match="UTF8"):
            await asyncio.to_thread(migrate, foreign.owner_url, ALEMBIC)
        assert await relations(foreign.owner_url) == set()
