"""R10 over the whole pipeline: a budget decides which optional stages run, never whether there is an answer."""

import asyncio

import pytest

from app.domain.contract import LimitationCode
from app.domain.errors import Code, MunimentError
from tests.fixtures.endpoint import answers, hangs, local_endpoint, says, scores
from tests.retrieval.optional import Clock, with_stages, without_stages

ASKED = "refunds tier"


def degraded(answer):
    return [(item.stage, item.reason) for item in answer.search.degraded_stages]


def account(answer):
    return answer.query, answer.passages, answer.memories, answer.exclusions, answer.tokens_total


@pytest.fixture
async def shelf(world):
    for number in range(4):
        await world.write(f"{number}.md", (f"Refunds of tier {number} {'and ' * number}", None, None))
    await world.settle()
    return world


@pytest.fixture
async def second():
    async with local_endpoint(scores(len)) as opened:
        yield opened


@pytest.mark.parametrize("budget", [0, 1])
async def test_with_no_time_nobody_is_called(shelf, endpoint, second, budget):
    plain = await without_stages(shelf).ask(ASKED)
    endpoint.does(says("another wording"))
    async with with_stages(shelf, chat=endpoint.url, rerank=second.url) as both:
        answer = await both.ask(ASKED, latency_budget_ms=budget)
    assert (endpoint.connections, second.connections) == (0, 0)
    assert account(answer) == account(plain)
    assert degraded(answer) == [("rewrite", "budget_exhausted"), ("rerank", "budget_exhausted")]
    for item in answer.search.degraded_stages:
        assert item.remaining_budget_ms == pytest.approx(budget - item.elapsed_ms)
    assert [item.count for item in answer.limitations if item.code is LimitationCode.DEGRADED] == [2]
    assert {"rewrite", "rerank"}.isdisjoint(answer.search.stage_timings)
    assert answer.contract.parameters.latency_budget_ms == budget


async def test_a_stage_that_is_not_set_up_is_not_missed(shelf):
    answer = await without_stages(shelf).ask(ASKED, latency_budget_ms=0)
    assert degraded(answer) == []
    assert answer.passages


async def test_with_time_enough_all_runs(shelf, endpoint, second):
    endpoint.does(says("tier refunds"))
    async with with_stages(shelf, chat=endpoint.url, rerank=second.url, clock=Clock()) as both:
        answer = await both.ask(ASKED, latency_budget_ms=1000)
    assert degraded(answer) == []
    assert (len(endpoint.calls), len(second.calls)) == (1, 1)


async def test_what_one_stage_takes_the_next_one_lacks(shelf, endpoint, second):
    clock = Clock()

    async def slowly(call, writer):
        clock.pass_ms(990)
        await says("tier refunds")(call, writer)

    endpoint.does(slowly)
    async with with_stages(shelf, chat=endpoint.url, rerank=second.url, clock=clock) as both:
        answer = await both.ask(ASKED, latency_budget_ms=1000)
    assert answer.contract.rewritten_query == "tier refunds"
    assert second.connections == 0
    (stage,) = answer.search.degraded_stages
    assert (stage.stage, stage.reason) == ("rerank", "budget_exhausted")
    assert stage.elapsed_ms == pytest.approx(990)
    assert stage.remaining_budget_ms == pytest.approx(10)


async def test_an_overdrawn_budget_is_told_as_it_is(shelf, endpoint, second):
    clock = Clock()

    async def slowly(call, writer):
        clock.pass_ms(1500)
        await answers({}, status=500)(call, writer)

    endpoint.does(slowly)
    async with with_stages(shelf, chat=endpoint.url, rerank=second.url, clock=clock) as both:
        answer = await both.ask(ASKED, latency_budget_ms=1000)
    assert degraded(answer) == [("rewrite", "http_5xx"), ("rerank", "budget_exhausted")]
    assert all(item.remaining_budget_ms < 0 for item in answer.search.degraded_stages)
    assert len(answer.passages) > 0


async def test_an_admitted_stage_gets_no_more_than_what_is_left(shelf, endpoint, second):
    """Their own timeouts are an hour each, and neither ever answers."""
    endpoint.does(hangs)
    second.does(hangs)
    async with with_stages(shelf, rerank=second.url) as reranked, asyncio.timeout(60):
        late = await reranked.ask(ASKED, latency_budget_ms=150)
    async with with_stages(shelf, chat=endpoint.url) as rewriting, asyncio.timeout(60):
        stopped = await rewriting.ask(ASKED, latency_budget_ms=150)
    assert len(second.calls) == 1
    assert (degraded(late), degraded(stopped)) == ([("rerank", "timeout")], [("rewrite", "timeout")])
    for answer in (late, stopped):
        assert answer.search.degraded_stages[0].remaining_budget_ms < 20
        assert len(answer.passages) > 0


async def test_a_negative_budget_is_refused(shelf):
    with pytest.raises(MunimentError) as refused:
        await shelf.ask(ASKED, latency_budget_ms=-1)
    assert (refused.value.code, refused.value.field) == (Code.BAD_USER_INPUT, "latencyBudgetMs")
