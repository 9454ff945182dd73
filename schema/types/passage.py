"""A passage and where it comes from."""

from typing import Self, cast

import strawberry

from app.domain.contract import age_hours
from app.domain.selection import Related as _Related
from app.retrieval.answer import Answer, Delivered
from app.retrieval.recall import DeliveredMemory
from schema.scalars import JSON, Instant
from schema.types.enums import Relation, SpaceLevel


@strawberry.type(description="An exact place in a version of a document, ready to be cited as `[index]`.")
class Citation:
    index: int = strawberry.field(
        description="Number of the citation, from 1: passages first, then memories, then group memories."
    )
    source_type: str = strawberry.field(description="Kind of the source, such as docs or codebase.")
    title: str = strawberry.field(description="Title of the document.")
    external_id: str = strawberry.field(description="The document's name at its source, such as a path.")
    heading_path: str | None = strawberry.field(description="Headings above the passage, outermost first, by ` > `.")
    page: int | None = strawberry.field(description="Page, from 1.")
    sheet: str | None = strawberry.field(description="Name of the sheet.")
    table: str | None = strawberry.field(description="Name of the table.")
    row_start: int | None = strawberry.field(description="First row, from 1.")
    row_end: int | None = strawberry.field(description="Last row, included.")
    url: str | None = strawberry.field(description="Link to the original.")

    @classmethod
    def of(cls, item: Delivered) -> Self:
        passage = item.passage
        return cls(
            index=item.index,
            source_type=item.source.kind,
            title=passage.title,
            external_id=passage.external_id,
            heading_path=" > ".join(passage.heading_path) or None,
            page=passage.page,
            sheet=passage.sheet,
            table=passage.table_name,
            row_start=passage.row_start,
            row_end=passage.row_end,
            url=passage.url,
        )

    @classmethod
    def of_memory(cls, item: DeliveredMemory, answer: Answer) -> Self:
        """Numbered behind the passages, those of groups behind the other memories."""
        hit = item.candidate.hit
        beside = len(answer.memories) if hit.group_id else 0
        return cls(
            index=len(answer.passages) + beside + item.index,
            source_type="memory",
            title=f"Memory of a {'subject' if hit.subject_id else 'group' if hit.group_id else 'space'}",
            external_id=str(hit.memory_id),
            heading_path=None,
            page=None,
            sheet=None,
            table=None,
            row_start=None,
            row_end=None,
            url=None,
        )


def citations(answer: Answer) -> list[Citation]:
    """Numbered from 1 over all that is delivered."""
    memories = (*answer.memories, *answer.group_memories)
    return [
        *(Citation.of(item) for item in answer.passages),
        *(Citation.of_memory(item, answer) for item in memories),
    ]


@strawberry.type(
    description=(
        "The parts of a score. A passage: (0.7 · vector + 0.3 · text) · levelWeight. A memory: 0.40 · similarity + "
        "0.20 · recency + 0.25 · importance + 0.15 · frequency. What plays no part is null."
    )
)
class PassageScores:
    vector: float | None = strawberry.field(
        default=None, description="1 − cosine distance to the question; null without a vector."
    )
    text: float | None = strawberry.field(default=None, description="BM25 in [0, 1]; null when no word matched.")
    level_weight: float | None = strawberry.field(
        default=None, description="Weight of the level of the passage's space."
    )
    similarity: float | None = strawberry.field(
        default=None, description="Cosine similarity of a memory to the question; 1 when there is no question."
    )
    recency: float | None = strawberry.field(default=None, description="0.5 ^ (days old / 14).")
    importance: float | None = strawberry.field(default=None, description="Importance recorded with the memory.")
    frequency: float | None = strawberry.field(default=None, description="min(1, ln(1 + accesses) / ln(101)).")
    rerank: float | None = strawberry.field(default=None, description="What the reranker said, on its own scale.")


@strawberry.type(description="How fresh the passage is, as far as it is known.")
class Freshness:
    source_created_at: Instant | None = strawberry.field(description="When the original was created.")
    source_updated_at: Instant | None = strawberry.field(description="When the original was last changed.")
    ingested_at: Instant = strawberry.field(description="When this version came into the store.")
    synced_at: Instant | None = strawberry.field(description="When the source was last synchronised.")
    age_hours: float | None = strawberry.field(description="Hours from `syncedAt` to the answer's `validAt`, to 0.1.")


@strawberry.type(description="Why code was appended that the question did not find.")
class Related:
    to: strawberry.ID = strawberry.field(description="`chunkId` of the ranked passage.")
    relation: Relation = strawberry.field(description="How this passage belongs to it.")

    @classmethod
    def of(cls, related: _Related) -> Self:
        return cls(to=strawberry.ID(str(related.to)), relation=related.relation)


@strawberry.type(description="A text that the model may read, with everything needed to cite and to judge it.")
class Passage:
    text: str = strawberry.field(description="The text itself.")
    score: float = strawberry.field(description="The passage's score; see `scores` for its parts.")
    tokens: int = strawberry.field(description="Tokens of the text (cl100k_base).")
    citation: Citation = strawberry.field(description="Where exactly the text stands.")
    chunk_id: strawberry.ID | None = strawberry.field(description="Id of the stored slice; null for a memory.")
    document_id: strawberry.ID | None = strawberry.field(description="Id of the document; null for a memory.")
    source_id: strawberry.ID | None = strawberry.field(description="Id of the source; null for a memory.")
    space_id: strawberry.ID = strawberry.field(description="Id of the space.")
    space_key: str = strawberry.field(description="Key path of the space.")
    level: SpaceLevel = strawberry.field(description="Level of the space.")
    provider: str = strawberry.field(description="Where the source comes from, such as git or filesystem.")
    updated_at: Instant | None = strawberry.field(description="When the original was last changed, if known.")
    valid_from: Instant | None = strawberry.field(description="Since when the text holds in the world; null: always.")
    valid_to: Instant | None = strawberry.field(description="Until when it holds; null: no end is known.")
    system_from: Instant = strawberry.field(description="Since when the store has believed so.")
    confidence: float | None = strawberry.field(description="Confidence recorded with the document, 0 to 1.")
    epistemic_status: str = strawberry.field(description="observed, told, inferred or assumed.")
    transform_type: str = strawberry.field(description="How the text came to be, such as ingest or manual.")
    tags: list[str] = strawberry.field(description="Tags of the document.")
    freshness: Freshness = strawberry.field(description="How fresh the passage is.")
    access_policy: JSON | None = strawberry.field(description="Access policy that the source carried at ingest.")
    content_sha256: str = strawberry.field(description="SHA-256 of the text delivered, as recorded in the evidence.")
    index_version: int | None = strawberry.field(
        description="Index version of the source that the slice belongs to; null for a memory."
    )
    scores: PassageScores = strawberry.field(description="The parts of the score.")
    justification: str | None = strawberry.field(
        default=None, description="Why a memory ranks where it does, in one line; null for a passage."
    )
    related: Related | None = strawberry.field(
        default=None, description="What it was appended for; null for what was ranked."
    )
    memory_id: strawberry.ID | None = strawberry.field(
        default=None, description="Id of the memory; null for a passage."
    )
    revision: int | None = strawberry.field(
        default=None, description="Accepted revision of the memory; null for a passage."
    )

    @classmethod
    def of(cls, item: Delivered, answer: Answer) -> Self:
        passage, candidate, source = item.passage, item.candidate, item.source
        valid_at = answer.contract.valid_at
        return cls(
            text=passage.text,
            score=candidate.score,
            tokens=passage.tokens,
            citation=Citation.of(item),
            chunk_id=strawberry.ID(str(candidate.id)),
            document_id=strawberry.ID(str(candidate.document_id)),
            source_id=strawberry.ID(str(source.id)),
            space_id=strawberry.ID(str(item.space.id)),
            space_key=item.space.key_path,
            level=item.space.level,
            provider=source.provider,
            updated_at=passage.source_updated_at,
            valid_from=passage.valid_from,
            valid_to=passage.valid_to,
            system_from=passage.system_from,
            confidence=passage.confidence,
            epistemic_status=passage.epistemic_status,
            transform_type=passage.transform_type,
            tags=passage.tags,
            freshness=Freshness(
                source_created_at=passage.source_created_at,
                source_updated_at=passage.source_updated_at,
                ingested_at=passage.version_system_from,
                synced_at=source.synced_at,
                age_hours=None if source.synced_at is None else age_hours(source.synced_at, valid_at),
            ),
            access_policy=cast(JSON, source.access_policy),
            content_sha256=item.content_sha256,
            index_version=passage.index_version,
            scores=PassageScores(
                vector=candidate.scores.vector,
                text=candidate.scores.text,
                level_weight=candidate.scores.level_weight,
                rerank=candidate.scores.rerank,
            ),
            related=None if candidate.related is None else Related.of(candidate.related),
        )

    @classmethod
    def of_memory(cls, item: DeliveredMemory, answer: Answer) -> Self:
        hit, score, memory = item.candidate.hit, item.candidate.score, item.text
        return cls(
            text=memory.text,
            score=score.score,
            tokens=hit.tokens,
            citation=Citation.of_memory(item, answer),
            chunk_id=None,
            document_id=None,
            source_id=None,
            space_id=strawberry.ID(str(hit.space_id)),
            space_key=memory.space_key,
            level=SpaceLevel(memory.level),
            provider=item.candidate.provider,
            updated_at=hit.system_from,
            valid_from=hit.valid_from,
            valid_to=memory.valid_to,
            system_from=hit.system_from,
            confidence=memory.confidence,
            epistemic_status=memory.epistemic_status,
            transform_type=memory.transform_type,
            tags=memory.tags,
            freshness=Freshness(
                source_created_at=None,
                source_updated_at=None,
                ingested_at=hit.system_from,
                synced_at=None,
                age_hours=None,
            ),
            access_policy=None,
            content_sha256=hit.text_sha256.hex(),
            index_version=None,
            scores=PassageScores(
                similarity=score.similarity,
                recency=score.recency,
                importance=score.importance,
                frequency=score.frequency,
            ),
            justification=item.candidate.justification,
            memory_id=strawberry.ID(str(hit.memory_id)),
            revision=hit.revision,
        )
