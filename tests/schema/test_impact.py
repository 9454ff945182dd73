"""Replay, impact and staleness through the API: shapes, codes, pages."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from app.domain.principal import Permission
from app.evidence.indexing import index_delivered
from tests.fixtures.store import World
from tests.memory.conftest import Memories
from tests.retrieval.test_statements import statements
from tests.schema.conftest import Api, connect, token_of

REPLAY = """query($id: ID!, $q: String, $a: ReplayAgainst! = RECORDED) {
    replay(attributionId: $id, query: $q, against: $a) {
    verdict reasons traced compared validAt knownAt drifts { type message itemIds }
    items { itemId documentId memoryId recordedPlace recordedSha256 recordedScore place sha256 score } } }"""
PLAIN = "query($id: ID!) { replay(attributionId: $id) { verdict reasons } }"
IMPACT = """query($item: ID, $sha: String, $first: Int, $after: String) {
    impact(itemId: $item, contentSha256: $sha, first: $first, after: $after) {
    edges { cursor node { attribution { id state } itemIds responses { responseId linkedAt recordId } } }
    pageInfo { hasNextPage endCursor } } }"""
STALE = """query($since: Instant!, $first: Int, $after: String) {
    staleAttributions(since: $since, first: $first, after: $after) {
    edges { cursor node { attribution { id } moved { itemId wholeId movement at } } }
    pageInfo { hasNextPage endCursor } } }"""
LONG_AGO = "2020-01-01T00:00:00Z"
TIN = "# Tea\n\nTea is kept in the {} tin."
QUESTION = "where is the tea kept"


@pytest.fixture
async def memory(world: World) -> AsyncIterator[Memories]:
    async with connect(world.parts) as http:
        yield Memories(Api(world, http))


@pytest.fixture
def api(memory: Memories) -> Api:
    return memory.api


async def test_a_replay(world: World, api: Api, memory: Memories) -> None:
    await world.write("tea.md", (TIN.format("red"), None, None))
    await memory.remember("tea is served at four")
    answer = await world.ask(QUESTION)
    id = str(answer.attribution_id)
    assert await api.data(PLAIN, {"id": id}) == {"replay": {"verdict": "REPRODUCED", "reasons": []}}
    found = (await api.data(REPLAY, {"id": id}))["replay"]
    assert (found["verdict"], found["traced"], found["drifts"]) == ("REPRODUCED", True, [])
    passage, given = found["items"]
    assert passage["itemId"] == str(answer.passages[0].candidate.id)
    assert passage["sha256"] == passage["recordedSha256"] == answer.passages[0].content_sha256
    assert passage["score"] == passage["recordedScore"] == answer.passages[0].candidate.score
    assert (passage["place"], given["place"]) == (1, 2)
    assert (passage["memoryId"], given["documentId"]) == (None, None)
    await world.write("tea.md", (TIN.format("green"), None, None))
    assert (await api.data(REPLAY, {"id": id}))["replay"]["verdict"] == "REPRODUCED"
    moved = (await api.data(REPLAY, {"id": id, "a": "NOW"}))["replay"]
    assert moved["verdict"] == "DRIFTED"
    assert "CONTENT_CORRECTED" in moved["reasons"]
    assert passage["itemId"] in moved["drifts"][0]["itemIds"]


async def test_what_is_refused(world: World, api: Api) -> None:
    answer = await world.ask(QUESTION)
    await world.add_person("stranger", (world.project, Permission.SEARCH))
    id = str(answer.attribution_id)

    async def refusal(query: str, variables: dict[str, Any], by: str | None = None) -> tuple[str, str | None]:
        error = await api.error(query, variables, token=None if by is None else token_of(world, by))
        return error["extensions"]["code"], error["extensions"].get("field")

    assert await refusal(REPLAY, {"id": id}, "stranger") == ("ATTRIBUTION_NOT_FOUND", "attributionId")
    assert await refusal(REPLAY, {"id": "nonsense"}) == ("ATTRIBUTION_NOT_FOUND", "attributionId")
    assert await refusal(REPLAY, {"id": id, "q": "another"}) == ("BAD_USER_INPUT", "query")
    assert await refusal(IMPACT, {}) == ("BAD_USER_INPUT", "itemId")
    assert await refusal(IMPACT, {"sha": "x"}) == ("BAD_USER_INPUT", "contentSha256")
    assert await refusal(IMPACT, {"item": id, "after": "x"}) == ("BAD_USER_INPUT", "after")
    assert await refusal(STALE, {"since": LONG_AGO, "after": "x"}) == ("BAD_USER_INPUT", "after")
    assert await refusal(STALE, {"since": LONG_AGO, "first": -1}) == ("BAD_USER_INPUT", "first")


async def test_impact_and_staleness_in_pages(world: World, api: Api, memory: Memories) -> None:
    await world.write("tea.md", (TIN.format("red"), None, None))
    answers = [await world.ask(QUESTION) for _ in range(5)]
    document = str(answers[0].passages[0].candidate.document_id)
    await memory.link({"attributionId": str(answers[0].attribution_id)}, "response")
    await world.write("tea.md", (TIN.format("green"), None, None))
    await world.parts.sequencer.sweep()
    newest = [str(answer.attribution_id) for answer in reversed(answers)]
    for query, name, variables in (
        (IMPACT, "impact", {"item": document}),
        (IMPACT, "impact", {"sha": answers[0].passages[0].content_sha256}),
        (STALE, "staleAttributions", {"since": LONG_AGO}),
    ):
        found, after = [], None
        while True:
            page = (await api.data(query, {**variables, "first": 2, "after": after}))[name]
            found += [edge["node"] for edge in page["edges"]]
            after = page["pageInfo"]["endCursor"]
            if not page["pageInfo"]["hasNextPage"]:
                break
        assert [node["attribution"]["id"] for node in found] == newest
        if name == "impact":
            assert [[used["responseId"] for used in node["responses"]] for node in found] == [[]] * 4 + [["response"]]
        else:
            assert {moved["movement"] for node in found for moved in node["moved"]} == {"CORRECTED"}
            assert {moved["wholeId"] for node in found for moved in node["moved"]} == {document}


@pytest.mark.parametrize("documents", [1, 9])
async def test_the_number_of_statements_does_not_depend_on_the_answer(world: World, api: Api, documents: int) -> None:
    for number in range(documents):
        await world.write(f"{number}.md", (f"# Tea {number}\n\nTea is kept in tin {number}.", None, None))
    answers = [await world.ask(QUESTION) for _ in range(documents)]
    assert len(answers[0].passages) == min(documents, 5)
    await world.parts.sequencer.sweep()
    await index_delivered(world.parts.database, world.organisation)
    item = str(answers[0].passages[0].candidate.id)
    counted = []
    for query, variables in (
        (IMPACT, {"item": item}),
        (STALE, {"since": LONG_AGO}),
        (PLAIN, {"id": str(answers[0].attribution_id)}),
    ):
        with statements(world.parts.database) as run:
            await api.data(query, variables)
        counted.append(len(run))
    # All: first entering, and whether the token was revoked. Impact: entering, two for what may be seen, the uses,
    # their records, their links. Staleness: first three to take what was chained since.
    assert counted[:2] == [2 + 6, 2 + 8]
    assert counted[2] == 2 + 13
