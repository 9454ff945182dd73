"""Random small stores with the plain account of what is in them, and random questions."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from uuid import UUID

from hypothesis import strategies as st
from sqlalchemy import text

from app.assembly.services import Services
from app.domain.budget import BudgetStrategy
from app.domain.principal import Level
from app.domain.temporal import Period
from tests.fixtures.store import World, make_world

START = datetime(2026, 1, 1, tzinfo=UTC)
WORDS = ["refund", "agent", "tier", "region", "rule", "invoice", "the", "café", "部署"]
KINDS = ["docs", "issues", "codebase"]
#: Each space with itself and its ancestors.
REACH = {
    "/": {"/"},
    "project": {"/", "project"},
    "project/part": {"/", "project", "project/part"},
    "beside": {"/", "beside"},
}

Revision = tuple[str, datetime | None, datetime | None]

texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=12).map(" ".join)
moments = st.integers(0, 20).map(lambda days: START + timedelta(days=days))


@st.composite
def timelines(draw: st.DrawFn) -> list[Revision]:
    """Revisions that do not overlap, in order: with open ends or none, gaps, or nothing at all."""
    cuts = draw(st.lists(moments, min_size=1, max_size=4, unique=True).map(sorted))
    starts: list[datetime | None] = [*cuts]
    ends: list[datetime | None] = [*cuts[1:], None]
    if draw(st.booleans()):
        starts, ends = [None, *starts], [cuts[0], *ends]
    revisions = [(draw(texts), start, end) for start, end in zip(starts, ends, strict=True)]
    return [revision for revision in revisions if draw(st.integers(0, 3))]


@dataclass(frozen=True)
class Doc:
    name: str
    place: str
    kind: str


docs = st.builds(
    Doc,
    st.sampled_from([f"d{number}.txt" for number in range(4)]),
    st.sampled_from(list(REACH)),
    st.sampled_from(KINDS),
)
libraries = st.dictionaries(docs, timelines(), max_size=9)

questions = st.fixed_dictionaries(
    {"query": texts | st.sampled_from(["?!", " ", "nothing of it", "the"]), "space_key": st.sampled_from(list(REACH))},
    optional={
        "source_kinds": st.lists(st.sampled_from(KINDS), max_size=2),
        "top_k": st.integers(0, 12),
        "max_per_level": st.integers(0, 6),
        "max_passages_per_document": st.integers(0, 3),
        "min_score": st.floats(0, 0.5),
        "mmr_lambda": st.floats(0, 1),
        "token_budget": st.none() | st.integers(0, 60),
        "budget_strategy": st.sampled_from(BudgetStrategy),
    },
)

Belief = dict[Doc, list[Revision]]


@dataclass
class Shelf:
    """A store and, for each value of its clock, what it then believed."""

    world: World
    spaces: dict[str, UUID]
    beliefs: list[tuple[datetime, Belief]] = field(default_factory=list)

    async def write(self, doc: Doc, timeline: Sequence[Revision], *, embed: bool = True) -> None:
        key = f"{doc.place} {doc.kind}"
        source = self.world.sources.get(key) or await self.world.add_source(key, self.spaces[doc.place], doc.kind)
        await self.world.write(doc.name, *timeline, source=source, embed=embed)
        last = self.beliefs[-1][1] if self.beliefs else {}
        self.beliefs.append((await self.clock(), {**last, doc: list(timeline)}))

    async def clock(self) -> datetime:
        async with self.world.parts.database.snapshot(self.world.organisation) as session:
            found: datetime = await session.value(text("SELECT system_at FROM organisation_clocks"))
            return found

    def visible(self, known_at: datetime, valid_at: datetime, place: str, kinds: Sequence[str] | None) -> set[Doc]:
        """The documents of which a text holds, where a question from `place` may look."""
        belief: Belief = next((belief for clock, belief in reversed(self.beliefs) if clock <= known_at), {})
        return {
            doc
            for doc, timeline in belief.items()
            if doc.place in REACH[place]
            and (kinds is None or doc.kind in kinds)
            and any(Period(start, end).contains(valid_at) for _, start, end in timeline)
        }

    def text_of(self, doc: Doc, known_at: datetime, valid_at: datetime) -> str:
        belief = next(belief for clock, belief in reversed(self.beliefs) if clock <= known_at)
        return next(said for said, start, end in belief[doc] if Period(start, end).contains(valid_at))


async def make_shelf(parts: Services) -> Shelf:
    world = await make_world(parts)
    return Shelf(
        world,
        {
            "/": world.root,
            "project": world.project,
            "project/part": await world.add_space("project/part", Level.SUBPROJECT, "project"),
            "beside": await world.add_space("beside", Level.TEAM),
        },
    )
