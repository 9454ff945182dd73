"""Any string in any place of the schema, in the headers and as a cursor: a coded answer, and back as it was given."""

import unicodedata
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from app.assembly.services import Services
from app.domain.limits import Rates
from app.identity.rates import RateLimiter
from tests.fixtures.inhabited import Names, inhabit
from tests.fixtures.store import make_world
from tests.resilience.strings import CODES, Trial, attempt_all
from tests.schema.conftest import Api, connect, token_of
from tests.schema.strings import NAUGHTY, generated, naughty, places

needs_data = pytest.mark.skipif(
    not NAUGHTY.exists(), reason=f"the evaluation data is absent: {NAUGHTY} (see MUNIMENT_TEST_DATA)"
)
INGEST = "mutation($s: ID!, $d: [DocumentInput!]!) { ingestDocuments(sourceId: $s, documents: $d) { created failed } }"
REMEMBER = 'mutation($t: String!) { remember(input: {text: $t, spaceKey: "project"}) { id text } }'
TEXTS = """query($s: ID!, $a: String) { documents(sourceId: $s, first: 100, after: $a) {
    edges { node { id } } pageInfo { endCursor } } }"""
TEXT = "query($id: ID!) { document(id: $id) { text } }"
FIND = """query($q: String!) { retrieve(input: {query: $q, spaceKey: "project", topK: 50, maxPerLevel: 50,
    maxPassagesPerDocument: 50, maxMemories: 50}) { passages { text } memories { text } } }"""
HEADERS = ("X-Muniment-Space", "X-Muniment-Client", "X-Muniment-Csrf", "X-Keystone-Space", "X-Keystone-Client")


@pytest.fixture
async def free(parts: Services) -> AsyncIterator[Api]:
    """An organisation whose calls are not counted."""
    parts = replace(parts, rates=RateLimiter(parts.database, Rates(0)))
    async with connect(parts) as http:
        yield Api(await make_world(parts), http)


async def test_each_place_takes_any_string_that_was_made_up(parts: Services) -> None:
    report = await attempt_all(parts, generated(), share=120)
    assert report.wrong == []
    assert report.compared > 30
    assert report.read_again > 10


async def test_each_place_of_an_instant_takes_the_ends_of_the_calendar(free: Api) -> None:
    trial = Trial(free, await inhabit(free), token_of(free.world))
    ends = (
        "0001-01-01T00:00:00Z",
        "0001-01-01T00:00:00.000001Z",
        "9999-12-31T23:59:59.999998Z",
        "2026-02-30T00:00:00Z",
    )
    for place in places("Instant"):
        for value in ends:
            await trial.attempt(place, value)
    # An instant is given back in UTC with six digits.
    assert [said for said in trial.report.wrong if "gave back" not in said and "read again" not in said] == []


@needs_data
async def test_each_place_takes_any_naughty_string(parts: Services) -> None:
    report = await attempt_all(parts, naughty(), share=200)
    assert report.wrong == []
    assert report.compared > 30


@needs_data
async def test_each_naughty_string_is_found_by_itself(free: Api) -> None:
    """As a document and as a memory, by words and by meaning together. Of equal texts one is given."""
    strings = list(dict.fromkeys(said for said in naughty() if said.strip()))
    documents = [{"externalId": f"{number}/naughty.txt", "text": said} for number, said in enumerate(strings)]
    made = await free.data(INGEST, {"s": str(free.world.source.id), "d": documents})
    assert made["ingestDocuments"] == {"created": len(strings), "failed": 0}
    for said in strings:
        assert (await free.data(REMEMBER, {"t": said}))["remember"]["text"] == said
    await free.world.settle()
    texts: list[str] = []
    after = None
    while (page := (await free.data(TEXTS, {"s": str(free.world.source.id), "a": after}))["documents"])["edges"]:
        after = page["pageInfo"]["endCursor"]
        for edge in page["edges"]:
            texts.append((await free.data(TEXT, {"id": edge["node"]["id"]}))["document"]["text"])
    assert sorted(texts) == sorted(strings)
    unfound = []
    for said in strings:
        found = (await free.data(FIND, {"q": said}))["retrieve"]
        assert said in [memory["text"] for memory in found["memories"]], ascii(said)
        # A passage stands without what surrounds it.
        if said.strip() not in [passage["text"] for passage in found["passages"]]:
            unfound.append(said)
    # What nobody can see has neither words nor a meaning to be found by.
    assert all(unicodedata.category(character) == "Cf" for said in unfound for character in said.strip()), unfound
    assert len(unfound) <= 3


async def test_any_bytes_in_a_header(free: Api) -> None:
    names: Names = await inhabit(free)
    query = "query($q: String!) { retrieve(input: {query: $q}) { attributionId } memories { edges { node { id } } } }"
    strings = [*generated(), *(naughty() if NAUGHTY.exists() else [])][::4]
    token = token_of(free.world)
    for number, said in enumerate(strings):
        answer = await free.http.post(
            "/graphql",
            json={"query": query, "variables": {"q": "ledger"}},
            headers=[
                (b"authorization", f"Bearer {token}".encode()),
                (HEADERS[number % len(HEADERS)].encode(), said.encode("utf-8", "surrogatepass")[:8000]),
            ],
        )
        assert answer.status_code < 500
        codes = {error["extensions"]["code"] for error in answer.json().get("errors", ())}
        assert codes <= CODES, ascii(said)
    # In UTF-8 a header names what is beyond ASCII.
    spaces = 'mutation { createSpace(input: {key: "büro", parentKey: "project"}) { id keyPath } }'
    made = (await free.data(spaces))["createSpace"]
    answer = await free.data(query, {"q": "ledger"}, headers={"X-Muniment-Space": made["keyPath"].encode()})
    assert answer["retrieve"]["attributionId"] != names.attribution


@pytest.mark.parametrize("half", ["\ud800", "a\udfff"])
async def test_half_of_a_surrogate_pair_is_refused_wherever_it_stands(free: Api, half: str) -> None:
    error = await free.error("query($q: String) { retrieve(input: {query: $q}) { attributionId } }", {"q": half})
    assert error["extensions"]["code"] == "BAD_USER_INPUT"
