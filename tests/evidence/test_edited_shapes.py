"""Records that a hand in the database gave other shapes: an answer or a code for whoever asks, never INTERNAL."""

import json
from typing import Any

import asyncpg
import pytest

from app.assembly.services import Services
from app.domain.principal import Permission
from tests.fixtures.inhabited import inhabit
from tests.fixtures.operations import BY_FIELD
from tests.fixtures.store import make_world
from tests.schema.asking import ask, code
from tests.schema.conftest import Api, connect, token_of

SHAPES: list[Any] = [None, 5, "x", {}, [None], ["x"], [{}], [{"sourceId": 5}, {"memoryId": "x"}]]
READERS = (
    "attribution",
    "attributions",
    "evidence",
    "impact",
    "staleAttributions",
    "modelCalls",
    "inclusionProof",
    "evidenceLeaf",
    "replay",
    "trace",
    "explainExclusion",
    "linkResponse",
)


@pytest.mark.parametrize(
    "name",
    ["chunks", "memories", "sourceIds", "lensId", "spaceId", "userId", "category", "validAt", "issuedAt", "parameters"],
)
async def test_no_shape_is_internal(parts: Services, owner: asyncpg.Connection, name: str) -> None:
    async with connect(parts) as http:
        api = Api(await make_world(parts), http)
        names = await inhabit(api)
        await api.world.add_person(
            "lead", (api.world.project, Permission.ADMIN), (api.world.project, Permission.SEARCH)
        )
        place = (api.world.organisation, names.attribution)
        of = "WHERE organisation_id = $1 AND id = CAST($2 AS uuid)"
        payload = json.loads(await owner.fetchval(f"SELECT payload FROM evidence {of}", *place))
        await owner.execute("SET session_replication_role = replica")
        try:
            for shape in SHAPES:
                edited = json.dumps({**payload, name: shape}).encode()
                try:
                    await owner.execute(f"UPDATE evidence SET payload = $3 {of}", *place, edited)
                except asyncpg.DataError:
                    # What is looked up by is of its type: even this hand cannot store another.
                    continue
                for person in ("tester", "lead"):
                    for field in READERS:
                        operation = BY_FIELD[field]
                        body = await ask(api, operation, operation.variables(names), token_of(api.world, person))
                        assert code(body) != "INTERNAL", (field, person, shape)
        finally:
            await owner.execute("RESET session_replication_role")
