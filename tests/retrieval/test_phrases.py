"""Quoted words: a bonus within the text signal, and none when nothing is quoted."""

from dataclasses import replace

import pytest

from app.domain.scoring import normalise_text

WIDE = {"top_k": 50, "max_per_level": 50, "max_passages_per_document": 50, "token_budget": None}
TEXTS = {
    "scattered": "Agents of tier two authorise a refund; the second tier of refund agents may authorise two.",
    "phrase": "What was written, among many other words that have nothing at all to do with it: tier two agents.",
    "other": "Lunch is at noon for all agents.",
}


@pytest.fixture
async def shelf(world):
    for name, text in TEXTS.items():
        await world.write(f"{name}.txt", (text, None, None))
    await world.settle()
    return replace(world, parts=replace(world.parts, retriever=replace(world.parts.retriever, embedder=None)))


def names(answer):
    return [item.passage.external_id for item in answer.passages]


def signals(answer):
    return {item.passage.external_id: item.candidate.scores.text for item in answer.passages}


async def test_what_holds_the_quoted_words_comes_first(shelf):
    assert names(await shelf.ask("refund tier two agents"))[0] == "scattered.txt"
    quoted = await shelf.ask('refund "tier two agents"')
    assert names(quoted)[0] == "phrase.txt"
    assert all(0 < signal <= 1 for signal in signals(quoted).values())
    assert names(quoted) == names(await shelf.ask('refund "tier two agents"'))


async def test_where_nothing_is_quoted_the_signal_is_that_of_the_words(shelf):
    plain = await shelf.ask("refund tier two agents")
    for question in ('refund tier two agents"', 'refund "" tier two agents', "refund 'tier two' agents"):
        assert signals(await shelf.ask(question)) == signals(plain)
    for item in plain.passages:
        scores = item.candidate.scores
        assert item.candidate.score == pytest.approx(0.3 * scores.text * scores.level_weight, abs=0)


async def test_a_phrase_that_nothing_holds_orders_nothing(shelf):
    question = "refund agents tier"
    assert names(await shelf.ask(f'{question} "agents tier"')) == names(await shelf.ask(question))


async def test_two_phrases_count_more_than_one_and_never_more_than_all(shelf):
    await shelf.write("both.txt", ("Tier two agents, and lunch is at noon for them.", None, None))
    await shelf.settle()
    found = signals(await shelf.ask('"tier two agents" "lunch is at noon"', **WIDE))
    assert max(found, key=found.__getitem__) == "both.txt"
    assert max(found.values()) <= normalise_text(1.0, 1.0)


@pytest.mark.parametrize("mark", ['"{}"', "“{}”", "「{}」"])
async def test_scripts_without_spaces(shelf, mark):
    await shelf.write("near.txt", ("退款申请由二级客服批准。", None, None))
    await shelf.write("apart.txt", ("申请退款,批准退款。退款需要申请,客服批准。", None, None))
    await shelf.settle()
    found = signals(await shelf.ask(mark.format("二级客服批准")))
    assert max(found, key=found.__getitem__) == "near.txt"


async def test_titles_and_headings_hold_phrases_too(shelf):
    await shelf.write("page.md", ("# Gold plated handrails\n\nThe usual text.", None, None))
    await shelf.write("far.md", ("# Handrails\n\nGold is plated on handrails; plated gold handrails.", None, None))
    await shelf.settle()
    assert names(await shelf.ask('"gold plated handrails"'))[0] == "page.md"


async def test_quoted_words_that_say_nothing_match_nothing(shelf):
    answer = await shelf.ask('"the and of"')
    assert (answer.passages, answer.search.candidates) == ((), 0)


async def test_stop_words_choose_nothing_beside_a_word_with_a_meaning(shelf):
    """Every text holds a stop word of the question; only one holds what it is about."""
    answer = await shelf.ask("what is at noon for the zebra", **WIDE)
    assert names(answer) == ["other.txt"]
    assert (await shelf.ask("what is the zebra", **WIDE)).search.candidates == 0


async def test_both_legs_rank_as_the_formula_says(world, shelf):
    for item in (await world.ask('refund "tier two agents"', **WIDE)).passages:
        scores = item.candidate.scores
        expected = (0.7 * (scores.vector or 0.0) + 0.3 * (scores.text or 0.0)) * scores.level_weight
        assert item.candidate.score == pytest.approx(expected, abs=0)
