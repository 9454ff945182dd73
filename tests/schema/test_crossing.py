"""Two organisations with the same content: what belongs to the other is, in every operation, as if it did not exist."""

from collections.abc import AsyncIterator
from dataclasses import fields

import asyncpg
import pytest

from app.assembly.services import Services
from app.storage.tables import metadata
from tests.fixtures.inhabited import NAMES, Names, inhabit
from tests.fixtures.operations import OPERATIONS
from tests.fixtures.store import make_world
from tests.schema.asking import ask, code, nothing
from tests.schema.conftest import Api, connect, token_of
from tests.schema.crossing import normalised, pairs

TABLES = sorted(metadata.tables)


@pytest.fixture(scope="module")
async def two(parts: Services) -> AsyncIterator[tuple[tuple[Api, Names], tuple[Api, Names]]]:
    async with connect(parts) as http:
        own, other = Api(await make_world(parts), http), Api(await make_world(parts), http)
        yield (own, await inhabit(own)), (other, await inhabit(other))


async def rows_of(owner: asyncpg.Connection, organisation: object) -> dict[str, str]:
    """A digest of every row of an organisation, by table."""
    return {
        table: await owner.fetchval(
            f"SELECT md5(coalesce(string_agg(t::text, '' ORDER BY t::text), '')) FROM {table} t "
            "WHERE organisation_id = $1",
            organisation,
        )
        for table in TABLES
    }


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.field)
async def test_what_is_anothers_is_as_if_it_did_not_exist(two, owner: asyncpg.Connection, operation) -> None:
    (api, own), (other, theirs) = two
    before = await rows_of(owner, other.world.organisation)
    token = token_of(api.world)
    for pair in pairs(own, theirs):
        if pair.operation is not operation:
            continue
        answers = [
            normalised(await ask(api, operation, pair.variables(value), token), value)
            for value in (pair.theirs, pair.nobodys)
        ]
        assert answers[0] == answers[1], pair.name
    assert await rows_of(owner, other.world.organisation) == before


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.field)
async def test_with_all_of_anothers_names_at_once(two, operation) -> None:
    """Nobody of one organisation is answered of the other, whatever they know of it."""
    (api, _), (_, theirs) = two
    if not operation.names:
        return
    only = {name: getattr(theirs, alone) for name, alone in NAMES.items()}
    names = Names(**{field.name: getattr(theirs, field.name) for field in fields(Names)} | only)
    body = await ask(api, operation, operation.variables(names), token_of(api.world))
    if set(operation.names) - set(NAMES):
        assert code(body) in {"NOT_FOUND", "SPACE_NOT_FOUND", "ATTRIBUTION_NOT_FOUND"} or nothing(body), body
