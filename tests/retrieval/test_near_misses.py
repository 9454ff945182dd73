"""What matched but is not in force: told when asked for, by document, and never of what is in the answer anyway."""

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, Phase, given
from hypothesis import settings as bounded
from hypothesis import strategies as st

from app.domain.principal import Permission
from app.domain.selection import Reason
from app.domain.temporal import Period
from app.domain.trace import NEAR_MISS
from app.retrieval.cache import SearchCache
from tests.retrieval.shelves import REACH, docs, libraries, make_shelf, moments, questions

START = datetime(2026, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)
NOW = START + 10 * DAY
#: Exclusions of what was never a candidate.
NEVER = {"authorise", "gather", NEAR_MISS}


def misses(answer):
    return {
        (item.type, item.provider, item.source_kind): item.count
        for item in answer.exclusions
        if item.stage == NEAR_MISS
    }


def by_words_alone(world):
    """Without an embedder, what does not match is no candidate."""
    retriever = replace(world.parts.retriever, embedder=None, cache=SearchCache(0))
    return replace(world, parts=replace(world.parts, retriever=retriever))


async def look(world, query="refund", **options):
    return await world.ask(query, as_of=options.pop("as_of", NOW), near_misses=True, **options)


@pytest.mark.parametrize(
    ("start", "end", "reason"),
    [
        (NOW + DAY, None, Reason.NOT_YET_VALID),
        (NOW + DAY, NOW + 2 * DAY, Reason.NOT_YET_VALID),
        (NOW + timedelta(microseconds=1), None, Reason.NOT_YET_VALID),
        (START, NOW, Reason.EXPIRED),
        (None, START, Reason.EXPIRED),
        (START, NOW + DAY, None),
        (NOW, None, None),
        (None, None, None),
    ],
)
async def test_before_and_after_the_period(world, start, end, reason):
    await world.write("a.md", ("refund by tier two", start, end))
    await world.write("b.md", ("something else", None, None))
    await world.settle()
    answer = await look(world)
    assert misses(answer) == ({(reason, "filesystem", "docs"): 1} if reason else {})
    for item in answer.exclusions:
        if item.stage == NEAR_MISS:
            assert item.reason


async def test_only_when_it_is_asked_for(world):
    await world.write("a.md", ("refund", START, START + DAY))
    await world.settle()
    assert misses(await look(world))
    assert not misses(await world.ask("refund", as_of=NOW))
    assert not misses(await look(world, query=None))
    assert not misses(await look(world, query="?!"))
    assert not misses(await look(world, query="invoice"))


async def test_documents_are_counted_once_by_their_best_match(world):
    """Three old revisions of one document, two documents more, in two sources."""
    revisions = [(f"refund rule {n}", START + n * DAY, START + (n + 1) * DAY) for n in range(3)]
    await world.write("a.md", *revisions)
    await world.write("b.md", ("refund refund refund", NOW + DAY, None), ("refund among many other words", START, NOW))
    issues = await world.add_source("issues", kind="issues")
    await world.write("c.md", ("refund", START, NOW), source=issues)
    await world.settle()
    assert misses(await look(world)) == {
        (Reason.EXPIRED, "filesystem", "docs"): 1,
        (Reason.NOT_YET_VALID, "filesystem", "docs"): 1,
        (Reason.EXPIRED, "filesystem", "issues"): 1,
    }
    assert misses(await look(world, source_kinds=["docs"])) == {
        (Reason.EXPIRED, "filesystem", "docs"): 1,
        (Reason.NOT_YET_VALID, "filesystem", "docs"): 1,
    }


async def test_a_document_that_is_a_candidate_is_no_near_miss(world):
    """Every edited document would be one."""
    await world.write("a.md", ("refund by tier one", START, START + DAY), ("refund by tier two", START + DAY, None))
    await world.write("b.md", ("refund by tier three", None, None))
    await world.write("b.md", ("refund by tier four", None, None))
    await world.settle()
    answer = await look(world, top_k=1)
    assert len(answer.passages) == 1
    assert misses(answer) == {}


async def test_superseded(world):
    """It said so, and by now says something that does not match."""
    world = by_words_alone(world)
    await world.write("a.md", ("refund by tier two", None, None))
    before = (await world.ask("refund")).contract.known_at
    await world.write("a.md", ("invoices by tier two", None, None))
    assert misses(await look(world)) == {(Reason.SUPERSEDED, "filesystem", "docs"): 1}
    # Then it had not been given up yet.
    answer = await look(world, known_at=before)
    assert len(answer.passages) == 1
    assert misses(answer) == {}


async def test_a_text_that_only_got_another_period_is_not_superseded(world):
    """Its row was closed and copied; the document says what it said."""
    world = by_words_alone(world)
    await world.write("a.md", ("refund by tier two", None, None))
    await world.write("a.md", ("refund by tier two", START, NOW))
    assert misses(await look(world)) == {(Reason.EXPIRED, "filesystem", "docs"): 1}


async def test_what_was_deleted_whole_is_not_told_of(world):
    await world.write("a.md", ("refund by tier two", None, None))
    await world.settle()
    await world.write("a.md")
    answer = await look(world)
    assert answer.passages == ()
    assert misses(answer) == {}


async def test_nothing_that_was_stamped_later(world):
    """Known then: nothing. Known since: that it would begin, and that it had ended."""
    await world.write("z.md", ("nothing of it", None, None))
    await world.settle()
    early = (await world.ask("refund")).contract.known_at
    await world.write("a.md", ("refund", NOW + DAY, None))
    await world.write("b.md", ("refund", START, START + DAY))
    await world.settle()
    assert misses(await look(world, known_at=early)) == {}
    later = await look(world)
    assert sum(misses(later).values()) == 2
    # What is known of it changes again; the old reading stays as it was.
    await world.write("a.md")
    await world.write("b.md", ("quite other words", START, START + DAY))
    await world.settle()
    again = await look(world, known_at=later.contract.known_at)
    assert misses(again) == misses(later)


async def test_nothing_of_spaces_that_the_caller_may_not_search(world):
    """And nothing of what a filter by tag sets aside."""
    secret = await world.add_source("secret", world.root)
    await world.write("a.md", ("refund", START, START + DAY), source=secret)
    await world.settle()
    outsider = await world.add_person("outsider", (world.project, Permission.SEARCH))
    assert misses(await look(world)) == {(Reason.EXPIRED, "filesystem", "docs"): 1}
    assert misses(await look(world, by=outsider)) == {}
    assert misses(await look(world, tags=["gold"])) == {}


async def test_a_word_that_is_everywhere_chooses_nothing(world, monkeypatch):
    await world.write("a.md", ("refund", START, START + DAY))
    await world.write("b.md", ("\n\n".join(f"# {n}\n\nrefund {n}" for n in range(30)), None, None))
    await world.settle()
    assert misses(await look(world))
    monkeypatch.setattr("app.retrieval.near_misses.MOST_HELD", 20)
    assert not misses(await look(world, as_of=NOW + DAY))


# The whole account


def expected(shelf, answer, query, place, kinds):
    """By the plain model: documents out of force with a belief that holds one of the words."""
    known_at, valid_at = answer.contract.known_at, answer.contract.valid_at
    believed = [belief for clock, belief in shelf.beliefs if clock <= known_at]
    current = believed[-1] if believed else {}
    words = set(query.split())
    found = Counter()
    for doc, timeline in current.items():
        if doc.place not in REACH[place] or (kinds is not None and doc.kind not in kinds):
            continue
        holds = any(Period(start, end).contains(valid_at) for _, start, end in timeline)
        if holds:
            continue  # in so small a store the vector leg names it
        if any(words & set(said.split()) for said, _, _ in timeline):
            found[doc.kind] += 1
    return found


@bounded(
    phases=[Phase.generate],
    max_examples=10,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(
    libraries,
    st.dictionaries(docs, st.just([("refund tier", START + DAY, START + 2 * DAY)]), max_size=2),
    st.lists(st.tuples(questions, moments | st.none(), st.booleans()), min_size=3, max_size=5),
)
async def test_every_candidate_is_accounted_for_beside_the_near_misses(parts, library, extra, asked):
    shelf = await make_shelf(parts)
    half = None
    for number, (doc, timeline) in enumerate([*library.items(), *extra.items()]):
        await shelf.write(doc, timeline)
        await shelf.world.settle()
        half = half if number > len(library) // 2 else await shelf.clock()
    for options, as_of, past in asked:
        answer = await shelf.world.ask(**options, as_of=as_of, known_at=half if past else None, near_misses=True)
        plain = await shelf.world.ask(**options, as_of=answer.contract.valid_at, known_at=answer.contract.known_at)
        counted = [item for item in answer.exclusions if item.stage not in NEVER]
        assert sum(item.count for item in counted) + len(answer.passages) == answer.search.candidates
        assert answer.search.candidates == plain.search.candidates
        assert [item.candidate for item in answer.passages] == [item.candidate for item in plain.passages]
        assert [item for item in answer.exclusions if item.stage != NEAR_MISS] == list(plain.exclusions)

        missed = Counter()
        for item in answer.exclusions:
            if item.stage == NEAR_MISS:
                assert item.count > 0
                assert item.type in (Reason.NOT_YET_VALID, Reason.EXPIRED, Reason.SUPERSEDED)
                missed[item.source_kind] += item.count
        if options["query"] not in ("?!", " ", "nothing of it", "the"):
            content = " ".join(word for word in options["query"].split() if word != "the")
            assert missed == expected(shelf, answer, content, options["space_key"], options.get("source_kinds"))
