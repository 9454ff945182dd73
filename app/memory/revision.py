"""What a caller says of a memory's value, and the facts that follow from it."""

from dataclasses import dataclass, fields, replace
from typing import Any, Self
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from app.domain.dlp.policy import OWN_WORDS
from app.domain.dlp.scanning import Scanner
from app.domain.errors import bad_input
from app.domain.memory import EpistemicStatus, MemoryFacts, TransformType
from app.memory.people import check_name
from app.providers.embedder.base import Embedder
from app.providers.endpoint import EndpointError
from app.providers.parsers.registry import clean
from app.providers.redaction.scanner import SCANNER
from app.providers.tokens import Tokens
from app.storage import policies
from app.storage.engine import Database

MAX_TEXT = 20_000
MAX_TAGS = 100

Vector = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Changes:
    """What is to be different; None leaves a part as it is."""

    text: str | None = None
    importance: float | None = None
    confidence: float | None = None
    epistemic_status: EpistemicStatus | None = None
    transform_type: TransformType | None = None
    tags: tuple[str, ...] | None = None

    @property
    def given(self) -> dict[str, Any]:
        """The parts that are to be different; as plain JSON too, since the enumerations are strings."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if value is not None}

    @classmethod
    def of_json(cls, given: dict[str, Any]) -> Self:
        """The same from what `given` wrote."""
        status, transform, tags = (given.get(name) for name in ("epistemic_status", "transform_type", "tags"))
        return cls(
            text=given.get("text"),
            importance=given.get("importance"),
            confidence=given.get("confidence"),
            epistemic_status=EpistemicStatus(status) if status else None,
            transform_type=TransformType(transform) if transform else None,
            tags=tuple(tags) if tags is not None else None,
        )

    def check(self) -> None:
        """BAD_USER_INPUT for what no memory can hold."""
        text = self.text
        if text is not None and (not text.strip() or len(text) > MAX_TEXT or clean(text)[1]):
            raise bad_input(f"1 to {MAX_TEXT} characters, without NUL or lone surrogates", "text")
        for name in ("importance", "confidence"):
            value = getattr(self, name)
            if value is not None and not 0.0 <= value <= 1.0:
                raise bad_input("must lie between 0 and 1", name)
        if self.tags is not None and len(self.tags) > MAX_TAGS:
            raise bad_input(f"at most {MAX_TAGS} tags", "tags")
        for tag in self.tags or ():
            check_name(tag, "tags")


@dataclass(frozen=True, slots=True)
class Reviser:
    """Makes facts and vectors from what a caller says."""

    tokens: Tokens
    embedder: Embedder | None
    scanner: Scanner = SCANNER

    def facts(self, current: MemoryFacts | None, changes: Changes, revision: int) -> MemoryFacts:
        """`current` with the changes; without one, the text must be given."""
        if current is None and changes.text is None:
            raise bad_input("a memory needs a text", "text")
        facts = current or MemoryFacts(text="", tokens=0)
        if changes.text is not None:
            facts = replace(facts, tokens=self.tokens.count(changes.text))
        return replace(facts, **changes.given, revision=revision)

    async def vector(self, database: Database, organisation: UUID, text: str | None) -> Vector | None:
        """Of the text without what detectors find in it. Made before any lock is taken: embedding takes a while, a
        write must not. None where an endpoint may not be sent it, or does not answer: a backfill sees to that."""
        if self.embedder is None or text is None:
            return None
        if not self.embedder.in_process:
            async with database.snapshot(organisation) as session:
                policy = await policies.current(session)
            if not policy.may_be_sent(OWN_WORDS.value, self.embedder.locality):
                return None
        try:
            vectors = await self.embedder.embed_documents([self.scanner.redacted(text)])
        except EndpointError:
            return None
        first: Vector = vectors[0]
        return first
