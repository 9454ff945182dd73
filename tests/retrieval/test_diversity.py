"""R5 and the same text twice, on the real store."""

from app.domain.selection import Reason

LIKE = [f"refunds are authorised by tier two agents, clause {number}" for number in range(4)]
OTHER = "agents of tier two also answer the telephone at night"
QUESTION = "refunds authorised by tier two agents"


async def shelf(world):
    for number, text in enumerate([*LIKE, OTHER]):
        await world.write(f"rule{number}.txt", (text, None, None))
    await world.settle()


def texts(answer):
    return [item.passage.text for item in answer.passages]


def reasons(answer):
    return {item.type for item in answer.exclusions if item.stage == "cap"}


async def test_a_relevance_of_one_is_the_order_without(world):
    await shelf(world)
    plain = await world.ask(query=QUESTION, top_k=3)
    same = await world.ask(query=QUESTION, top_k=3, mmr_lambda=1.0)
    assert texts(plain) == texts(same)
    assert Reason.DIVERSITY not in reasons(plain) | reasons(same)


async def test_what_says_much_the_same_gives_way_and_is_counted(world):
    await shelf(world)
    plain = await world.ask(query=QUESTION, top_k=2)
    diverse = await world.ask(query=QUESTION, top_k=2, mmr_lambda=0.2)
    assert OTHER not in texts(plain)
    assert texts(diverse) == [texts(plain)[0], OTHER]
    assert [item.count for item in diverse.exclusions if item.type is Reason.DIVERSITY] == [1]
    assert "mmr" in diverse.search.stage_timings
    assert "mmr" not in plain.search.stage_timings
    assert diverse.contract.parameters.mmr_lambda == 0.2
    again = await world.ask(query=QUESTION, top_k=2, mmr_lambda=0.2)
    assert texts(again) == texts(diverse)


async def test_a_past_answer_is_diversified_by_the_vectors_of_its_time(world):
    await shelf(world)
    before = await world.ask(query=QUESTION, top_k=3, mmr_lambda=0.2)
    await world.write("rule4.txt", ("refunds are authorised by nobody", None, None))
    await world.settle()
    then = await world.ask(
        query=QUESTION,
        top_k=3,
        mmr_lambda=0.2,
        as_of=before.contract.valid_at,
        known_at=before.contract.known_at,
    )
    assert texts(then) == texts(before)
    assert [item.candidate.score for item in then.passages] == [item.candidate.score for item in before.passages]


async def test_the_same_text_in_two_documents_is_given_once_and_counted(world):
    for name in ("one.txt", "two.txt", "three.txt"):
        await world.write(name, (LIKE[0], None, None))
    await world.settle()
    answer = await world.ask(query=QUESTION)
    assert texts(answer) == [LIKE[0]]
    assert [(item.type, item.count) for item in answer.exclusions] == [(Reason.DUPLICATE, 2)]
