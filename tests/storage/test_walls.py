"""What no application code has to remember: the database itself refuses."""

from contextlib import asynccontextmanager
from uuid import uuid4

import asyncpg
import pytest
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool

from app.storage.engine import ROLE, Database
from app.storage.tables import metadata
from tests.storage.rows import insert

TABLES = sorted(metadata.tables)
#: Without text and read under no condition, see `app/storage/tables/search.py`.
OPEN = {"postings"}
OPEN_TO_READ = {
    "tenant_read": "SELECT",
    "tenant_insert": "INSERT",
    "tenant_update": "UPDATE",
    "tenant_delete": "DELETE",
}
GUARDED = sorted(set(TABLES) - OPEN)
#: What the background workers may read across organisations, once they say that they are workers.
SHARED = {
    "organisation_clocks",
    "attribution_queue",
    "embedding_queue",
    "verification_schedules",
    "reindex_queue",
    "jobs",
}
APPEND_ONLY = ["chain_verifications", "checkpoints", "evidence", "merkle_nodes", "response_links"]


SET = sa.text("SELECT set_config('muniment.organisation', :own, true), set_config('muniment.worker', :on, true)")


@asynccontextmanager
async def as_role(url, organisation=None, worker=""):
    """A transaction that is rolled back, of the role and organisation."""
    engine = create_async_engine(url, poolclass=NullPool)
    try:
        async with engine.connect() as opened:
            await opened.execute(
                SET,
                {"own": str(organisation or ""), "on": worker},
            )
            yield opened
            await opened.rollback()
    finally:
        await engine.dispose()


@pytest.fixture(scope="module")
async def two(owner_url):
    """Two organisations, each with a row in every table."""
    organisations = (uuid4(), uuid4())
    engine = create_async_engine(owner_url, poolclass=NullPool)
    async with engine.begin() as opened:
        for organisation in organisations:
            for table in TABLES:
                await opened.execute(insert(table, organisation))
    yield organisations
    async with engine.begin() as opened:
        await opened.execute(sa.text("SET LOCAL session_replication_role = replica"))  # evidence too
        for table in TABLES:
            await opened.execute(
                sa.text(f"DELETE FROM {table} WHERE organisation_id = ANY(:both)"), {"both": list(organisations)}
            )
    await engine.dispose()


async def seen(opened, table):
    found = await opened.execute(sa.text(f"SELECT DISTINCT organisation_id FROM {table}"))
    return set(found.scalars())


# The role


async def test_the_role_owns_nothing_and_can_make_nothing(owner):
    for catalogue, of in (("pg_class", "relowner"), ("pg_proc", "proowner"), ("pg_type", "typowner")):
        assert await owner.fetchval(f"SELECT count(*) FROM {catalogue} WHERE {of} = '{ROLE}'::regrole") == 0
    rights = await owner.fetchrow(
        "SELECT rolsuper, rolbypassrls, rolcreaterole, rolcreatedb, rolreplication FROM pg_roles WHERE rolname = $1",
        ROLE,
    )
    assert not any(rights.values())
    assert await owner.fetchval(f"SELECT count(*) FROM pg_auth_members WHERE member = '{ROLE}'::regrole") == 0
    assert not await owner.fetchval(f"SELECT has_schema_privilege('{ROLE}', 'public', 'CREATE')")


@pytest.mark.parametrize("table", APPEND_ONLY)
async def test_evidence_is_append_only_for_the_application(application, table):
    for statement in (
        f"UPDATE {table} SET organisation_id = organisation_id",
        f"DELETE FROM {table}",
        f"TRUNCATE {table}",
        f"ALTER TABLE {table} DISABLE TRIGGER ALL",
        f"DROP TABLE {table}",
        f"ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY",
        "SET session_replication_role = replica",
    ):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await application.execute(statement)


@pytest.mark.parametrize("table", APPEND_ONLY)
@pytest.mark.parametrize(
    "statement", ["UPDATE {} SET organisation_id = organisation_id", "DELETE FROM {}", "TRUNCATE {}"]
)
async def test_evidence_is_append_only_for_its_owner(owner, two, table, statement):
    with pytest.raises(asyncpg.RestrictViolationError, match="append-only"):
        await owner.execute(statement.format(table))


async def test_a_queued_event_cannot_be_edited(application):
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await application.execute("UPDATE attribution_queue SET payload = ''")


async def test_the_role_cannot_say_that_it_migrated(application):
    for statement in ("DELETE FROM alembic_version", "UPDATE alembic_version SET version_num = '0'"):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await application.execute(statement)


# One tenant at a time


@pytest.mark.parametrize("table", TABLES)
def test_every_table_is_keyed_by_its_organisation_first(table):
    primary = list(metadata.tables[table].primary_key.columns)
    assert primary[0].name == "organisation_id"


async def test_every_table_forces_row_security(owner):
    rows = await owner.fetch(
        """
        SELECT c.relname, c.relrowsecurity AND c.relforcerowsecurity AS forced,
            c.relowner <> $1::regrole AS foreign_owned
        FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
        AND EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'organisation_id')
        """,
        ROLE,
    )
    assert set(TABLES) <= {found["relname"] for found in rows}
    assert {found["relname"] for found in rows if not (found["forced"] and found["foreign_owned"])} == set()


async def test_no_table_is_without_a_tenant(owner):
    """What is added later is keyed by its organisation too, or it is nobody's."""
    rows = await owner.fetch(
        "SELECT relname FROM pg_class c WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT "
        "EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'organisation_id')"
    )
    assert {found["relname"] for found in rows} == {"alembic_version"}


async def test_every_policy_is_one_of_ours(owner):
    rows = await owner.fetch("SELECT tablename, policyname, cmd, permissive, roles, qual, with_check FROM pg_policies")
    tenant = {found["tablename"]: found for found in rows if found["policyname"] == "tenant"}
    assert set(GUARDED) <= tenant.keys()
    for found in tenant.values():
        assert found["cmd"] == "ALL"
        assert "organisation_id = (NULLIF(current_setting('muniment.organisation'" in found["qual"]
        assert found["qual"] == found["with_check"]
    others = {(found["tablename"], found["policyname"], found["cmd"]) for found in rows if found not in tenant.values()}
    open_to_read = {(table, name, command) for table in OPEN for name, command in OPEN_TO_READ.items()}
    assert others == {(table, "worker", "SELECT") for table in SHARED} | open_to_read
    for found in rows:
        if found["tablename"] in OPEN:
            conditions = {found["qual"], found["with_check"]} - {None}
            expected = {"true"} if found["cmd"] == "SELECT" else {next(iter(tenant.values()))["qual"]}
            assert conditions == expected


@pytest.mark.parametrize("table", TABLES)
async def test_the_role_may_neither_truncate_nor_refer(owner, table):
    """TRUNCATE passes by every policy; a foreign key or a trigger would look behind it."""
    for right in ("TRUNCATE", "REFERENCES", "TRIGGER"):
        assert not await owner.fetchval("SELECT has_table_privilege($1, $2, $3)", ROLE, table, right)


@pytest.mark.parametrize("table", sorted(OPEN))
async def test_what_is_open_to_read_is_closed_to_write(installation, two, table):
    own, other = two
    async with as_role(installation.url, own) as opened:
        with pytest.raises(DBAPIError, match="row-level security"):
            await opened.execute(insert(table, other))
    async with as_role(installation.url, own) as opened:
        for statement in (f"UPDATE {table} SET system_from = system_from", f"DELETE FROM {table} WHERE true"):
            assert (await opened.execute(sa.text(statement))).rowcount == 1
        assert other in await seen(opened, table)
    async with as_role(installation.url, own) as opened:
        with pytest.raises(DBAPIError, match="row-level security"):
            await opened.execute(sa.text(f"UPDATE {table} SET organisation_id = :other"), {"other": other})
    async with as_role(installation.url) as opened:
        assert (await opened.execute(sa.text(f"DELETE FROM {table}"))).rowcount == 0


@pytest.mark.parametrize("table", GUARDED)
async def test_an_organisation_sees_itself_only(installation, two, table):
    for own in two:
        async with as_role(installation.url, own) as opened:
            assert await seen(opened, table) == {own}


@pytest.mark.parametrize("table", GUARDED)
async def test_without_an_organisation_nothing_is_seen(installation, two, table):
    async with as_role(installation.url) as opened:
        assert await seen(opened, table) == set()


@pytest.mark.parametrize("table", GUARDED)
async def test_a_worker_sees_queues_and_clocks_of_all_and_writes_none(installation, two, table):
    async with as_role(installation.url, worker="on") as opened:
        assert (await seen(opened, table) >= set(two)) == (table in SHARED)
        if await opened.scalar(sa.text(f"SELECT has_table_privilege('{table}', 'DELETE')")):
            assert (await opened.execute(sa.text(f"DELETE FROM {table}"))).rowcount == 0


@pytest.mark.parametrize("table", GUARDED)
async def test_an_organisation_cannot_write_for_another(installation, two, table):
    own, other = two
    async with as_role(installation.url, own) as opened:
        with pytest.raises(DBAPIError, match="row-level security"):
            await opened.execute(insert(table, other))
    async with as_role(installation.url, own) as opened:
        if await opened.scalar(sa.text(f"SELECT has_table_privilege('{table}', 'UPDATE')")):
            await opened.execute(sa.text(f"DELETE FROM {table} WHERE organisation_id = :other"), {"other": other})
            with pytest.raises(DBAPIError, match="row-level security"):
                await opened.execute(sa.text(f"UPDATE {table} SET organisation_id = :other"), {"other": other})
    async with as_role(installation.url, other) as opened:
        assert await seen(opened, table) == {other}


async def test_what_a_transaction_leaves_behind_fails_nobody(application, two):
    """A setting that was local to a transaction reads '' afterwards, which is no uuid."""
    async with application.transaction():
        await application.execute("SELECT set_config('muniment.organisation', $1, true)", str(two[0]))
        assert await application.fetchval("SELECT count(*) FROM chunks") == 1
    assert await application.fetchval("SELECT current_setting('muniment.organisation', true)") == ""
    for table in GUARDED:
        assert await application.fetchval(f"SELECT count(*) FROM {table}") == 0


async def test_one_connection_serves_one_organisation_after_the_other(installation, two):
    database = Database.connect(installation.url, pool_size=1)
    try:
        for organisation in (*two, two[0]):
            async with database.snapshot(organisation) as session:
                assert [found[0] for found in await session.rows(sa.text("SELECT organisation_id FROM chunks"))] == [
                    organisation
                ]
            async with database.across() as session:
                assert await session.value(sa.text("SELECT count(*) FROM chunks")) == 0
                assert await session.value(sa.text("SELECT current_user::text")) == ROLE
    finally:
        await database.close()


async def test_even_a_superuser_url_acts_as_the_role(owner_url, two):
    database = Database.connect(owner_url, pool_size=1)
    try:
        async with database.snapshot(two[0]) as session:
            assert await session.value(sa.text("SELECT current_user::text")) == ROLE
            assert await session.value(sa.text("SELECT count(DISTINCT organisation_id) FROM chunks")) == 1
    finally:
        await database.close()
