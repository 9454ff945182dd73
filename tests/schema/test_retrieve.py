"""`retrieve` through the API: one record for each alias, the caller's headers, and what the answer carries."""

from datetime import timedelta

import pytest

from app.domain.principal import Level
from tests.schema.conftest import Api, token_of

ANSWER = """
fragment Answer on RetrievalResult {
  requestId attributionId query tokensTotal droppedCount
  contract { version requestId operation issuedAt actorType apiKeyId validAt knownAt indexes
    parameters { topK maxPerLevel maxPassagesPerDocument minScore tokenBudget budgetStrategy sourceKinds providers } }
  passages { text score tokens chunkId documentId sourceId spaceId spaceKey level provider updatedAt validFrom validTo
    systemFrom confidence epistemicStatus transformType tags accessPolicy contentSha256 indexVersion
    citation { index sourceType title externalId headingPath page sheet table rowStart rowEnd url }
    freshness { sourceCreatedAt sourceUpdatedAt ingestedAt syncedAt ageHours }
    scores { vector text levelWeight } }
  citations { index title }
  exclusions { type stage provider sourceKind count reason }
  limitations { code message count }
  sourcesSummary { sourceId name kind provider passages tokens }
  searchMeta { vectorMode candidates cacheHit
    stageTimings { embedMs textMs vectorMs redactMs recordMs totalMs } }
}
"""


async def test_each_alias_has_its_own_request_and_evidence(api: Api, instant) -> None:
    await api.world.write("refunds.md", ("# Refunds\n\nRefunds are authorised by tier two agents.", instant, None))
    await api.world.settle()
    aliases = " ".join(
        f'{name}: retrieve(input: {{query: "who authorises refunds", spaceKey: "project"}}) {{ ...Answer }}'
        for name in "abcd"
    )
    data = await api.data(f"{{ {aliases} }} {ANSWER}")
    answers = [data[name] for name in "abcd"]
    assert len({answer["requestId"] for answer in answers}) == 4
    assert len({answer["attributionId"] for answer in answers}) == 4
    assert all(answer["passages"] == answers[0]["passages"] for answer in answers)
    assert answers[0]["passages"]
    for answer in answers:
        found = await api.data(
            "query ($id: ID!) { attributions(requestId: $id) { edges { node { id record } } } }",
            {"id": answer["requestId"]},
        )
        [edge] = found["attributions"]["edges"]
        assert edge["node"]["id"] == answer["attributionId"]
        assert [chunk["sha256"] for chunk in edge["node"]["record"]["chunks"]] == [
            passage["contentSha256"] for passage in answer["passages"]
        ]


async def test_one_failing_alias_takes_nothing_from_the_store(api: Api) -> None:
    body = await api.ask(
        '{ good: retrieve(input: {query: "x"}) { attributionId }'
        ' bad: retrieve(input: {query: "x", spaceKey: "nope"}) { attributionId } }'
    )
    [error] = body["errors"]
    assert error["path"] == ["bad"]
    assert error["extensions"]["code"] == "SPACE_NOT_FOUND"


async def test_an_answer_and_its_record_agree(api: Api, instant) -> None:
    await api.world.write(
        "refunds.md",
        ("# Refunds\n\nRefunds are authorised by tier one agents.", instant, instant + timedelta(days=1)),
        ("# Refunds\n\nRefunds are authorised by tier two agents.", instant + timedelta(days=1), None),
    )
    await api.world.settle()
    asked = {"query": "who authorises refunds", "spaceKey": "project", "asOf": "2026-03-01T12:00:00.123456Z"}
    answer = (
        await api.data(
            f"query ($i: RetrieveInput!) {{ retrieve(input: $i) {{ ...Answer }} }} {ANSWER}",
            {"i": {**asked, "topK": 10_000, "sessionId": "session-1"}},
            headers={"X-Muniment-Client": "agent/1.2.3"},
        )
    )["retrieve"]
    [passage] = answer["passages"]
    assert "tier one" in passage["text"]
    assert passage["validFrom"] == answer["contract"]["validAt"] == "2026-03-01T12:00:00.123456Z"
    assert passage["validTo"] == "2026-03-02T12:00:00.123456Z"
    assert passage["citation"]["headingPath"] == "Refunds"
    assert answer["contract"]["parameters"]["topK"] == 50
    assert answer["contract"]["requestId"] == answer["requestId"]
    assert answer["tokensTotal"] == passage["tokens"]
    assert {item["code"] for item in answer["limitations"]} >= {"SCOPE_APPLIED", "HISTORICAL_READ"}
    record = (
        await api.data("query ($id: ID!) { attribution(id: $id) { state record } }", {"id": answer["attributionId"]})
    )["attribution"]
    assert record["state"] == "QUEUED"
    assert record["record"]["client"] == {"id": "muniment-development", "name": "agent", "version": "1.2.3"}
    assert record["record"]["sessionId"] == "session-1"
    assert record["record"]["validAt"] == answer["contract"]["validAt"]
    assert record["record"]["knownAt"] == answer["contract"]["knownAt"]
    assert record["record"]["parameters"]["topK"] == 50
    assert "refunds" not in str(record["record"]).lower()


@pytest.mark.parametrize("header", ["X-Muniment-Space", "X-Keystone-Space"])
async def test_a_header_names_the_space_when_the_input_names_none(api: Api, instant, header: str) -> None:
    team = await api.world.add_space("team", Level.TEAM)
    source = await api.world.add_source("team-notes", team)
    await api.world.write("team.md", ("The team's own refunds policy.", instant, None), source=source)
    await api.world.settle()
    query = '{ retrieve(input: {query: "refunds policy"}) { passages { spaceKey } } }'
    for named in ("team", str(team)):
        data = await api.data(query, headers={header: named})
        assert [passage["spaceKey"] for passage in data["retrieve"]["passages"]] == ["team"]
    assert (await api.data(query))["retrieve"]["passages"] == []
    error = await api.error(query, headers={header: "nope"})
    assert error["extensions"]["code"] == "SPACE_NOT_FOUND"


async def test_administrators_only(api: Api) -> None:
    status = "{ status { searchBackend embeddings { configured model dimensions locality } queueDepth spaces } }"
    assert (await api.data(status))["status"]["embeddings"]["locality"] == "in_deployment"
    for query in (status, "{ verifyChain { verdict } }"):
        error = await api.error(query, token=token_of(api.world, "stranger"))
        assert error["extensions"]["code"] == "FORBIDDEN"


async def test_a_checked_chain_through_the_api(api: Api) -> None:
    for _ in range(3):
        await api.data('{ retrieve(input: {query: "x"}) { requestId } }')
    await api.world.parts.sequencer.turn(api.world.organisation)
    found = await api.data("{ verifyChain { verdict firstBadSequence checkedRecords reason } }")
    assert found["verifyChain"]["verdict"] == "VALID"
    assert found["verifyChain"]["firstBadSequence"] is None
    assert found["verifyChain"]["checkedRecords"] == 3
