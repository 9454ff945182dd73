"""Which permitted sources are searched, and what is told of the others."""

from dataclasses import replace
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import text

from app.domain.principal import Principal, Source
from app.domain.selection import Reason
from app.ingestion.sources import Provider, ensure_source
from app.retrieval.admit import KEEPS_ACCESS_POLICIES, admit
from app.retrieval.request import SOURCE_KINDS, make_request

SOMEBODY = Principal(UUID(int=1), UUID(int=2), "somebody")
PROVIDERS = ["filesystem", "git", "notion", "slack"]


def source(number, provider="filesystem", kind="docs", policy=None):
    return Source(UUID(int=number), UUID(int=9), kind, provider, "a source", "internal", "english", 1, policy, None)


sources = st.lists(
    st.tuples(
        st.sampled_from(PROVIDERS), st.sampled_from(["docs", "issues"]), st.sampled_from([None, {"mode": "all"}])
    ),
    max_size=8,
).map(lambda rows: {UUID(int=number): source(number, *row) for number, row in enumerate(rows, 1)})
filters = st.none() | st.lists(st.sampled_from(PROVIDERS), max_size=3)


@given(sources, filters, st.none() | st.lists(st.sampled_from(sorted(SOURCE_KINDS)), max_size=2), filters)
def test_every_source_is_searched_or_told_of(permitted, providers, kinds, allowed):
    principal = replace(SOMEBODY, allowed_providers=None if allowed is None else frozenset(allowed))
    parameters = make_request(principal, query="x", providers=providers, source_kinds=kinds).parameters
    searched, told = admit(permitted, principal, parameters)
    barred = {item.provider for item in permitted.values() if allowed is not None and item.provider not in allowed}
    assert {item.provider for item in told if item.type is Reason.PROVIDER_SCOPE} == barred
    assert all(item.count is None for item in told if item.type is Reason.PROVIDER_SCOPE)
    counted = sum(item.count for item in told if item.type is not Reason.PROVIDER_SCOPE)
    assert len(searched) + counted + sum(item.provider in barred for item in permitted.values()) == len(permitted)
    for item in searched.values():
        assert item.provider not in barred
        assert providers is None or item.provider in providers
        assert kinds is None or item.kind in kinds
        assert item.access_policy is not None or item.provider not in KEEPS_ACCESS_POLICIES


async def test_a_provider_that_the_credential_does_not_admit_is_named_and_never_served(world):
    await world.write("notes.txt", ("Refunds are authorised by tier two.", None, None))
    await world.settle()
    assert (await world.ask("refunds")).passages
    answer = await world.ask("refunds", by=replace(world.principal, allowed_providers=frozenset({"git"})))
    assert not answer.passages
    assert [(item.type, item.provider, item.count) for item in answer.exclusions] == [
        (Reason.PROVIDER_SCOPE, "filesystem", None)
    ]
    assert {"PROVIDER_SCOPE_APPLIED", "NO_CONTEXT"} <= {item.code for item in answer.limitations}


async def test_what_an_earlier_index_version_left_is_set_aside_and_counted(world):
    for number in range(3):
        await world.write(f"note-{number}.txt", (f"Refunds follow rule {number}.", None, None))
    await world.settle()
    before = await world.ask("refunds rule")
    async with world.parts.database.write(world.organisation) as session:
        await session.run(
            text("UPDATE sources SET index_version = 2 WHERE organisation_id = :organisation"),
            {"organisation": world.organisation},
        )
    await world.write(
        "note-3.txt", ("Refunds follow rule 3.", None, None), source=replace(world.source, index_version=2)
    )
    await world.settle()
    answer = await world.ask("refunds rule")
    assert len(before.passages) == 3
    assert [item.passage.text for item in answer.passages] == ["Refunds follow rule 3."]
    assert [(item.type, item.stage, item.count) for item in answer.exclusions] == [(Reason.STALE_INDEX, "index", 3)]
    assert answer.search.candidates == 4


async def test_a_score_does_not_betray_the_words_of_a_source_that_is_barred(world):
    git = await ensure_source(
        world.parts.database, world.organisation, world.project, Provider.GIT, name="code", kind="codebase"
    )
    for number in range(12):
        await world.write(f"note-{number}.txt", (f"The kraken sleeps, case {number}.", None, None))
        await world.write(
            f"plan-{number}.txt", (f"Project bluebird, the acquisition, part {number}.", None, None), source=git
        )
    await world.settle()
    barred = replace(world.principal, allowed_providers=frozenset({"filesystem"}))

    async def signal(query, by):
        return {item.candidate.scores.text for item in (await world.ask(query, by=by)).passages if item.source != git}

    assert await signal("kraken bluebird", barred) == await signal("kraken nonexistentword", barred)
    assert await signal("kraken bluebird", world.principal) != await signal("kraken nonexistentword", world.principal)
