"""R2, R3 and R6 for memories: whose count, what each scores, and how many are given.

A subject's memories come only to who names that subject, by equality of ids; a group's only through a membership that
is verified and valid. Nothing is written: an access is counted when a response is linked, not when a memory is read.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

import structlog
from prometheus_client import Counter

from app.domain.dlp.policy import OWN_WORDS, Action
from app.domain.errors import Code, MunimentError
from app.domain.memory import age_days, pseudonym
from app.domain.naming import meant
from app.domain.scoring import MemoryScore, memory_score
from app.domain.selection import Excluded, Reason
from app.retrieval import redact
from app.retrieval.authorise import Authorised
from app.retrieval.question import Question, Unembedded
from app.retrieval.request import RetrievalRequest
from app.storage import search_memory, subjects
from app.storage.engine import Session
from app.storage.search_memory import MemoryHit, MemoryText, Owners
from app.storage.subjects import Reachable

log = structlog.get_logger()

STAGE = "recall"

truncated = Counter("muniment_candidates_truncated_total", "Recalls whose candidates reached MUNIMENT_MAX_CANDIDATES.")


@dataclass(frozen=True, slots=True)
class MemoryCandidate:
    """A memory that may be given, scored."""

    hit: MemoryHit
    score: MemoryScore
    age_days: float
    provider: str = "memory"
    kind: str = "memory"

    @property
    def id(self) -> UUID:
        return self.hit.version_id

    @property
    def justification(self) -> str:
        """Why it ranks where it does, in one line."""
        score = self.score
        return (
            f"similarity {score.similarity:.2f}, {self.age_days:.1f} days old (recency {score.recency:.2f}), "
            f"importance {score.importance:.2f}, used {self.hit.access_count} times (frequency {score.frequency:.2f})"
        )


@dataclass(frozen=True, slots=True)
class DeliveredMemory:
    index: int
    candidate: MemoryCandidate
    text: MemoryText


@dataclass(frozen=True, slots=True)
class Recalled:
    """The memories that are given, those that are not, and what the reader should know of the search."""

    memories: tuple[DeliveredMemory, ...] = ()
    group_memories: tuple[DeliveredMemory, ...] = ()
    excluded: tuple[Excluded, ...] = ()
    subject_pseudonym: str | None = None
    subject_id: UUID | None = None
    groups: tuple[UUID, ...] = ()
    truncated: bool = False
    without_embedding: int = 0

    @property
    def delivered(self) -> tuple[DeliveredMemory, ...]:
        return (*self.memories, *self.group_memories)

    @property
    def tokens(self) -> int:
        return sum(item.candidate.hit.tokens for item in self.delivered)

    @property
    def gathered(self) -> int:
        return len(self.delivered) + len(self.excluded)


async def recall(
    session: Session,
    authorised: Authorised,
    request: RetrievalRequest,
    question: Question | None,
    most: int,
    count: Callable[[str], int],
) -> Recalled:
    """`most` candidates of each owner are looked at, newest first; `count` gives the tokens of a text."""
    if not request.include_memories:
        return Recalled()
    reached = None
    if request.subject_id is not None:
        found = await subjects.reachable(
            session,
            request.subject_id,
            user=request.principal.id,
            principals=request.principal.identities,
            valid_at=authorised.scope.as_of.valid_at,
            known_at=authorised.scope.as_of.system_at,
            now=authorised.now,
        )
        near = authorised.target.path[::-1] if authorised.target else ()
        reached = meant(found, {item.space_id for item in found}, near, "subjectId")
    return await recall_of(session, authorised, request.parameters.max_memories, question, most, reached, count)


async def recall_of(
    session: Session,
    authorised: Authorised,
    limit: int,
    question: Question | None,
    most: int,
    reached: Reachable | None,
    count: Callable[[str], int],
) -> Recalled:
    """The same where it is settled whose memories count; `limit` of each kind are given."""
    leg = _Leg(session, authorised, question, most)
    own = await leg.search(Owners.SPACES, list(authorised.spaces)) if authorised.spaces else []
    group: list[MemoryHit] = []
    if reached is not None:
        own += await leg.search(Owners.SUBJECT, reached.subject.id)
        group = await leg.search(Owners.GROUPS, reached.groups) if reached.groups else []
    own, group = await leg.compared(own, group)
    kept, over = _ranked(own, authorised.scope.as_of.valid_at, question, limit)
    group_kept, group_over = _ranked(group, authorised.scope.as_of.valid_at, question, limit)
    texts = await search_memory.texts(session, [item.id for item in (*kept, *group_kept)]) if kept or group_kept else {}
    kept, texts, barred = redact_memories(kept, texts, authorised, count)
    group_kept, texts, group_barred = redact_memories(group_kept, texts, authorised, count)
    return Recalled(
        memories=_deliver(kept, texts),
        group_memories=_deliver(group_kept, texts),
        excluded=(
            *(Excluded(item, STAGE, Reason.TOP_K) for item in (*over, *group_over)),
            *(Excluded(item, redact.STAGE, Reason.DLP_BLOCKED) for item in (*barred, *group_barred)),
        ),
        subject_pseudonym=None
        if reached is None
        else pseudonym(reached.subject.pseudonym_key, reached.subject.external_id),
        subject_id=None if reached is None else reached.subject.id,
        groups=() if reached is None else tuple(reached.groups),
        truncated=leg.truncated,
        without_embedding=leg.without_embedding,
    )


class _Leg:
    """The memory leg over several owners, and what went short in it."""

    def __init__(self, session: Session, authorised: Authorised, question: Question | None, most: int) -> None:
        self._session = session
        self._authorised = authorised
        self._question = question
        self._most = most
        self.truncated = False
        self.without_embedding = 0

    async def search(self, owners: Owners, owner: UUID | Sequence[UUID]) -> list[MemoryHit]:
        question = self._question
        vector = None if question is None else question.vector
        hits = await search_memory.search(
            self._session,
            self._authorised.scope,
            owners,
            owner,
            query=vector,
            model=None if question is None else question.model,
            limit=self._most + 1,
        )
        if len(hits) > self._most:
            hits = hits[: self._most]
            self.truncated = True
            truncated.inc()
            log.warning(
                "memory candidates were cut off: older ones were not looked at; raise MUNIMENT_MAX_CANDIDATES",
                spaces=sorted({str(hit.space_id) for hit in hits}),
                setting="MUNIMENT_MAX_CANDIDATES",
                value=self._most,
            )
        if any(hit.organisation != self._authorised.scope.organisation for hit in hits):
            raise MunimentError(Code.INTERNAL, "a row from outside the permitted scope was refused")
        return hits

    async def compared(self, *found: list[MemoryHit]) -> list[list[MemoryHit]]:
        """Every memory compared with the question, as far as it can be, newest first over all owners.

        `Unembedded` while some of them have no embedding and may still be given one."""
        question = self._question
        bare = [hit for hits in found for hit in hits if hit.similarity is None]
        if not bare or question is None or question.vector is None:
            return list(found)
        bare.sort(key=lambda hit: hit.version_id)
        bare.sort(key=lambda hit: hit.valid_from or hit.system_from, reverse=True)
        if not self._may_be_sent(question):
            return list(found)
        wanted = set(question.require([hit.text_sha256 for hit in bare]))
        if wanted:
            missing = {hit.text_sha256: hit.version_id for hit in bare if hit.text_sha256 in wanted}
            texts = await search_memory.texts(self._session, list(missing.values()))
            scanner = self._authorised.scanner
            raise Unembedded({sha256: scanner.redacted(texts[version].text) for sha256, version in missing.items()})
        self.without_embedding = len(bare)
        return [
            [
                replace(hit, similarity=question.similarity(hit.text_sha256)) if hit.similarity is None else hit
                for hit in hits
            ]
            for hits in found
        ]

    def _may_be_sent(self, question: Question) -> bool:
        """What may not be sent to be embedded lacks nothing."""
        return question.endpoint is None or self._authorised.policy.may_be_sent(OWN_WORDS.value, question.endpoint)


def redact_memories(
    kept: Sequence[MemoryCandidate],
    texts: Mapping[UUID, MemoryText],
    authorised: Authorised,
    count: Callable[[str], int],
) -> tuple[list[MemoryCandidate], dict[UUID, MemoryText], list[MemoryCandidate]]:
    """What may be given, their texts as they may be given, and what may not be."""
    action, shown, given, barred = authorised.policy.action(OWN_WORDS.value), dict(texts), [], []
    for item in kept:
        text, tags = texts[item.id].text, texts[item.id].tags
        hidden, shown_tags = text, tags
        if action is not Action.ALLOW:
            hidden, shown_tags = authorised.scanner.redacted(text), [authorised.scanner.redacted(tag) for tag in tags]
        if hidden == text and shown_tags == tags:
            given.append(item)
        elif action is not Action.REDACT:
            barred.append(item)
        else:
            sha256 = hashlib.sha256(hidden.encode()).digest()
            given.append(replace(item, hit=replace(item.hit, text_sha256=sha256, tokens=count(hidden))))
            shown[item.id] = replace(texts[item.id], text=hidden, tags=shown_tags)
    return given, shown, barred


def _ranked(
    hits: Sequence[MemoryHit], at: datetime, question: Question | None, limit: int
) -> tuple[list[MemoryCandidate], list[MemoryCandidate]]:
    """The `limit` best by score, ties by id, and the rest."""
    asked = question is not None and question.vector is not None
    ranked = sorted((_scored(hit, at, asked) for hit in hits), key=lambda item: (-item.score.score, item.id))
    return ranked[:limit], ranked[limit:]


def _scored(hit: MemoryHit, at: datetime, asked: bool) -> MemoryCandidate:
    """With a question, a memory without an embedding is similar to nothing; without one, every memory counts alike."""
    age = age_days(hit.valid_from, hit.system_from, at)
    similarity = (hit.similarity or 0.0) if asked else None
    return MemoryCandidate(hit, memory_score(similarity, age, hit.importance, hit.access_count), age)


def _deliver(kept: Sequence[MemoryCandidate], texts: dict[UUID, MemoryText]) -> tuple[DeliveredMemory, ...]:
    return tuple(DeliveredMemory(number, item, texts[item.id]) for number, item in enumerate(kept, 1))
