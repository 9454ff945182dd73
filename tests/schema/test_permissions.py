"""The matrix of `schema/README.md`, tried: for each root field a caller without what it needs, and one with just that.

Also what a caller sees who holds nothing at all, of what belongs to somebody else.
"""

import re
from collections.abc import AsyncIterator

import pytest
from graphql import parse, validate

from app.assembly.services import Services
from app.domain.principal import Permission
from schema.build import graphql_schema
from schema.permissions import TOKEN, Needs, Where, needed
from tests.fixtures.inhabited import Names, inhabit
from tests.fixtures.operations import BY_FIELD, OPERATIONS, Operation
from tests.fixtures.store import make_world
from tests.schema.asking import ask, code, nothing
from tests.schema.conftest import Api, connect, token_of

DECLARED: dict[str, Needs] = {
    field: needs
    for root in ("Query", "Mutation", "Subscription")
    for field, needs in needed(graphql_schema, root).items()
    if needs is not None
}
GUARDED = [operation for operation in OPERATIONS if TOKEN not in DECLARED[operation.field].permissions]
OPEN = [operation for operation in OPERATIONS if TOKEN in DECLARED[operation.field].permissions]
#: What speaks of the caller, or of the deployment, and so is answered to anybody with a token.
ANYBODYS = {"me", "capabilities"}
REFUSALS = {"FORBIDDEN", "SPACE_NOT_FOUND", "NOT_FOUND", "ATTRIBUTION_NOT_FOUND"}


@pytest.fixture(scope="module")
async def place(parts: Services) -> AsyncIterator[tuple[Api, Names]]:
    """One organisation for all fields; its things are used up in the order of the table."""
    async with connect(parts) as http:
        api = Api(await make_world(parts), http)
        yield api, await inhabit(api)


def test_every_root_field_has_an_operation() -> None:
    """Add it to `tests/fixtures/operations.py`: what must hold for all operations is tried with those."""
    assert set(BY_FIELD) == set(DECLARED)


async def holder(api: Api, *permissions: Permission) -> str:
    """A token of somebody who holds just these, on the whole organisation."""
    subject = "+".join(sorted(permissions)) or "nobody"
    await api.world.add_person(subject, *((api.world.root, permission) for permission in permissions))
    return token_of(api.world, subject)


@pytest.mark.parametrize("operation", GUARDED, ids=lambda operation: operation.field)
async def test_with_all_but_the_needed_one_it_is_refused(place: tuple[Api, Names], operation: Operation) -> None:
    api, names = place
    needs = DECLARED[operation.field]
    token = await holder(api, *(permission for permission in Permission if permission not in needs.permissions))
    body = await ask(api, operation, operation.variables(names), token)
    if needs.where is Where.SEARCHED and code(body) is None:
        assert nothing(body), body
    else:
        assert code(body) in REFUSALS, body


@pytest.mark.parametrize(
    ("operation", "permission"),
    [(operation, permission) for operation in GUARDED for permission in DECLARED[operation.field].permissions],
    ids=lambda value: getattr(value, "field", value),
)
async def test_with_just_the_needed_one_it_is_not(
    place: tuple[Api, Names], operation: Operation, permission: str
) -> None:
    api, names = place
    variables = dict(operation.variables(names))
    if operation.field == "grantPermissions" and permission == Permission.ORG_ADMIN:
        # Nobody grants what they do not hold.
        variables["i"] |= {"permissions": ["ORG_ADMIN"], "spaceId": names.root}
    body = await ask(api, operation, variables, await holder(api, Permission(permission)))
    assert code(body) is None, body
    if operation.root == "query":
        assert not nothing(body), body


@pytest.mark.parametrize("operation", OPEN, ids=lambda operation: operation.field)
async def test_with_nothing_but_a_token_only_ones_own_is_shown(place: tuple[Api, Names], operation: Operation) -> None:
    api, names = place
    body = await ask(api, operation, operation.variables(names), await holder(api))
    if operation.field in ANYBODYS:
        assert code(body) is None
    else:
        assert code(body) in REFUSALS or (code(body) is None and nothing(body)), body


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.field)
async def test_without_a_token_nothing_is_answered(place: tuple[Api, Names], operation: Operation) -> None:
    api, names = place
    body = await ask(api, operation, operation.variables(names), "believe me")
    assert code(body) == "UNAUTHENTICATED"
    assert not body.get("data") or nothing(body)


def test_the_operations_are_valid_and_those_of_their_fields() -> None:
    for operation in OPERATIONS:
        assert validate(graphql_schema._schema, parse(operation.document)) == []
        assert re.match(rf"{operation.root}[^{{]*\{{ {operation.field}\b", operation.document)
