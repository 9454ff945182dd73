"""C3 on the real store: whatever was gathered is delivered or counted under one reason, and nothing else is."""

from hypothesis import HealthCheck, given
from hypothesis import settings as bounded
from hypothesis import strategies as st

from app.retrieval.authorise import authorise
from app.retrieval.budget import budget
from app.retrieval.cap import cap
from app.retrieval.deadline import Deadline
from app.retrieval.diversify import diversify
from app.retrieval.gather import gather
from app.retrieval.question import ask
from app.retrieval.rank import rank
from app.retrieval.request import make_request
from app.retrieval.timing import Stopwatch
from app.storage import passages
from tests.retrieval.shelves import Doc, libraries, make_shelf, moments, questions

#: Stages before anything is gathered: what they set aside was never a candidate.
BEFORE = {"authorise", "gather"}


async def stage_by_stage(world, options):
    """The ids that were gathered, and the selection after the last stage that drops any."""
    request = make_request(world.principal, **options)
    retriever = world.parts.retriever
    question = await ask(request.query, retriever.embedder, Stopwatch())
    async with world.parts.database.snapshot(world.organisation) as session:
        authorised = await authorise(session, request, retriever.level_weights)
        gathered = (await gather(session, authorised, question, retriever.analyser, Stopwatch())).selection
        ranked = rank(gathered)
        diverse = await diversify(
            session, authorised, ranked, question, request.parameters, Stopwatch(), Deadline(None)
        )
        capped = cap(diverse, request.parameters, ranked)
        texts = await passages.passages(session, authorised.scope, [item.id for item in capped.kept])
    return frozenset(item.id for item in gathered.kept), budget(capped, texts, request.parameters)[0]


@bounded(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(libraries, st.lists(st.tuples(questions, moments | st.none(), st.booleans()), min_size=4, max_size=6))
async def test_every_candidate_is_delivered_or_counted_once(parts, library, asked):
    shelf = await make_shelf(parts)
    half = None
    for number, (doc, timeline) in enumerate(library.items()):
        await shelf.write(doc, timeline)
        await shelf.world.settle()
        half = half if number > len(library) // 2 else await shelf.clock()
    for options, as_of, past in asked:
        clocks = {"as_of": as_of, "known_at": half if past else None}
        answer = await shelf.world.ask(**options, **clocks)
        counted = [item for item in answer.exclusions if item.stage not in BEFORE]
        assert all(item.count > 0 for item in counted)
        assert sum(item.count for item in counted) + len(answer.passages) == answer.search.candidates

        # All the store holds of it, since it holds less than a leg may name.
        known_at, valid_at = answer.contract.known_at, answer.contract.valid_at
        visible = shelf.visible(known_at, valid_at, options["space_key"], options.get("source_kinds"))
        expected = visible if options["query"].strip() else set()
        assert answer.search.candidates == len(expected)
        for item in answer.passages:
            doc = Doc(item.passage.external_id, item.space.key_path, item.source.kind)
            assert doc in expected
            assert item.passage.text == shelf.text_of(doc, known_at, valid_at)

        gathered, selection = await stage_by_stage(shelf.world, {**options, "as_of": valid_at, "known_at": known_at})
        assert selection.conserves(gathered)
        assert [item.id for item in selection.kept] == [item.candidate.id for item in answer.passages]
        assert len(gathered) == answer.search.candidates
