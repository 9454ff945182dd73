"""Every statement that the operations of the schema make, run for another organisation: it sees and changes nothing.

Once as the application's role under the other's setting, with the first one's values: what row security hides. And once
as the superuser, whom no policy binds, with the other's id in place of the first one's: what the statement's own
predicates hide. The second is all that there is where a table is read under no policy.
"""

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import pytest
from pgvector.asyncpg import register_vector
from sqlalchemy import event

from app.assembly.services import Services
from app.storage.engine import ROLE
from app.storage.tables import metadata
from tests.fixtures.inhabited import inhabit
from tests.fixtures.operations import OPERATIONS
from tests.fixtures.owner import connection
from tests.fixtures.store import make_world
from tests.schema.asking import ask
from tests.schema.conftest import Api, connect, token_of

TABLES = re.compile(rf"\b(?:FROM|JOIN|UPDATE|INTO)\s+({'|'.join(metadata.tables)})\b")
#: Fields whose last event comes with the end of the credential only.
ENDLESS = {"contextChanged"}
SET = "SELECT set_config('role', $1, true), set_config('muniment.organisation', $2, true)"


class Heard:
    """Statements with the values that they were run with, each once."""

    def __init__(self, organisation: UUID) -> None:
        self.organisation = organisation
        self.statements: dict[str, Sequence[Any]] = {}

    def __call__(self, _connection: Any, _cursor: Any, sql: str, values: Any, _context: Any, many: bool) -> None:
        values = values[0] if many and values else values
        if TABLES.search(sql) and sql not in self.statements:
            self.statements[sql] = tuple(values)

    def of(self, sql: str, organisation: UUID) -> list[Any]:
        """The values, for another organisation."""
        own = {self.organisation: organisation, str(self.organisation): str(organisation)}
        return [own.get(value, value) if isinstance(value, UUID | str) else value for value in self.statements[sql]]


@pytest.fixture(scope="module")
async def heard(parts: Services) -> Heard:
    """Everything that filling an organisation, and each operation on it, says to the database."""
    engine = parts.database._engine.sync_engine
    world = await make_world(parts)
    listener = Heard(world.organisation)
    event.listen(engine, "before_cursor_execute", listener)
    try:
        async with connect(parts) as http:
            api = Api(world, http)
            names = await inhabit(api)
            for operation in OPERATIONS:
                if operation.field not in ENDLESS:
                    await ask(api, operation, operation.variables(names), token_of(world))
    finally:
        event.remove(engine, "before_cursor_execute", listener)
    return listener


def nothing(row: Sequence[Any]) -> bool:
    """Whether a row tells nothing: aggregates over no rows, and the time of day."""
    return all(not value or isinstance(value, datetime) for value in row)


def reads(sql: str) -> bool:
    return not re.search(r"\b(INSERT INTO|UPDATE|DELETE FROM)\b", sql)


def changes(sql: str) -> bool:
    return bool(re.search(r"\b(UPDATE|DELETE FROM)\b", sql)) and "INSERT INTO" not in sql


async def told(opened: asyncpg.Connection, sql: str, values: list[Any]) -> list[Any]:
    """The rows that are not nothing, and what was changed; rolled back."""
    prepared = await opened.prepare(sql)
    rows = await prepared.fetch(*values)
    found = [row for row in rows if not nothing(row)]
    status = prepared.get_statusmsg()
    return [*found, *([status] if changes(sql) and not status.endswith(" 0") else [])]


async def test_the_operations_say_much(heard: Heard) -> None:
    assert len(heard.statements) > 150
    touched = {table for sql in heard.statements for table in TABLES.findall(sql)}
    assert {"postings", "embeddings", "grants", "memory_versions", "evidence", "document_versions"} <= touched


def _ids(values: Sequence[Any]) -> list[Any]:
    return [value for value in values if isinstance(value, UUID | str)]


async def test_each_names_its_organisation(heard: Heard) -> None:
    own = {heard.organisation, str(heard.organisation)}
    without = [
        sql for sql, values in heard.statements.items() if not own & {v for v in values if isinstance(v, UUID | str)}
    ]
    assert without == []


@pytest.mark.parametrize("other", ["empty", "inhabited"])
async def test_bound_by_its_own_predicates(heard: Heard, parts: Services, owner_url: str, other: str) -> None:
    organisation = uuid4()
    if other == "inhabited":
        async with connect(parts) as http:
            api = Api(await make_world(parts), http)
            await inhabit(api)
            organisation = api.world.organisation
    seen = {}
    async with connection(owner_url) as opened:
        await register_vector(opened)
        for sql in heard.statements:
            if not (reads(sql) or changes(sql)):
                continue
            transaction = opened.transaction()
            await transaction.start()
            try:
                rows = await told(opened, sql, heard.of(sql, organisation))
            finally:
                await transaction.rollback()
            own = str(heard.organisation)
            # In an organisation that is inhabited there are rows of its own; none is of the first one.
            if (other == "empty" and rows) or any(own in str(row) for row in rows):
                seen[sql] = rows
    assert seen == {}


async def test_bound_by_row_security(heard: Heard, owner_url: str) -> None:
    """The values are the first organisation's; only the setting is another's. Postings are read under no policy."""
    seen = {}
    async with connection(owner_url) as opened:
        await register_vector(opened)
        for sql in heard.statements:
            if not (reads(sql) or changes(sql)) or "postings" in TABLES.findall(sql):
                continue
            transaction = opened.transaction()
            await transaction.start()
            try:
                await opened.fetch(SET, ROLE, str(uuid4()))
                rows = await told(opened, sql, list(heard.statements[sql]))
            finally:
                await transaction.rollback()
            if rows:
                seen[sql] = rows
    assert seen == {}
