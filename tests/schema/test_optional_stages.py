"""The optional stages from settings to the answer's fields: set up, asked with their keys, told of, closed."""

import json
from dataclasses import replace

import pytest
from pydantic import ValidationError

from app.assembly.services import services
from app.settings import Settings
from tests.fixtures.endpoint import answers, local_endpoint, says, scores
from tests.schema.conftest import Api, connect

ASK = """
query ($budget: Int) {
  retrieve(input: {query: "money back", spaceKey: "project", latencyBudgetMs: $budget}) {
    query
    contract { rewrittenQuery parameters { latencyBudgetMs } }
    passages { score scores { rerank } citation { externalId } }
    limitations { code count message }
    searchMeta {
      stageTimings { rewriteMs rerankMs totalMs }
      degradedStages { stage reason elapsedMs remainingBudgetMs }
    }
  }
}
"""
STATUS = "{ status { rewriting { configured model locality } reranking { configured model locality } } }"


@pytest.fixture
async def second():
    async with local_endpoint(scores(len)) as opened:
        yield opened


@pytest.fixture
async def both(world, settings, installation, endpoint, second):
    """The API of a process with both endpoints set."""
    for number in range(3):
        await world.write(f"{number}.md", (f"refunds {'and ' * number}", None, None))
    await world.settle()
    with_both = settings.model_copy(
        update=Settings(
            rewrite_url=endpoint.url,
            rewrite_model="writer",
            rewrite_api_key="key-of-the-writer",
            rerank_url=second.url,
            rerank_model="cross",
            rerank_api_key="key-of-the-reranker",
            rerank_candidates=2,
        ).model_dump(exclude_unset=True)
    )
    async with (
        services(with_both, installation) as parts,
        connect(parts) as http,
    ):
        yield Api(replace(world, parts=parts), http)


async def test_what_they_did_is_in_the_answer(both, endpoint, second):
    endpoint.does(says("refunds"))
    found = (await both.data(ASK))["retrieve"]
    assert (found["query"], found["contract"]["rewrittenQuery"]) == ("money back", "refunds")
    assert sorted(item["scores"]["rerank"] is None for item in found["passages"]) == [False, False, True]
    meta = found["searchMeta"]
    assert meta["degradedStages"] == []
    assert meta["stageTimings"]["rewriteMs"] > 0
    assert meta["stageTimings"]["rerankMs"] > 0
    assert endpoint.calls[0].headers["authorization"] == "Bearer key-of-the-writer"
    assert second.calls[0].headers["authorization"] == "Bearer key-of-the-reranker"
    assert (endpoint.calls[0].json["model"], second.calls[0].json["model"]) == ("writer", "cross")


async def test_what_they_did_not_do_is_in_the_answer(both, endpoint, second):
    endpoint.does(answers({"error": {"message": "secret of the endpoint"}}, status=500))
    second.does(answers({"detail": "secret of the endpoint"}, status=422))
    found = (await both.data(ASK, {"budget": None}))["retrieve"]
    assert [(item["stage"], item["reason"]) for item in found["searchMeta"]["degradedStages"]] == [
        ("rewrite", "http_5xx"),
        ("rerank", "http_4xx"),
    ]
    assert all(item["remainingBudgetMs"] is None for item in found["searchMeta"]["degradedStages"])
    assert [item["count"] for item in found["limitations"] if item["code"] == "DEGRADED"] == [2]
    assert found["contract"]["rewrittenQuery"] is None
    assert "secret" not in json.dumps(found)


async def test_a_budget_of_nothing_is_an_answer_without_them(both, endpoint, second):
    found = (await both.data(ASK, {"budget": 0}))["retrieve"]
    assert found["contract"]["parameters"]["latencyBudgetMs"] == 0
    timings = found["searchMeta"]["stageTimings"]
    assert (timings["rewriteMs"], timings["rerankMs"]) == (None, None)
    for item in found["searchMeta"]["degradedStages"]:
        assert item["reason"] == "budget_exhausted"
        assert item["remainingBudgetMs"] <= 0 <= item["elapsedMs"]
    assert (endpoint.connections, second.connections) == (0, 0)


async def test_a_negative_budget_names_its_field(both):
    error = await both.error(ASK, {"budget": -1})
    assert (error["extensions"]["code"], error["extensions"]["field"]) == ("BAD_USER_INPUT", "latencyBudgetMs")


async def test_administrators_see_where_texts_go_and_no_address(both, api, endpoint, second):
    told = await both.data(STATUS)
    assert told["status"] == {
        "rewriting": {"configured": True, "model": "writer", "locality": "in_deployment"},
        "reranking": {"configured": True, "model": "cross", "locality": "in_deployment"},
    }
    nothing = {"configured": False, "model": None, "locality": "none"}
    assert (await api.data(STATUS))["status"] == {"rewriting": nothing, "reranking": nothing}


async def test_the_clients_end_with_the_process(settings, installation, endpoint):
    endpoint.does(says("fine"))
    changed = {"rewrite_url": endpoint.url, "rewrite_model": "writer", "rerank_url": endpoint.url}
    async with services(settings.model_copy(update=changed), installation) as parts:
        chat = parts.retriever.rewriter.chat
        reranker = parts.retriever.reranking.reranker
        assert await chat.complete("", "", most_tokens=1, seconds=30.0) == "fine"
    for call in (
        chat.complete("", "", most_tokens=1, seconds=30.0),
        reranker.scores("", [""], 30.0),
    ):
        with pytest.raises(RuntimeError, match="closed"):
            await call


@pytest.mark.parametrize(
    ("options", "locality"),
    [
        ({}, "external"),
        ({"embeddings_internal_hosts": "one.example, Models.Example"}, "in_deployment"),
        ({"embeddings_internal_hosts": "example"}, "external"),
        ({"embeddings_external": False}, "in_deployment"),
    ],
)
async def test_an_endpoint_is_where_the_settings_say(settings, installation, options, locality):
    changed = {"rerank_url": "https://models.example/v1", **options}
    async with services(settings.model_copy(update=changed), installation) as parts:
        assert parts.retriever.reranking.reranker.locality == locality


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"rerank_url": "ftp://models.example"}, "rerank_url"),
        ({"rewrite_url": "http://user:hunter2@models.example", "rewrite_model": "m"}, "rewrite_url"),
        ({"rewrite_url": "http://models.example/"}, "rewrite_model"),
        ({"rerank_candidates": 0}, "rerank_candidates"),
        ({"rewrite_timeout_ms": 0}, "rewrite_timeout_ms"),
    ],
)
def test_a_setting_that_cannot_be_meant_is_named(options, field):
    with pytest.raises(ValidationError) as refused:
        Settings(**options)
    (error,) = refused.value.errors(include_input=False)
    assert error["loc"] == (field,)
    assert "hunter2" not in error["msg"]


def test_a_key_is_in_no_text_of_the_settings():
    settings = Settings(rewrite_api_key="hunter2", rerank_api_key="hunter3")
    assert "hunter" not in f"{settings!r} {settings} {settings.model_dump()}"
