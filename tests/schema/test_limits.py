"""What one operation may ask for: measured before it is validated or run, and refused by measure and limit."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from graphql import OperationDefinitionNode, get_introspection_query, parse

from app.assembly.limits import limits
from app.domain.limits import Limits
from app.settings import Settings
from schema.build import graphql_schema
from schema.complexity import DEAR, measure
from tests.browser.test_operations import FILES
from tests.fixtures.store import World
from tests.retrieval.test_statements import statements
from tests.schema.conftest import Api, connect

CORE = graphql_schema._schema
RETRIEVE = 'retrieve(input: {query: "x"}) { requestId }'


def measured(query: str, variables: dict[str, Any] | None = None, **changes: Any) -> Any:
    document = parse(query)
    operation = next(node for node in document.definitions if isinstance(node, OperationDefinitionNode))
    return measure(CORE, document, operation, variables or {}, replace(Limits(), **changes))


def aliased(count: int, field: str = "me { id }") -> str:
    return "{ " + " ".join(f"a{n}: {field}" for n in range(count)) + " }"


def deep(levels: int) -> str:
    return "{ me " + "{ activeSpace " * levels + "{ id }" + " }" * levels + " }"


def doubling(levels: int, last: str = "me { id }") -> str:
    """Fragments that spread the next one twice, to nothing at all or to a field."""
    parts = [f"fragment F{n} on Query {{ ...F{n + 1} ...F{n + 1} }}" for n in range(levels)]
    last = f"fragment F{levels} on Query {{ {last} }}"
    return " ".join(["{ ...F0 }", *parts, last])


ABUSE: dict[str, tuple[str, str]] = {
    "aliases of one field": (aliased(31), "aliases"),
    "retrieves by the hundred": (aliased(200, RETRIEVE), "cost"),
    "aliases deep down": ("{ me { " + " ".join(f"a{n}: id" for n in range(40)) + " } }", "aliases"),
    "depth": (deep(20), "depth"),
    "depth without end": (deep(1000), "depth"),
    "inline fragments in each other": ("{ " + "... { " * 900 + "me { id }" + " }" * 900 + " }", "depth"),
    "one field again and again": ("{ " + "me { id } " * 60 + "}", "repeats"),
    "one field again and again, deep down": ("{ me { " + "id " * 900 + "} }", "repeats"),
    "fragments that multiply": (doubling(40, "...Unknown"), "fields"),
    "fragments that multiply within one field": (doubling(8), "repeats"),
    "retrieves by aliases": (aliased(21, RETRIEVE), "cost"),
    "pages in fragments": (
        "query { ...A b: spaces(first: 100) { ...S } c: spaces(first: 100) { ...S } } fragment A on Query { "
        + " ".join(f"p{n}: spaces(first: 100) {{ ...S }}" for n in range(6))
        + " } fragment S on SpaceConnection { edges { node { id } } }",
        "cost",
    ),
    "tokens": ("{ me { " + "id " * 5000 + "} }", "tokens"),
    "tokens nobody reads": ("{ me { id } } " + "# \n" * 10 + "fragment F on Me { id } " * 1000, "tokens"),
    "a long list": ('{ retrieve(input: {query: "x", tags: [' + '"t" ' * 1001 + "]}) { requestId } }", "list items"),
    "unknown fields": (aliased(31, "nope { nope }"), "aliases"),
    "introspection in circles": (
        "{ __schema { types { fields { type { fields { type { fields { type { fields { type { fields { type { fields { "
        "type { fields { type { name } } } } } } } } } } } } } } } } }",
        "depth",
    ),
}


@pytest.mark.parametrize("name", ABUSE)
async def test_what_asks_for_too_much_is_told_of_what(api: Api, name: str) -> None:
    query, measure_ = ABUSE[name]
    with statements(api.world.parts.database) as run:
        error = await api.error(query)
    assert run == []
    told = error["extensions"]
    assert told["code"] == "QUERY_TOO_COMPLEX"
    assert (told["measure"], told["retryable"]) == (measure_, False)
    assert str(told["limit"]) in error["message"]
    if measure_ != "tokens" and "actual" in told:
        assert told["actual"] > told["limit"]


@pytest.mark.parametrize(
    "query",
    [
        "{ ...A } fragment A on Query { ...B } fragment B on Query { ...A me { id } }",
        "{ me { ...A } } fragment A on Me { ...A }",
        "{ ...Nope }",
    ],
)
async def test_fragments_in_circles_are_refused_as_invalid(api: Api, query: str) -> None:
    body = await api.ask(query)
    assert {error["extensions"]["code"] for error in body["errors"]} == {"BAD_USER_INPUT"}


async def test_lists_in_variables_are_bounded_however_deep(api: Api) -> None:
    query = "query ($input: RetrieveInput!) { retrieve(input: $input) { requestId } }"
    error = await api.error(query, {"input": {"query": "x", "tags": ["t"] * 1001}})
    assert (error["extensions"]["measure"], error["extensions"]["limit"]) == ("list items", 1000)
    assert "errors" not in await api.ask(query, {"input": {"query": "x", "tags": ["t"] * 20}})
    error = await api.error(query, {"input": {"query": "x", "nope": [[[["t"] * 1001]]]}})
    assert error["extensions"]["measure"] == "list items"


def test_lists_cost_by_what_is_asked_of_them() -> None:
    page = "query ($n: Int = 7) { spaces(first: %s) { edges { node { id } } } }"
    for given, variables, items in (
        ("10", {}, 10),
        ("100000000000000", {}, 100),
        ("-5", {}, 0),
        ("null", {}, 20),
        ("$n", {}, 7),
        ("$n", {"n": 50}, 50),
        ("$n", {"n": None}, 20),
        ("$n", {"n": 10**9}, 100),
    ):
        assert measured(page % given, variables).cost == 1 + 2 * items, (given, variables)
    assert measured("{ spaces { edges { node { id } } } }").cost == 1 + 2 * 20


def test_equal_fields_of_one_place_are_one() -> None:
    once = measured("{ me { id } }")
    again = measured("{ ...F me { id } ... { me { externalId } } } fragment F on Query { me { id } }")
    assert (once.cost, once.roots, once.aliases) == (again.cost, again.roots, again.aliases) == (1, {"me": 1}, 0)
    assert measured("{ a: me { id } ...F } fragment F on Query { b: me { id } }").roots == {"me": 2}


def test_what_is_dear_is_in_the_schema() -> None:
    fields = {
        name for root in (CORE.query_type, CORE.mutation_type, CORE.subscription_type) if root for name in root.fields
    }
    assert set(DEAR) <= fields
    assert max(DEAR.values()) <= Limits().cost


@pytest.mark.parametrize("descriptions", [True, False])
async def test_introspection_passes_and_what_the_page_asks_too(api: Api, descriptions: bool) -> None:
    """The query of graphiql, with all that it may ask for."""
    query = get_introspection_query(
        descriptions=descriptions,
        specified_by_url=descriptions,
        directive_is_repeatable=True,
        schema_description=descriptions,
        input_value_deprecation=True,
        one_of=descriptions,
    )
    found = await api.data(query)
    assert len(found["__schema"]["types"]) > 50
    assert "errors" not in await api.ask(query, token="")


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_operation_of_the_page_is_far_from_the_limits(file: Path) -> None:
    found = measured(file.read_text(encoding="utf-8"), {"first": 100})
    assert 2 * found.fields < Limits().fields
    assert 2 * found.aliases < Limits().aliases
    assert found.cost < Limits().cost


def test_the_settings_are_the_limits() -> None:
    assert limits(Settings()) == Limits()


@pytest.fixture
def limited(world: World) -> Callable[..., Any]:
    def make(**changes: Any) -> Any:
        settings = world.parts.settings.model_copy(update=changes)
        return connect(replace(world.parts, settings=settings, limits=limits(settings)))

    return make


async def test_introspection_can_be_switched_off(world: World, limited: Callable[..., Any]) -> None:
    async with limited(introspection="off") as http:
        api = Api(world, http)
        for query in (
            "{ __schema { queryType { name } } }",
            '{ ...F } fragment F on Query { a: __type(name: "Me") { name } }',
        ):
            error = await api.error(query)
            assert error["extensions"]["code"] == "FORBIDDEN"
            assert "introspection" in error["message"]
        assert (await api.data("{ __typename me { __typename } }"))["__typename"] == "Query"


async def test_what_takes_too_long_is_given_up_and_its_connection_is_free(
    world: World, limited: Callable[..., Any], owner: Any
) -> None:
    """Spaces are locked by somebody else for longer than the request may take."""
    async with limited(request_timeout_ms=300) as http:
        api = Api(world, http)
        async with owner.transaction():
            await owner.execute("LOCK TABLE spaces IN ACCESS EXCLUSIVE MODE")
            body = await api.ask("{ a: spaces { edges { cursor } } b: spaces { edges { cursor } } }")
            codes = [error["extensions"]["code"] for error in body["errors"]]
            assert set(codes) == {"SEARCH_UNAVAILABLE"}
            assert {error["extensions"]["retryable"] for error in body["errors"]} == {True}
            waiting = await owner.fetchval(
                "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%spaces%'"
            )
            for _ in range(200):
                if not waiting:
                    break
                await asyncio.sleep(0.02)
                waiting = await owner.fetchval(
                    "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%spaces%'"
                )
            assert waiting == 0
        assert "errors" not in await api.ask("{ spaces { edges { cursor } } }")
    assert world.parts.database._engine.pool.checkedout() == 0  # type: ignore[attr-defined]


async def test_a_list_of_operations_is_refused(api: Api) -> None:
    body = json.dumps([{"query": "{ me { id } }"}] * 2)
    answer = await api.http.post("/graphql", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 400
    assert "batching" in answer.json()["errors"][0]["message"]
