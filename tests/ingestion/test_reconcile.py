"""The plan applied to rows in memory must give the slices of the content that holds, at every valid instant."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.document import DocumentFacts, Place, SliceFacts, slice_identity
from app.domain.temporal import Period, Portion, Row, assert_fact, at, coalesce, retract
from app.ingestion.reconcile import changed, contents_needed, cut_of, plan

START = datetime(2026, 1, 1, tzinfo=UTC)
TICK = timedelta(microseconds=1)
DAYS = 8


def day(number):
    return None if number is None else START + timedelta(days=number)


#: Every place where an answer may change, and a microsecond to each side of it.
INSTANTS = sorted(day(number) + shift for number in range(DAYS + 1) for shift in (-TICK, timedelta(), TICK))

#: Contents are words; each word is a slice. Equal words of one content are told apart by their number.
Words = tuple[str, ...]


def facts_of(words: Words, title: str) -> DocumentFacts:
    return DocumentFacts(" ".join(words).encode(), "page.md", title, "text/markdown")


def slices_of(words: Words, title: str) -> tuple[SliceFacts, ...]:
    found = []
    for number, word in enumerate(words):
        identity = slice_identity(title, Place(), word.encode(), words[:number].count(word))
        found.append(SliceFacts(identity, word, word.encode(), 1, number, number, number + 1, Place(), {}))
    return tuple(found)


def cuts(timeline):
    """The slices of every content of a timeline, by the content."""
    return {
        cut_of(portion.value): slices_of(tuple(portion.value.content_sha256.decode().split()), portion.value.title)
        for portion in timeline
    }


@dataclass
class Store:
    """Rows of one document as a store keeps them: what is believed, and what each row copied its embedding from."""

    versions: list[Row] = field(default_factory=list)
    chunks: list[Row] = field(default_factory=list)
    embedded: int = 0

    @property
    def timeline(self):
        return tuple(row.portion for row in sorted(self.versions, key=lambda row: row.portion.period._first))

    def move(self, after):
        """Apply the plan to `after`, given only the contents that it asked for."""
        needed = contents_needed(self.timeline, after)
        given_slices = {cut: slices for cut, slices in cuts(after).items() if cut in needed}
        change = plan(tuple(self.versions), tuple(self.chunks), after, given_slices)
        believed = {row.key for row in self.versions} | {row.key for row in self.chunks}
        assert {*change.close_versions, *change.close_chunks} <= believed, "only what is believed is closed"
        identities = {row.key: row.portion.value for row in self.chunks}
        new = [Row(uuid4(), Portion(item.period, identities[item.chunk_id])) for item in change.derive]
        new += [Row(uuid4(), Portion(item.period, item.slice.identity)) for item in change.create]
        self.embedded += len(change.create)
        self.versions = [row for row in self.versions if row.key not in change.close_versions]
        self.versions += [Row(uuid4(), portion) for portion in change.insert_versions]
        self.chunks = [row for row in self.chunks if row.key not in change.close_chunks] + new
        return change

    def slices(self, instant):
        return sorted(row.portion.value for row in self.chunks if row.portion.period.contains(instant))


def truth(timeline, instant):
    portion = at(timeline, instant)
    if portion is None:
        return []
    return sorted(item.identity for item in cuts((portion,))[cut_of(portion.value)])


def assert_true(store, timeline):
    assert store.timeline == timeline
    for instant in INSTANTS:
        assert store.slices(instant) == truth(timeline, instant)


WORDS = st.lists(st.sampled_from("abcde"), min_size=1, max_size=5).map(tuple)
TITLES = st.sampled_from(["One", "Two"])
FACTS = st.builds(facts_of, WORDS, TITLES)
BOUNDS = st.tuples(st.integers(0, DAYS - 1), st.integers(1, DAYS), st.booleans(), st.booleans())


def period(bounds):
    first, length, open_start, open_end = bounds
    return Period(None if open_start else day(first), None if open_end else day(min(first + length, DAYS + 1)))


ASSERTED = st.tuples(BOUNDS.map(period), FACTS)
RETRACTED = st.tuples(BOUNDS.map(period), st.none())


@st.composite
def histories(draw):
    """A whole timeline as a source may tell it: disjoint periods in order, with gaps."""
    edges = sorted(draw(st.sets(st.integers(0, DAYS), min_size=1, max_size=5)))
    portions = []
    for first, last in zip(edges, [*edges[1:], None], strict=True):
        if draw(st.integers(0, 3)):
            portions.append(Portion(Period(day(first), day(last)), draw(FACTS)))
    return coalesce(tuple(portions))


STEPS = st.lists(st.one_of(ASSERTED, ASSERTED, RETRACTED, histories()), min_size=1, max_size=7)


def stepped(timeline, step):
    match step:
        case (Period() as when, None):
            return retract(timeline, when)
        case (Period() as when, DocumentFacts() as facts):
            return assert_fact(timeline, when, facts)
    return step


@settings(max_examples=300, deadline=None)
@given(STEPS)
def test_after_any_steps_each_instant_holds_the_slices_of_its_content(steps):
    store, timeline = Store(), ()
    for step in steps:
        before = {row.key: row.portion for row in store.chunks}
        earlier, timeline = timeline, stepped(timeline, step)
        change = store.move(timeline)
        assert_true(store, timeline)
        after = {row.key: row.portion for row in store.chunks}
        # A row that is needed as it is keeps its id: what was closed is not opened again under another.
        closed = [portion for key, portion in before.items() if key not in after]
        opened = [portion for key, portion in after.items() if key not in before]
        assert not [portion for portion in closed if portion in opened]
        if earlier == timeline:
            assert change.empty


@settings(max_examples=150, deadline=None)
@given(STEPS)
def test_twice_is_nothing(steps):
    store, timeline = Store(), ()
    for step in steps:
        timeline = stepped(timeline, step)
        store.move(timeline)
        assert contents_needed(store.timeline, timeline) == frozenset()
        assert plan(tuple(store.versions), tuple(store.chunks), timeline, {}).empty


@settings(max_examples=150, deadline=None)
@given(STEPS)
def test_a_text_that_is_believed_somewhere_is_never_cut_again(steps):
    """Its row is copied, and with it its embedding."""
    store, timeline = Store(), ()
    for step in steps:
        believed = {row.portion.value for row in store.chunks}
        timeline = stepped(timeline, step)
        change = store.move(timeline)
        assert not believed & {item.slice.identity for item in change.create}


@settings(max_examples=150, deadline=None)
@given(histories(), histories())
def test_only_what_changed_is_asked_for(before, after):
    windows = changed(before, after)
    for instant in INSTANTS:
        old, new = at(before, instant), at(after, instant)
        differs = (old.value if old else None) != (new.value if new else None)
        assert any(window.contains(instant) for window in windows) == differs
        if differs and new:
            assert cut_of(new.value) in contents_needed(before, after)
    if before == after:
        assert contents_needed(before, after) == frozenset()


def rows_by_word(store) -> dict[bytes, UUID]:
    return {row.portion.value: row.key for row in store.chunks}


def test_a_change_in_the_middle_of_history_touches_only_what_differs():
    one, two, three = facts_of(("a", "b"), "T"), facts_of(("a", "c"), "T"), facts_of(("a", "d"), "T")
    store = Store()
    store.move((Portion(Period(day(0), day(2)), one), Portion(Period(day(2), None), three)))
    whole = rows_by_word(store)
    change = store.move(
        (
            Portion(Period(day(0), day(1)), one),
            Portion(Period(day(1), day(2)), two),
            Portion(Period(day(2), None), three),
        )
    )
    a, b, d = (slices_of((word,), "T")[0].identity for word in "abd")
    assert change.close_chunks == (whole[b],)
    assert [item.period for item in change.derive] == [Period(day(0), day(1))]
    assert [item.slice.text for item in change.create] == ["c"]
    now = rows_by_word(store)
    assert (now[a], now[d]) == (whole[a], whole[d])


def test_a_text_that_leaves_and_comes_back_is_copied():
    page = facts_of(("a", "a", "b"), "T")
    store = Store()
    store.move((Portion(Period(day(0), day(1)), page),))
    assert store.embedded == 3, "equal slices of one content are both kept"
    before = dict(rows_by_word(store))
    change = store.move((Portion(Period(day(0), day(1)), page), Portion(Period(day(2), None), page)))
    assert store.embedded == 3
    assert {item.chunk_id for item in change.derive} == set(before.values())
    assert {item.period for item in change.derive} == {Period(day(2), None)}
    assert change.close_chunks == ()


def test_a_new_title_cuts_every_slice_anew():
    """The title is part of what search sees of a slice."""
    words = ("a", "b")
    store = Store()
    store.move((Portion(Period(day(0), None), facts_of(words, "Old")),))
    change = store.move(
        (
            Portion(Period(day(0), day(3)), facts_of(words, "Old")),
            Portion(Period(day(3), None), facts_of(words, "New")),
        )
    )
    assert [item.slice.text for item in change.create] == ["a", "b"]
    assert [item.period for item in change.derive] == [Period(day(0), day(3))] * 2
