"""`trace` and `explainExclusion` as a client sees them, and what the cache and the near misses tell."""

from uuid import uuid4

from sqlalchemy import text

from app.storage.scope import believed_now
from tests.schema.conftest import Api

ASK = """query($i: RetrieveInput!) { retrieve(input: $i) {
    traceId requestId attributionId contract { validAt knownAt }
    passages { chunkId documentId score scores { vector text } }
    exclusions { type stage provider sourceKind count reason }
    searchMeta { cacheHit candidates stageTimings { cacheMs textMs } } } }"""
WITHOUT_EXCLUSIONS = """query($i: RetrieveInput!) { retrieve(input: $i) { searchMeta { candidates cacheHit } } }"""
TRACE = """query($id: ID!, $first: Int, $after: String) { trace(id: $id) {
    id requestId attributionId issuedAt query rewrittenQuery model validAt knownAt indexes vectorMode cacheHit
    limitations parameters { topK minScore tokenBudget budgetStrategy tags }
    stageTimings { textMs totalMs recordMs rerankMs } degradedStages { stage }
    candidates(first: $first, after: $after) { edges { cursor node {
        kind itemId documentId memoryId sourceId spaceId stage type index rank score
        scores { vector text cosine bm25 levelWeight rerank similarity } } }
        pageInfo { hasNextPage hasPreviousPage endCursor } } } }"""
EXPLAIN = """query($r: ID!, $i: ID!) { explainExclusion(requestId: $r, itemId: $i) {
    outcome reason stage type candidate { itemId rank score } } }"""


async def shelf(api: Api) -> None:
    for number in range(5):
        await api.world.write(f"{number}.md", (f"refunds in memo {number}", None, None))
    await api.world.settle()


async def ask(api: Api, **given):
    asked = {"query": "refunds", "spaceKey": "project", "topK": 2, **given}
    return (await api.data(ASK, {"i": asked}))["retrieve"]


async def test_a_trace_page_by_page(api):
    await shelf(api)
    answer = await ask(api, minScore=0.01)
    trace = (await api.data(TRACE, {"id": answer["traceId"]}))["trace"]
    assert trace["requestId"] == answer["requestId"]
    assert trace["attributionId"] == answer["attributionId"]
    assert (trace["validAt"], trace["knownAt"]) == (answer["contract"]["validAt"], answer["contract"]["knownAt"])
    assert trace["query"] == "refunds"
    assert trace["parameters"] == {
        "topK": 2,
        "minScore": 0.01,
        "tokenBudget": 4096,
        "budgetStrategy": "DROP_LOWEST",
        "tags": None,
    }
    assert trace["stageTimings"]["textMs"] > 0
    assert trace["stageTimings"]["rerankMs"] is None
    nodes = [edge["node"] for edge in trace["candidates"]["edges"]]
    assert len(nodes) == answer["searchMeta"]["candidates"] == 5
    for node, passage in zip(nodes, answer["passages"], strict=False):
        assert (node["itemId"], node["documentId"], node["stage"]) == (
            passage["chunkId"],
            passage["documentId"],
            "delivered",
        )
        assert (node["score"], node["scores"]["vector"]) == (passage["score"], passage["scores"]["vector"])
    assert {(node["stage"], node["type"]) for node in nodes[2:]} == {("cap", "TOP_K")}

    paged, after = [], None
    while True:
        page = (await api.data(TRACE, {"id": answer["traceId"], "first": 2, "after": after}))["trace"]["candidates"]
        paged += [edge["node"] for edge in page["edges"]]
        assert page["pageInfo"]["hasPreviousPage"] is (after is not None)
        if not page["pageInfo"]["hasNextPage"]:
            break
        after = page["pageInfo"]["endCursor"]
    assert paged == nodes
    for cursor in ("nonsense", "Y2FuZGlkYXRlczp4"):
        error = await api.error(TRACE, {"id": answer["traceId"], "after": cursor})
        assert error["extensions"]["code"] == "BAD_USER_INPUT"


async def test_why_an_item_is_not_there(api):
    await shelf(api)
    answer = await ask(api)
    [top_k] = [item for item in answer["exclusions"] if item["type"] == "TOP_K"]
    trace = (await api.data(TRACE, {"id": answer["traceId"]}))["trace"]
    gone = trace["candidates"]["edges"][-1]["node"]
    told = (await api.data(EXPLAIN, {"r": answer["requestId"], "i": gone["documentId"]}))["explainExclusion"]
    assert (told["outcome"], told["stage"], told["type"]) == ("EXCLUDED", top_k["stage"], "TOP_K")
    assert told["reason"] == top_k["reason"]
    assert told["candidate"]["itemId"] == gone["itemId"]
    told = await api.data(EXPLAIN, {"r": answer["requestId"], "i": answer["passages"][0]["chunkId"]})
    assert told["explainExclusion"]["outcome"] == "DELIVERED"
    told = (await api.data(EXPLAIN, {"r": answer["requestId"], "i": str(uuid4())}))["explainExclusion"]
    assert told == {
        "outcome": "NEVER_A_CANDIDATE",
        "reason": "It was never a candidate of this retrieval.",
        "stage": None,
        "type": None,
        "candidate": None,
    }
    error = await api.error(EXPLAIN, {"r": str(uuid4()), "i": gone["itemId"]})
    assert error["extensions"]["code"] == "ATTRIBUTION_NOT_FOUND"
    error = await api.error(TRACE, {"id": str(uuid4())})
    assert error["extensions"]["code"] == "NOT_FOUND"


async def test_near_misses_come_with_the_exclusions(api, instant):
    await shelf(api)
    await api.world.write("old.md", ("refunds of old", None, instant))
    await api.world.settle()
    answer = await ask(api)
    [missed] = [item for item in answer["exclusions"] if item["stage"] == "near_miss"]
    assert (missed["type"], missed["provider"], missed["sourceKind"], missed["count"]) == (
        "EXPIRED",
        "filesystem",
        "docs",
        1,
    )
    plain = await api.data(WITHOUT_EXCLUSIONS, {"i": {"query": "refunds", "spaceKey": "project", "topK": 2}})
    assert plain["retrieve"]["searchMeta"] == {"candidates": answer["searchMeta"]["candidates"], "cacheHit": False}


async def test_a_deleted_source_is_gone_within_the_time_of_the_cache(api):
    await shelf(api)
    extra = await api.world.add_source("extra")
    await api.world.write("extra.md", ("refunds of the extra kind", None, None), source=extra)
    await api.world.settle()
    first, second = await ask(api, topK=50, maxPerLevel=50), await ask(api, topK=50, maxPerLevel=50)
    assert (first["searchMeta"]["cacheHit"], second["searchMeta"]["cacheHit"]) == (False, True)
    assert second["searchMeta"]["stageTimings"]["textMs"] is None
    assert second["searchMeta"]["stageTimings"]["cacheMs"] is not None
    assert second["passages"] == first["passages"]
    assert len(first["passages"]) == 6
    assert second["attributionId"] != first["attributionId"]
    async with api.world.parts.database.write(api.world.organisation) as session:
        await session.run(
            text(f"UPDATE sources t SET system_to = :stamp WHERE {believed_now('t')} AND t.id = :id"),
            {"organisation": session.organisation, "stamp": session.stamp, "id": extra.id},
        )
    third = await ask(api, topK=50, maxPerLevel=50)
    assert third["searchMeta"]["cacheHit"] is False
    assert len(third["passages"]) == 5
