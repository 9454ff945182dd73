"""What detectors found, by source and detector, and how far indexes follow today's policy: numbers, never texts."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import text

from app.domain.dlp.finding import DETECTORS_VERSION, Detector
from app.domain.dlp.policy import Policy, tag
from app.storage.engine import Session
from app.storage.scope import believed_now, tenant

_BEFORE_ALL = UUID(int=0)


@dataclass(frozen=True, slots=True)
class SourceFindings:
    """A source with the findings in its slices, by detector; `stale`: slices whose index is not as today's policy and
    detectors would make it. One that reaches from a slice into the next counts in both."""

    id: UUID
    space_id: UUID
    name: str
    classification: str
    counts: dict[Detector, int]
    stale: int


@dataclass(frozen=True, slots=True)
class SpaceCoverage:
    """Slices of a space that hold now: all, those with an embedding of the model, those with today's index."""

    space_id: UUID
    key_path: str
    chunks: int
    embedded: int
    indexed: int


#: Whether a slice is indexed as today's policy would have it; one in which nothing is found is so under any.
_INDEXED = """(split_part(c.dlp_tag, '/', 1) = :detectors AND (c.findings IS NULL OR c.dlp_tag =
    CASE WHEN o.classification = ANY(CAST(:plain AS text[])) THEN :plain_tag ELSE :masked_tag END))"""

_SOURCES = text(
    f"""
    SELECT o.id, o.space_id, o.name, o.classification,
        (SELECT jsonb_object_agg(n.detector, n.found) FROM (
            SELECT c.findings[i] AS detector, count(*) AS found
            FROM chunks c, generate_series(3, cardinality(c.findings), 3) AS i
            WHERE {believed_now("c")} AND c.source_id = o.id AND c.findings IS NOT NULL GROUP BY 1) n) AS counts,
        (SELECT count(*) FROM chunks c WHERE {believed_now("c")} AND c.source_id = o.id AND NOT {_INDEXED}) AS stale
    FROM sources o WHERE {believed_now("o")} AND o.id > CAST(:after AS uuid)
    AND (CAST(:source AS uuid) IS NULL OR o.id = CAST(:source AS uuid))
    AND (CAST(:providers AS text[]) IS NULL OR o.provider = ANY(CAST(:providers AS text[]))) ORDER BY o.id LIMIT :limit
    """
)
_SPACES = text(
    f"""
    SELECT s.id, s.key_path, count(c.id), count(c.id) FILTER (WHERE EXISTS (SELECT FROM embeddings e
        WHERE {tenant("e")} AND e.live AND e.chunk_id = c.id AND e.model = :model)),
        count(c.id) FILTER (WHERE {_INDEXED})
    FROM spaces s JOIN sources o ON {believed_now("o")} AND o.space_id = s.id
    LEFT JOIN chunks c ON {believed_now("c")} AND c.source_id = o.id AND c.valid_to IS NULL
    WHERE {believed_now("s")} GROUP BY s.id, s.key_path ORDER BY s.key_path
    """
)
_CONCERNED = text(
    f"SELECT o.id FROM sources o WHERE {believed_now('o')} AND o.classification = ANY(CAST(:classes AS text[]))"
)


def _today(session: Session, policy: Policy) -> dict[str, object]:
    return {
        "organisation": session.organisation,
        "detectors": str(DETECTORS_VERSION),
        "plain": [kind.value for kind, _ in policy.actions if not policy.masks_index(kind.value)],
        "plain_tag": tag(False),
        "masked_tag": tag(True),
    }


async def by_source(
    session: Session,
    policy: Policy,
    *,
    source: UUID | None = None,
    providers: Collection[str] | None = None,
    after: UUID | None = None,
    limit: int = 1000,
) -> list[SourceFindings]:
    """Sources by id, those after one, or a single one; of some providers or (None) of any."""
    rows = await session.rows(
        _SOURCES,
        {
            **_today(session, policy),
            "source": source,
            "providers": None if providers is None else sorted(providers),
            "after": after or _BEFORE_ALL,
            "limit": limit,
        },
    )
    return [
        SourceFindings(
            row.id,
            row.space_id,
            row.name,
            row.classification,
            {Detector(int(detector)): found for detector, found in sorted((row.counts or {}).items())},
            row.stale,
        )
        for row in rows
    ]


async def by_space(session: Session, policy: Policy, model: str | None) -> list[SpaceCoverage]:
    """Spaces with a source, by key path. `model` None: nothing counts as embedded."""
    rows = await session.rows(_SPACES, {**_today(session, policy), "model": model or ""})
    return [SpaceCoverage(*row) for row in rows]


async def sources_of(session: Session, classes: Sequence[str]) -> list[UUID]:
    """The sources whose class is one of these today."""
    rows = await session.rows(_CONCERNED, {"organisation": session.organisation, "classes": list(classes)})
    return [row.id for row in rows]
