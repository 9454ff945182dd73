"""The whole pipeline on a real store."""

from datetime import timedelta

from app.retrieval.request import make_request


async def ask(world, query, **options):
    return await world.parts.retriever.retrieve(
        make_request(world.principal, query=query, space_key="project", **options)
    )


async def test_a_question_at_two_moments(world, instant):
    later = instant + timedelta(days=1)
    await world.write(
        "refunds.md",
        ("# Refunds\n\nRefunds are authorised by tier one agents.", instant, later),
        ("# Refunds\n\nRefunds are authorised by tier two agents.", later, None),
    )
    await world.settle()
    now = await ask(world, "who authorises refunds")
    before = await ask(world, "who authorises refunds", as_of=later - timedelta(microseconds=1))
    at = await ask(world, "who authorises refunds", as_of=later)
    earlier = await ask(world, "who authorises refunds", as_of=instant - timedelta(microseconds=1))
    assert ["tier two" in item.passage.text for item in now.passages] == [True]
    assert ["tier one" in item.passage.text for item in before.passages] == [True]
    assert ["tier two" in item.passage.text for item in at.passages] == [True]
    assert earlier.passages == ()
