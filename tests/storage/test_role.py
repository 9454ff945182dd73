"""A database that is not prepared for the application says what to do, at the start, and nothing of the URL."""

import asyncio

import pytest

from app.assembly.installation import ALEMBIC
from app.domain.errors import MunimentError
from app.storage.engine import ROLE
from app.storage.migration import migrate
from app.storage.role import check_role
from tests.fixtures.owner import connection, database_beside

STRANGER = "a_stranger"


@pytest.fixture
async def beside(owner_url):
    async with database_beside(owner_url) as made:
        async with connection(made.owner_url) as owner:
            await owner.execute(f"CREATE ROLE {STRANGER} LOGIN PASSWORD 'hunter2'")
        yield made
    async with connection(owner_url) as owner:
        await owner.execute(f"DROP ROLE {STRANGER}")


def stranger(url: str) -> str:
    return url.replace("postgres@", f"{STRANGER}:hunter2@", 1)


async def said(url: str) -> str:
    with pytest.raises(MunimentError) as refused:
        await check_role(url)
    assert "hunter2" not in refused.value.message
    return refused.value.message


async def test_each_lack_is_named(beside):
    assert "muniment migrate" in await said(beside.owner_url)
    await asyncio.to_thread(migrate, beside.owner_url, ALEMBIC)
    await check_role(beside.owner_url)
    await check_role(beside.url)
    assert f'GRANT {ROLE} TO "{STRANGER}"' in await said(stranger(beside.owner_url))
    async with connection(beside.owner_url) as owner:
        await owner.execute(f"GRANT {ROLE} TO {STRANGER}")
        await check_role(stranger(beside.owner_url))
        await owner.execute(f"REVOKE {ROLE} FROM {STRANGER}")
        await owner.execute("CREATE TABLE mine (id int)")
        await owner.execute(f"ALTER TABLE mine OWNER TO {ROLE}")
        assert "owns tables" in await said(beside.url)
        await owner.execute("DROP TABLE mine")


async def test_a_user_who_may_not_migrate_is_told_who_must(beside):
    with pytest.raises(MunimentError, match="MUNIMENT_MIGRATION_DATABASE_URL") as refused:
        await asyncio.to_thread(migrate, stranger(beside.owner_url), ALEMBIC)
    assert "hunter2" not in refused.value.message


async def test_what_cannot_be_reached(beside, tmp_path):
    assert "no database of this name" in await said(beside.owner_url.replace("beside_", "none_"))
    assert "cannot be reached" in await said(f"postgresql+asyncpg://x:hunter2@/none?host={tmp_path}")
    for url in (beside.owner_url.replace("beside_", "none_"), f"postgresql+asyncpg://x:hunter2@/n?host={tmp_path}"):
        with pytest.raises(MunimentError, match="cannot be migrated") as refused:
            await asyncio.to_thread(migrate, url, ALEMBIC)
        assert "hunter2" not in refused.value.message
