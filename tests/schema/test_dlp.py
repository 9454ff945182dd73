"""The policy, what was found and indexes made anew, through the API."""

SET = """mutation($c: [ClassPolicyInput!]!, $e: Instant) { setDlpPolicy(classes: $c, expectedSystemFrom: $e) {
    version systemFrom knownAt classes { classification action } } }"""
GET = "query($at: Instant) { dlpPolicy(knownAt: $at) { version systemFrom classes { classification action } } }"
FOUND = """{ dlpFindings { edges { node { sourceId name classification action staleChunks
    counts { detector count } } } } }"""
STATUS = """{ status { reindexQueueDepth coverage { spaceKey chunks embedded indexed }
    embeddings { configured model dimensions locality } queueDepth chainHeadAge spaces } }"""
RETRIEVE = """query($q: String!) { retrieve(input: {query: $q, spaceKey: "project"}) {
    passages { text contentSha256 tokens } tokensTotal exclusions { type stage count } } }"""

TEXT = "# Desk\n\nRefunds: write to jane@example.org, or jim@example.org, password: hunter2Secret.\n"


def by_class(policy):
    return {item["classification"]: item["action"] for item in policy["classes"]}


async def test_the_policy_is_set_read_and_reset(api):
    default = (await api.data(GET))["dlpPolicy"]
    assert (default["version"], default["systemFrom"]) == ("0/2", None)
    assert by_class(default) == {
        "PUBLIC": "REDACT", "INTERNAL": "REDACT", "CONFIDENTIAL": "DROP", "RESTRICTED": "DROP", "REGULATED": "DROP",
    }  # fmt: skip
    wanted = [{"classification": "INTERNAL", "action": "BLOCK_SOURCE"}]
    made = (await api.data(SET, {"c": wanted}))["setDlpPolicy"]
    assert made["version"] == "1/2"
    assert by_class(made) == {**by_class(default), "INTERNAL": "BLOCK_SOURCE"}
    reset = (await api.data(SET, {"c": [], "e": made["systemFrom"]}))["setDlpPolicy"]
    assert (reset["version"], by_class(reset)) == ("2/2", by_class(default))
    assert (await api.data(GET, {"at": made["knownAt"]}))["dlpPolicy"]["version"] == "1/2"
    refused = await api.ask(SET, {"c": wanted, "e": made["systemFrom"]})
    assert refused["errors"][0]["extensions"]["code"] == "CONFLICT"
    twice = await api.ask(SET, {"c": wanted * 2})
    assert twice["errors"][0]["extensions"]["code"] == "BAD_USER_INPUT"


async def test_what_was_found_is_told_in_numbers(api):
    await api.world.write("desk.md", (TEXT, None, None))
    await api.world.settle()
    body = await api.data(FOUND)
    (edge,) = body["dlpFindings"]["edges"]
    assert edge["node"]["counts"] == [{"detector": "EMAIL", "count": 2}, {"detector": "SECRET", "count": 1}]
    assert (edge["node"]["action"], edge["node"]["staleChunks"]) == ("REDACT", 0)
    assert not [value for value in ("jane", "jim", "hunter2") if value in str(body)]


async def test_an_answer_passes_the_policy_and_says_what_it_barred(api):
    await api.world.write("desk.md", (TEXT, None, None))
    await api.world.settle()
    given = (await api.data(RETRIEVE, {"q": "refunds"}))["retrieve"]
    (passage,) = given["passages"]
    assert "[EMAIL*********], or [EMAIL********], password: [SECRET*****]." in passage["text"]
    assert given["tokensTotal"] == passage["tokens"]
    await api.data(SET, {"c": [{"classification": "INTERNAL", "action": "DROP"}]})
    given = (await api.data(RETRIEVE, {"q": "refunds"}))["retrieve"]
    assert given["passages"] == []
    assert {"type": "DLP_BLOCKED", "stage": "redact", "count": 1} in given["exclusions"]


async def test_status_tells_how_far_each_space_is(api):
    await api.world.write("desk.md", (TEXT, None, None))
    before = (await api.data(STATUS))["status"]
    assert before["coverage"] == [{"spaceKey": "project", "chunks": 1, "embedded": 0.0, "indexed": 1.0}]
    await api.world.settle()
    await api.data(SET, {"c": [{"classification": "INTERNAL", "action": "ALLOW"}]})
    after = (await api.data(STATUS))["status"]
    assert after["coverage"] == [{"spaceKey": "project", "chunks": 1, "embedded": 1.0, "indexed": 0.0}]
    assert after["reindexQueueDepth"] == 1
    await api.world.parts.reindexer.drain(api.world.organisation)
    last = (await api.data(STATUS))["status"]
    assert (last["coverage"][0]["indexed"], last["reindexQueueDepth"]) == (1.0, 0)


async def test_a_source_is_indexed_anew_and_embeddings_are_filled_up(api):
    await api.world.write("desk.md", (TEXT, None, None), embed=False)
    source = str(api.world.source.id)
    made = await api.data("mutation($id: ID!) { reindexSource(id: $id) { sourceId queued } }", {"id": source})
    assert made["reindexSource"] == {"sourceId": source, "queued": 1}
    filled = await api.data("mutation($id: ID) { backfillEmbeddings(sourceId: $id) { queued } }", {"id": source})
    assert filled["backfillEmbeddings"]["queued"] == 1
    refused = await api.ask('mutation { reindexSource(id: "none") { queued } }')
    assert refused["errors"][0]["extensions"]["code"] == "NOT_FOUND"
