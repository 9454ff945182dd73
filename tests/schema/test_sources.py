"""Sources through the API: made, filled, classified, listed and deleted."""

import asyncio
import base64
from typing import Any

import pytest

from app.domain.errors import Code, MunimentError
from app.domain.principal import Permission
from app.ingestion.intake import Offered
from app.storage import reindexing
from tests.schema.conftest import Api, token_of

CREATE = """mutation($i: CreateSourceInput!) { createSource(input: $i) {
    id spaceId name kind provider classification language accessPolicy syncable systemFrom syncedAt } }"""
INGEST = """mutation($s: ID!, $d: [DocumentInput!]!, $k: String) { ingestDocuments(sourceId: $s, documents: $d,
    clientKey: $k) { sourceId knownAt created changed unchanged failed
    documents { externalId id outcome problem } } }"""
DELETE = "mutation($id: ID!, $k: String) { deleteSource(id: $id, clientKey: $k) }"
CLASSIFY = """mutation($id: ID!, $c: Classification!) { setSourceClassification(id: $id, classification: $c)
    { id classification systemFrom } }"""
SOURCE = "query($id: ID!) { source(id: $id) { id name classification } }"
SOURCES = """query($space: String, $first: Int, $after: String) { sources(spaceKey: $space, first: $first,
    after: $after) { edges { cursor node { id name } } pageInfo { hasNextPage endCursor } } }"""
DOCUMENTS = """query($s: ID!, $v: Instant, $k: Instant, $first: Int, $after: String) { documents(sourceId: $s, asOf: $v,
    knownAt: $k, first: $first, after: $after) { edges { node { id externalId title tags validFrom validTo } }
    pageInfo { hasNextPage endCursor } } }"""
ASK = """query($q: String!, $v: Instant, $k: Instant) { retrieve(input: {query: $q, spaceKey: "project", asOf: $v,
    knownAt: $k}) { passages { text sourceId documentId citation { title externalId url } validFrom confidence tags }
    attributionId } }"""
JUNE, JULY = "2026-06-01T00:00:00.000000Z", "2026-07-01T00:00:00.000000Z"


async def made(api: Api, name: str = "wiki", **given: Any) -> dict[str, Any]:
    source: dict[str, Any] = (
        await api.data(CREATE, {"i": {"name": name, "kind": "DOCS", "spaceKey": "project", **given}})
    )["createSource"]
    return source


async def take(api: Api, source: str, *documents: dict[str, Any], key: str | None = None) -> dict[str, Any]:
    receipt: dict[str, Any] = (await api.data(INGEST, {"s": source, "d": list(documents), "k": key}))["ingestDocuments"]
    return receipt


async def texts(api: Api, question: str, **given: Any) -> list[str]:
    answer = (await api.data(ASK, {"q": question, **given}))["retrieve"]
    return [item["text"] for item in answer["passages"]]


async def code_of(api: Api, query: str, variables: dict[str, Any], by: str | None = None) -> tuple[str, str | None]:
    token = None if by is None else token_of(api.world, by)
    extensions = (await api.error(query, variables, token=token))["extensions"]
    return extensions["code"], extensions.get("field")


async def test_a_source_is_made_once(api: Api) -> None:
    source = await made(api, accessPolicy={"mode": "space"}, classification="PUBLIC")
    assert source["spaceId"] == str(api.world.project)
    assert (source["provider"], source["classification"], source["language"]) == ("api", "PUBLIC", "english")
    assert source["accessPolicy"] == {"mode": "space"}
    assert source["syncable"] is False
    again = {"name": "wiki", "kind": "DOCS", "spaceKey": "project"}
    assert await code_of(api, CREATE, {"i": again}) == ("CONFLICT", "name")
    assert (await made(api, "wiki", provider="confluence"))["id"] != source["id"]


async def test_a_client_key_makes_one_source_of_two_calls_at_once(api: Api) -> None:
    first, second = await asyncio.gather(made(api, clientKey="k"), made(api, clientKey="k"))
    assert first == second
    given = {"name": "other", "kind": "DOCS", "spaceKey": "project", "clientKey": "k"}
    assert await code_of(api, CREATE, {"i": given}) == ("CONFLICT", "clientKey")


async def test_an_unknown_space_is_made_where_one_may_write(api: Api) -> None:
    source = await made(api, spaceKey="project/part")
    await take(api, source["id"], {"externalId": "a.md", "text": "Kettles boil in the part."})
    answer = await api.data(
        'query { retrieve(input: {query: "kettles boil", spaceKey: "project/part"}) { passages { spaceKey } } }'
    )
    assert [item["spaceKey"] for item in answer["retrieve"]["passages"]] == ["project/part"]


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"name": ""}, "name"),
        ({"name": "a\x00b"}, "name"),
        ({"name": "x" * 201}, "name"),
        ({"provider": ""}, "provider"),
        ({"language": "klingon"}, "language"),
        ({"accessPolicy": [1]}, "accessPolicy"),
    ],
)
async def test_what_cannot_be_is_refused_with_its_field(api: Api, given: dict[str, Any], field: str) -> None:
    variables = {"i": {"name": "wiki", "kind": "DOCS", "spaceKey": "project", **given}}
    assert await code_of(api, CREATE, variables) == ("BAD_USER_INPUT", field)


async def test_documents_are_found_at_once_with_what_was_said_of_them(api: Api) -> None:
    source = await made(api)
    receipt = await take(
        api,
        source["id"],
        {
            "externalId": "kb/42",
            "fileName": "42.md",
            "text": "# Kettles\n\nA kettle is descaled with citric acid.",
            "url": "https://kb.example/42",
            "tags": ["kitchen", "kitchen"],
            "confidence": 0.75,
            "validFrom": JUNE,
        },
    )
    assert (receipt["created"], receipt["changed"], receipt["unchanged"], receipt["failed"]) == (1, 0, 0, 0)
    [passage] = (await api.data(ASK, {"q": "descale a kettle"}))["retrieve"]["passages"]
    assert passage["documentId"] == receipt["documents"][0]["id"]
    assert passage["citation"] == {"title": "Kettles", "externalId": "kb/42", "url": "https://kb.example/42"}
    assert (passage["validFrom"], passage["confidence"], passage["tags"]) == (JUNE, 0.75, ["kitchen"])


async def test_the_same_again_changes_nothing(api: Api) -> None:
    source = await made(api)
    documents = [{"externalId": f"{number}.md", "text": f"Fact number {number}."} for number in range(20)]
    first = await take(api, source["id"], *documents)
    second = await take(api, source["id"], *documents)
    assert (first["created"], second["created"], second["unchanged"]) == (20, 0, 20)
    assert [item["id"] for item in first["documents"]] == [item["id"] for item in second["documents"]]
    history = await api.data(
        "query($id: ID!) { history(id: $id) { edges { node { id } } } }", {"id": first["documents"][0]["id"]}
    )
    assert len(history["history"]["edges"]) == 1


async def test_the_same_at_once_is_taken_once(api: Api) -> None:
    source = await made(api)
    documents = [
        {"externalId": f"{number}.md", "text": f"Fact number {number}.", "validFrom": None} for number in range(8)
    ]
    receipts = await asyncio.gather(*(take(api, source["id"], *documents) for _ in range(5)))
    assert sorted(receipt["created"] for receipt in receipts) == [0, 0, 0, 0, 8]
    assert len({item["id"] for receipt in receipts for item in receipt["documents"]}) == 8


async def test_a_change_holds_from_its_write_and_the_past_stays(api: Api) -> None:
    source = await made(api)
    first = await take(api, source["id"], {"externalId": "a.md", "text": "The kettle is red.", "validFrom": None})
    second = await take(api, source["id"], {"externalId": "a.md", "text": "The kettle is green."})
    assert second["changed"] == 1
    assert await texts(api, "what colour is the kettle") == ["The kettle is green."]
    assert await texts(api, "what colour is the kettle", v=JUNE) == ["The kettle is red."]
    assert await texts(api, "what colour is the kettle", k=first["knownAt"]) == ["The kettle is red."]


async def test_several_of_one_name_are_its_history(api: Api) -> None:
    source = await made(api)
    receipt = await take(
        api,
        source["id"],
        {"externalId": "a.md", "text": "The kettle is red.", "validFrom": None, "validTo": JUNE},
        {"externalId": "a.md", "text": "The kettle is green.", "validFrom": JUNE, "validTo": JULY},
        {"externalId": "a.md", "text": "The kettle is blue.", "validFrom": JULY},
    )
    assert [item["outcome"] for item in receipt["documents"]] == ["CREATED", "CHANGED", "CHANGED"]
    assert [await texts(api, "what colour is the kettle", v=at) for at in ("2026-05-01T00:00:00Z", JUNE, JULY)] == [
        ["The kettle is red."],
        ["The kettle is green."],
        ["The kettle is blue."],
    ]


async def test_one_that_cannot_be_read_fails_alone(api: Api) -> None:
    source = await made(api)
    receipt = await take(
        api,
        source["id"],
        {"externalId": "good.md", "text": "A good text about kettles."},
        {"externalId": "bad.png", "content": base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(64)).decode()},
        {"externalId": "nul.md", "text": "A nul\x00 inside."},
        {"externalId": "page.html", "content": base64.b64encode(b"<h1>Kettles</h1><p>They whistle.</p>").decode()},
    )
    assert [item["outcome"] for item in receipt["documents"]] == ["CREATED", "FAILED", "CREATED", "CREATED"]
    assert receipt["documents"][1]["id"] is None
    assert receipt["documents"][1]["problem"]
    assert "NUL" in receipt["documents"][2]["problem"]
    assert "They whistle." in "".join(await texts(api, "kettles whistle"))


@pytest.mark.parametrize(
    ("document", "field"),
    [
        ({"externalId": "", "text": "x"}, "documents[1].externalId"),
        ({"externalId": "a\x00", "text": "x"}, "documents[1].externalId"),
        ({"externalId": "x" * 2001, "text": "x"}, "documents[1].externalId"),
        ({"externalId": "b"}, "documents[1].text"),
        ({"externalId": "b", "text": "x", "content": "eA=="}, "documents[1].text"),
        ({"externalId": "b", "content": "not base64!"}, "documents[1].content"),
        ({"externalId": "b", "text": "x", "confidence": 1.5}, "documents[1].confidence"),
        ({"externalId": "b", "text": "x", "tags": ["t"] * 65}, "documents[1].tags"),
        ({"externalId": "b", "text": "x", "tags": [""]}, "documents[1].tags"),
        ({"externalId": "b", "text": "x", "title": "t" * 1001}, "documents[1].title"),
        ({"externalId": "b", "text": "x", "url": "u" * 2001}, "documents[1].url"),
    ],
)
async def test_what_no_document_can_be_refuses_the_whole_call(api: Api, document: dict[str, Any], field: str) -> None:
    source = await made(api)
    variables = {"s": source["id"], "d": [{"externalId": "a.md", "text": "Kettles."}, document]}
    assert await code_of(api, INGEST, variables) == ("BAD_USER_INPUT", field)
    assert await texts(api, "kettles") == []


async def test_a_document_needs_a_text_or_a_content(api: Api) -> None:
    source = await made(api)
    for document, said in (
        ({"externalId": "b"}, "needed"),
        ({"externalId": "b", "text": "x", "content": "eA=="}, "not both"),
    ):
        assert said in (await api.error(INGEST, {"s": source["id"], "d": [document]}))["message"]


async def test_more_than_a_call_takes_and_a_reversed_period_are_refused(api: Api) -> None:
    source = await made(api)
    many = [{"externalId": str(number), "text": "x"} for number in range(1001)]
    assert (await code_of(api, INGEST, {"s": source["id"], "d": many}))[0] == "QUERY_TOO_COMPLEX"
    with pytest.raises(MunimentError) as refused:
        await api.world.parts.intake.take(api.world.principal, source["id"], [Offered("a", text="x")] * 1001)
    assert (refused.value.code, refused.value.field) == (Code.BAD_USER_INPUT, "documents")
    reversed_ = [{"externalId": "a", "text": "x", "validFrom": JULY, "validTo": JUNE}]
    assert (await code_of(api, INGEST, {"s": source["id"], "d": reversed_}))[0] == "BAD_USER_INPUT"


async def test_a_thousand_documents_in_one_call_and_a_client_key(api: Api) -> None:
    source = await made(api)
    many = [{"externalId": str(number), "text": f"Kettle {number} whistles."} for number in range(1000)]
    first = await take(api, source["id"], *many, key="k")
    assert first["created"] == 1000
    assert await take(api, source["id"], *many, key="k") == first
    assert await code_of(api, INGEST, {"s": source["id"], "d": many[:1], "k": "k"}) == ("CONFLICT", "clientKey")


async def test_a_deleted_source_is_gone_everywhere_at_once(api: Api) -> None:
    source = await made(api)
    receipt = await take(api, source["id"], {"externalId": "a.md", "text": "Kettles whistle.", "validFrom": None})
    answer = (await api.data(ASK, {"q": "kettles"}))["retrieve"]
    assert len(answer["passages"]) == 1
    assert (await api.data(DELETE, {"id": source["id"], "k": "d"}))["deleteSource"] == source["id"]
    assert await texts(api, "kettles") == []
    assert await texts(api, "kettles", k=receipt["knownAt"]) == []
    assert await code_of(api, SOURCE, {"id": source["id"]}) == ("NOT_FOUND", "id")
    assert await code_of(api, DOCUMENTS, {"s": source["id"]}) == ("NOT_FOUND", "sourceId")
    assert await code_of(api, INGEST, {"s": source["id"], "d": []}) == ("NOT_FOUND", "sourceId")
    assert await code_of(api, DELETE, {"id": source["id"]}) == ("NOT_FOUND", "id")
    # The same call again answers the same; what was given before stays on record.
    assert (await api.data(DELETE, {"id": source["id"], "k": "d"}))["deleteSource"] == source["id"]
    record = await api.data("query($id: ID!) { attribution(id: $id) { record } }", {"id": answer["attributionId"]})
    assert record["attribution"]["record"]["sourceIds"] == [source["id"]]


async def test_documents_of_a_source_that_is_deleted_meanwhile_are_not_taken(api: Api) -> None:
    source = await made(api)
    many = [{"externalId": str(number), "text": f"Kettle {number}."} for number in range(300)]
    answers = await asyncio.gather(
        api.ask(INGEST, {"s": source["id"], "d": many}), api.ask(DELETE, {"id": source["id"]})
    )
    assert "errors" not in answers[1]
    assert "errors" not in answers[0] or answers[0]["errors"][0]["extensions"]["code"] == "NOT_FOUND"
    assert await texts(api, "kettle") == []


async def test_a_class_is_set_on_the_system_clock(api: Api) -> None:
    source = await made(api)
    await take(api, source["id"], {"externalId": "a.md", "text": "Kettles whistle."})
    changed = (await api.data(CLASSIFY, {"id": source["id"], "c": "REGULATED"}))["setSourceClassification"]
    assert changed["classification"] == "REGULATED"
    assert changed["systemFrom"] > source["systemFrom"]
    again = (await api.data(CLASSIFY, {"id": source["id"], "c": "REGULATED"}))["setSourceClassification"]
    assert again == changed
    assert await texts(api, "kettles") == ["Kettles whistle."]


async def test_a_stricter_class_holds_for_the_very_next_answer_and_for_the_index(api: Api) -> None:
    """REDACT masks what is found; DROP gives no text in which something is found."""
    source = await made(api)
    await take(api, source["id"], {"externalId": "a.md", "text": "Kettles: write to ann.smith@example.com."})
    [masked] = await texts(api, "kettles")
    assert "ann.smith@example.com" not in masked
    await api.data(CLASSIFY, {"id": source["id"], "c": "CONFIDENTIAL"})
    assert await texts(api, "kettles") == []
    await api.data(CLASSIFY, {"id": source["id"], "c": "PUBLIC"})
    async with api.world.parts.database.unstamped(api.world.organisation) as session:
        task = await reindexing.claim(session)
    assert task is not None
    assert str(task.source) == source["id"]
    assert await texts(api, "kettles") == [masked]


async def test_pages_of_sources_and_of_documents(api: Api) -> None:
    names = [f"s{number}" for number in range(5)]
    made_ids = [(await made(api, name))["id"] for name in names]
    seen: list[str] = []
    after = None
    while True:
        page = (await api.data(SOURCES, {"space": "project", "first": 2, "after": after}))["sources"]
        seen += [edge["node"]["id"] for edge in page["edges"]]
        after = page["pageInfo"]["endCursor"]
        if not page["pageInfo"]["hasNextPage"]:
            break
    assert seen == [str(api.world.source.id), *made_ids]
    await take(api, made_ids[0], *({"externalId": f"{n}.md", "text": f"Text {n}."} for n in range(3)))
    first = (await api.data(DOCUMENTS, {"s": made_ids[0], "first": 2}))["documents"]
    rest = (await api.data(DOCUMENTS, {"s": made_ids[0], "after": first["pageInfo"]["endCursor"]}))["documents"]
    found = [edge["node"]["externalId"] for page in (first, rest) for edge in page["edges"]]
    assert sorted(found) == ["0.md", "1.md", "2.md"]
    assert (await api.data(DOCUMENTS, {"s": made_ids[0], "v": JUNE}))["documents"]["edges"] == []


async def test_who_may_do_what(api: Api) -> None:
    world = api.world
    source = await made(api)
    await take(api, source["id"], {"externalId": "a.md", "text": "Kettles."})
    await world.add_person("stranger")
    await world.add_person("reader", (world.project, Permission.READ))
    await world.add_person("writer", (world.project, Permission.WRITE), (world.project, Permission.READ))
    id, one = source["id"], [{"externalId": "b.md", "text": "x"}]
    new = {"name": "n", "kind": "DOCS", "spaceKey": "project"}
    for by, expected in (("stranger", "NOT_FOUND"), ("reader", "FORBIDDEN")):
        assert await code_of(api, INGEST, {"s": id, "d": one}, by) == (
            expected,
            "sourceId" if by == "stranger" else None,
        )
        assert (await code_of(api, DELETE, {"id": id}, by))[0] == expected
        assert (await code_of(api, CLASSIFY, {"id": id, "c": "PUBLIC"}, by))[0] == expected
    assert (await code_of(api, CREATE, {"i": new}, "stranger"))[0] == "SPACE_NOT_FOUND"
    assert (await code_of(api, CREATE, {"i": new}, "reader"))[0] == "FORBIDDEN"
    assert (await code_of(api, SOURCE, {"id": id}, "stranger")) == ("NOT_FOUND", "id")
    assert (await code_of(api, DELETE, {"id": id}, "writer"))[0] == "FORBIDDEN"
    listed = await api.data(SOURCES, token=token_of(world, "stranger"))
    assert listed["sources"]["edges"] == []
    assert (await api.data(SOURCE, {"id": id}, token=token_of(world, "reader")))["source"]["name"] == "wiki"
    assert (await api.data(INGEST, {"s": id, "d": one}, token=token_of(world, "writer")))["ingestDocuments"]["created"]
