"""Every failure has one shape: a stable code, the field, the request, whether to try again; nothing else leaks."""

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
import strawberry
from graphql import GraphQLInputObjectType, GraphQLNonNull, get_named_type, is_composite_type, is_enum_type
from sqlalchemy.exc import ProgrammingError
from structlog.testing import capture_logs

from app.domain.errors import Code, MunimentError
from app.domain.selection import Reason
from app.identity.development import DevelopmentKey
from app.server.log import describe_exception
from schema.build import Schema, graphql_schema
from schema.errors import CodedErrors
from tests.schema.conftest import Api, connect, token_of

EXTENSIONS = {"code", "field", "requestId", "retryable"}
RETRIEVE = 'query Ask { retrieve(input: {query: "refunds"}) { requestId } }'
SECRET = "hunter2-SELECT-secret"


def assert_shape(error: dict[str, Any], code: str, field: str | None = None) -> None:
    assert set(error) <= {"message", "locations", "path", "extensions"}
    assert set(error["extensions"]) == EXTENSIONS
    assert error["extensions"]["code"] == code
    assert error["extensions"]["field"] == field
    assert isinstance(error["extensions"]["retryable"], bool)
    UUID(error["extensions"]["requestId"])


@pytest.mark.parametrize(
    ("query", "variables", "field"),
    [
        ("{", {}, None),
        ("{ me { id }", {}, None),
        ("query { me { id } } }", {}, None),
        ("\x00", {}, None),
        ("{ nope }", {}, None),
        ("{ me }", {}, None),
        ("{ me { id nope } }", {}, None),
        ("query ($unused: ID) { me { id } }", {}, "unused"),
        ("{ attribution { id } }", {}, None),
        ("{ attribution(id: null) { id } }", {}, "id"),
        ("{ attribution(id: 1.5) { id } }", {}, "id"),
        ('{ attribution(id: "x", nope: 1) { id } }', {}, "nope"),
        ("query ($id: ID!) { attribution(id: $id) { id } }", {}, "id"),
        ("query ($id: ID) { attribution(id: $id) { id } }", {"id": "x"}, "id"),
        ('{ spaces(first: "ten") { pageInfo { hasNextPage } } }', {}, "first"),
        ("query ($first: Int) { spaces(first: $first) { pageInfo { hasNextPage } } }", {"first": 2**31}, "first"),
        ("query ($first: Int = 1.5) { spaces(first: $first) { pageInfo { hasNextPage } } }", {}, "first"),
        ("{ spaces(first: -1) { pageInfo { hasNextPage } } }", {}, "first"),
        ('{ retrieve(input: {query: "x", topK: -1}) { requestId } }', {}, "topK"),
        ('{ retrieve(input: {query: "x", sourceKinds: ["docs", 4]}) { requestId } }', {}, "sourceKinds"),
        ('{ retrieve(input: {query: "x", sourceKinds: ["nope"]}) { requestId } }', {}, "sourceKinds"),
        ('{ retrieve(input: {query: "x", budgetStrategy: NOPE}) { requestId } }', {}, "budgetStrategy"),
        ('{ retrieve(input: {query: "x", organisationId: "y"}) { requestId } }', {}, "organisationId"),
        (
            "query ($i: RetrieveInput!) { retrieve(input: $i) { requestId } }",
            {"i": {"query": "x", "sourceKinds": ["docs", 4]}},
            "sourceKinds",
        ),
        ("query ($i: RetrieveInput!) { retrieve(input: $i) { requestId } }", {"i": {"query": "x", "nope": 1}}, "i"),
        ("query ($i: RetrieveInput!) { retrieve(input: $i) { requestId } }", {"i": {"query": "a\0b"}}, "query"),
        ("query ($i: RetrieveInput!) { retrieve(input: $i) { requestId } }", {"i": {"minScore": "NaN"}}, "minScore"),
    ],
)
async def test_what_the_caller_got_wrong(api: Api, query: str, variables: dict[str, Any], field: str | None) -> None:
    assert_shape(await api.error(query, variables), "BAD_USER_INPUT", field)


async def test_a_document_that_nests_without_end(api: Api) -> None:
    assert_shape(await api.error("{ me { id } } " + "[" * 20_000), "BAD_USER_INPUT")
    for query in ("{ a " * 20_000, "{ me(a: " + "[" * 20_000):
        error = await api.error(query)
        assert set(error["extensions"]) == EXTENSIONS | {"measure", "limit"}
        assert (error["extensions"]["code"], error["extensions"]["measure"]) == ("QUERY_TOO_COMPLEX", "depth")


def _value(type_: Any) -> str:
    """The least literal that the type accepts."""
    named = get_named_type(type_)
    if isinstance(named, GraphQLInputObjectType):
        required = [
            f"{name}: {_value(field.type)}"
            for name, field in named.fields.items()
            if isinstance(field.type, GraphQLNonNull) and field.default is None
        ]
        return "{" + ", ".join(required) + "}"
    if is_enum_type(named):
        return str(next(iter(named.values)))
    return {"Int": "1", "Float": "1", "Boolean": "true", "BigInt": "1", "Instant": '"2026-01-01T00:00:00Z"'}.get(
        named.name, '"x"'
    )


def _documents() -> dict[str, str]:
    core = graphql_schema._schema
    found = {}
    for root, word in ((core.query_type, "query"), (core.mutation_type, "mutation")):
        assert root is not None
        for name, field in root.fields.items():
            given = [
                f"{argument}: {_value(item.type)}"
                for argument, item in field.args.items()
                if isinstance(item.type, GraphQLNonNull)
            ]
            call = f"{name}({', '.join(given)})" if given else name
            selection = " { __typename }" if is_composite_type(get_named_type(field.type)) else ""
            found[name] = f"{word} {{ {call}{selection} }}"
    return found


@pytest.mark.parametrize("name", _documents())
async def test_no_root_field_answers_without_a_credential(api: Api, name: str, tmp_path: Any) -> None:
    stranger = DevelopmentKey.load_or_create(tmp_path / "stranger.pem")
    forged = stranger.token("muniment", "muniment", organisation=api.world.organisation)
    for token in ("", "garbage", "a.b.c", forged):
        body = await api.ask(_documents()[name], token=token)
        assert body["data"] is None or body["data"][name] is None
        [error] = body["errors"]
        assert_shape(error, "UNAUTHENTICATED")


@pytest.mark.parametrize("scheme", ["", "Basic ", "bearer", "Bearer", "Bearer  "])
async def test_only_a_bearer_token_is_a_credential(api: Api, scheme: str) -> None:
    token = "" if scheme.strip().lower() == "bearer" else token_of(api.world)
    error = await api.error("{ me { id } }", token="", headers={"Authorization": f"{scheme}{token}"})
    assert_shape(error, "UNAUTHENTICATED")


async def test_the_scheme_is_written_in_any_case(api: Api) -> None:
    for scheme in ("bearer", "BEARER", "Bearer"):
        data = await api.data("{ me { id } }", token="", headers={"Authorization": f"{scheme} {token_of(api.world)}"})
        assert data["me"]["id"] == str(api.world.principal.id)


class _Broken:
    """A service that fails in a way nobody foresaw."""

    embedder = None

    def __init__(self, error: Exception) -> None:
        self._error = error

    async def retrieve(self, request: object) -> None:
        raise self._error


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError(SECRET),
        ValueError(SECRET),
        ProgrammingError(f"SELECT {SECRET}", {"q": SECRET}, Exception(SECRET)),
        MunimentError(Code.INTERNAL, SECRET, SECRET),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_an_unexpected_failure_says_nothing_and_is_logged(api: Api, error: Exception) -> None:
    parts = replace(api.world.parts, retriever=_Broken(error))  # type: ignore[arg-type]
    async with connect(parts) as http:
        with capture_logs() as logs:
            body = await Api(api.world, http).ask(RETRIEVE)
    [shown] = body["errors"]
    assert_shape(shown, "INTERNAL")
    assert shown["message"] == "an internal error"
    assert SECRET not in str(body)
    [entry] = logs
    assert entry["event"] == "graphql.failed"
    assert entry["request_id"] == shown["extensions"]["requestId"]
    assert entry["exc_info"] is error


def test_the_log_tells_where_and_not_what() -> None:
    question = SECRET  # a local variable, as a resolver holds the caller's question
    try:
        try:
            raise ValueError(question)
        except ValueError as error:
            raise RuntimeError(question) from error
    except RuntimeError as error:
        event = describe_exception(None, "error", {"event": "graphql.failed", "exc_info": error})
    assert SECRET not in str(event)
    assert [item["type"] for item in event["exception"]] == ["builtins.RuntimeError", "builtins.ValueError"]
    assert "test_the_log_tells_where_and_not_what" in event["exception"][0]["frames"][-1]


async def test_the_question_goes_to_no_other_log(api: Api, caplog: pytest.LogCaptureFixture) -> None:
    await api.error(f'{{ retrieve(input: {{query: "{SECRET}", topK: -1}}) {{ requestId }} }}')
    await api.error(f'{{ retrieve(input: {{query: "{SECRET}" ')
    assert SECRET not in caplog.text


async def test_a_failure_that_passes_says_so(api: Api) -> None:
    for code, retryable in ((Code.ATTRIBUTION_FAILED, True), (Code.SEARCH_UNAVAILABLE, True), (Code.FORBIDDEN, False)):
        parts = replace(api.world.parts, retriever=_Broken(MunimentError(code, "as told")))  # type: ignore[arg-type]
        async with connect(parts) as http:
            error = await Api(api.world, http).error(RETRIEVE)
        assert_shape(error, code.value)
        assert error["message"] == "as told"
        assert error["extensions"]["retryable"] is retryable


@strawberry.type
class Query:
    @strawberry.field
    async def too_big(self) -> int:
        return 2**40

    @strawberry.field
    async def nothing(self) -> int:
        return None  # type: ignore[return-value]

    @strawberry.field
    async def echo(self, number: int = 3) -> int:
        return number


class _Context:
    request_id = UUID(int=1)


@pytest.mark.parametrize(
    ("query", "variables", "code"),
    [
        ("{ tooBig }", {}, "INTERNAL"),
        ("{ nothing }", {}, "INTERNAL"),
        ("query ($n: Int = 3) { echo(number: $n) }", {"n": None}, "BAD_USER_INPUT"),
    ],
)
async def test_whose_fault_it_was(query: str, variables: dict[str, Any], code: str) -> None:
    """A value that does not fit the schema is the server's when it resolved it, the caller's when it came in."""
    schema = Schema(Query, extensions=[CodedErrors])
    result = await schema.execute(query, variables, context_value=_Context())
    assert [error.extensions["code"] for error in result.errors or ()] == [code]


async def test_the_same_faulty_document_is_told_anew_each_time(api: Api) -> None:
    """Parsed documents and their validation are remembered; what one request was told of is not."""
    first, again = [await api.error("{ nope }") for _ in range(2)]
    lower = await api.error("\n\n   { nope }")
    assert first["extensions"]["requestId"] != again["extensions"]["requestId"]
    assert first["locations"] == again["locations"] == [{"line": 1, "column": 3}]
    assert lower["locations"] == [{"line": 3, "column": 6}]


async def test_one_document_serves_many_callers(api: Api) -> None:
    query = "query ($first: Int) { me { externalId } spaces(first: $first) { edges { node { keyPath } } } }"
    mine = await api.data(query, {"first": 1})
    stranger = await api.data(query, {"first": 5}, token=token_of(api.world, "stranger"))
    assert mine["me"]["externalId"] == "tester"
    assert len(mine["spaces"]["edges"]) == 1
    assert stranger == {"me": {"externalId": "stranger"}, "spaces": {"edges": []}}
    assert_shape(await api.error(query, {"first": -1}), "BAD_USER_INPUT", "first")
    assert await api.data(query, {"first": 1}) == mine


async def test_only_its_own_part_of_the_answer_fails(api: Api) -> None:
    body = await api.ask('{ me { id } attribution(id: "nope") { id } }')
    assert body["data"] is None  # every root field is non-null
    [error] = body["errors"]
    assert error["path"] == ["attribution"]
    assert_shape(error, "ATTRIBUTION_NOT_FOUND", "id")


def test_every_reason_has_a_word_in_the_schema() -> None:
    assert set(graphql_schema._schema.type_map["ExclusionType"].values) == {reason.value for reason in Reason}
