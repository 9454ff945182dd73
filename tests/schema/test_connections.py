"""Pages: complete, in order, without repetition, and only by cursors of the same collection."""

import base64

import pytest

from app.domain.principal import Level
from schema.types.connection import encode_cursor
from tests.schema.conftest import Api

SPACES = """query ($first: Int, $after: String) { spaces(first: $first, after: $after) {
    edges { cursor node { keyPath } } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }"""
ATTRIBUTIONS = """query ($id: ID!, $first: Int, $after: String) {
    attributions(requestId: $id, first: $first, after: $after) {
        edges { cursor node { id category state sequence } }
        pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }"""
LINK = """mutation ($id: ID!, $response: String!) {
    linkResponse(attributionId: $id, responseId: $response) { responseId } }"""


async def walk(api: Api, query: str, field: str, size: int, **variables: str) -> list[dict[str, object]]:
    """Every node, page by page."""
    found: list[dict[str, object]] = []
    after = None
    for _ in range(50):
        page = (await api.data(query, {**variables, "first": size, "after": after}))[field]
        assert len(page["edges"]) <= size
        assert page["pageInfo"]["hasPreviousPage"] is (after is not None)
        cursors = [edge["cursor"] for edge in page["edges"]]
        assert (page["pageInfo"]["startCursor"], page["pageInfo"]["endCursor"]) == (
            (cursors[0], cursors[-1]) if cursors else (None, None)
        )
        found += [edge["node"] for edge in page["edges"]]
        if not page["pageInfo"]["hasNextPage"]:
            return found
        after = page["pageInfo"]["endCursor"]
    raise AssertionError("the pages do not end")


@pytest.mark.parametrize("size", [1, 2, 3, 5, 100])
async def test_spaces_page_by_page(api: Api, size: int) -> None:
    for key in ("beta", "alpha", "project/z", "Ä"):
        await api.world.add_space(key, Level.TEAM)
    pages = await walk(api, SPACES, "spaces", size)
    paths = [node["keyPath"] for node in pages]
    assert sorted(paths) == sorted(["/", "project", "beta", "alpha", "project/z", "Ä"])
    assert paths == [node["keyPath"] for node in await walk(api, SPACES, "spaces", 100)]


@pytest.mark.parametrize("size", [1, 2, 3, 100])
async def test_attributions_page_by_page(api: Api, size: int) -> None:
    """The chained ones first, in chain order; those that still wait behind them."""
    answer = (await api.data('{ retrieve(input: {query: "x"}) { requestId attributionId } }'))["retrieve"]
    for number in range(3):
        await api.data(LINK, {"id": answer["attributionId"], "response": f"response-{number}"})
    await api.world.parts.sequencer.turn(api.world.organisation)
    for number in range(3, 5):
        await api.data(LINK, {"id": answer["attributionId"], "response": f"response-{number}"})
    nodes = await walk(api, ATTRIBUTIONS, "attributions", size, id=answer["requestId"])
    assert [node["sequence"] for node in nodes] == [1, 2, 3, 4, None, None]
    assert [node["state"] for node in nodes] == ["CHAINED"] * 4 + ["QUEUED"] * 2
    assert [node["category"] for node in nodes] == ["context_attribution"] + ["context_attribution_link"] * 5
    assert len({node["id"] for node in nodes}) == 6


async def test_nothing_and_too_much(api: Api) -> None:
    none = (await api.data(SPACES, {"first": 0}))["spaces"]
    assert none["edges"] == []
    assert none["pageInfo"]["hasNextPage"] is True
    assert len((await api.data(SPACES, {"first": 2**31 - 1}))["spaces"]["edges"]) == 2
    assert len((await api.data(SPACES))["spaces"]["edges"]) == 2


@pytest.mark.parametrize(
    "cursor",
    [
        "",
        "nope",
        "/",
        "%%%",
        "a" * 5000,
        "ä",
        base64.urlsafe_b64encode(b"\xff\xfe").decode(),
        base64.urlsafe_b64encode(b"project").decode(),
        encode_cursor("spaces", ""),
        encode_cursor("spaces", "a\0b"),
        encode_cursor("other", "project"),
    ],
)
async def test_what_is_no_cursor_of_the_collection_is_refused(api: Api, cursor: str) -> None:
    for query, variables in ((SPACES, {}), (ATTRIBUTIONS, {"id": "x"})):
        error = await api.error(query, {**variables, "after": cursor})
        assert error["extensions"]["code"] == "BAD_USER_INPUT"
        assert error["extensions"]["field"] == "after"


async def test_a_cursor_of_another_request_does_not_start_from_the_beginning(api: Api) -> None:
    mine, other = [
        (await api.data('{ retrieve(input: {query: "x"}) { requestId attributionId } }'))["retrieve"] for _ in range(2)
    ]
    cursor = encode_cursor("attributions", other["attributionId"])
    error = await api.error(ATTRIBUTIONS, {"id": mine["requestId"], "after": cursor})
    assert error["extensions"]["code"] == "BAD_USER_INPUT"


async def test_a_space_that_was_removed_still_has_its_place(api: Api) -> None:
    """A position that is no longer there is passed over: what follows it follows."""
    page = await api.data(SPACES, {"after": encode_cursor("spaces", "o")})
    assert [edge["node"]["keyPath"] for edge in page["spaces"]["edges"]] == ["project"]
