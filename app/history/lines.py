"""Facts that come with system times of their own: one JSON object a line, each checked by itself."""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, TypeVar

from app.domain.errors import MunimentError, bad_input
from app.domain.instant import FIRST, parse_instant
from app.domain.memory import EpistemicStatus, TransformType
from app.domain.temporal import Assert, Erase, Op, Period, Retract, Update
from app.ingestion.runner import MAX_KEY_BYTES
from app.memory.people import check_name
from app.memory.revision import Changes
from app.providers.parsers.registry import clean

V = TypeVar("V")
E = TypeVar("E", bound=StrEnum)

#: After these an organisation's clock still has room on both sides.
EARLIEST, LATEST = FIRST + timedelta(days=1), datetime(9000, 1, 1, tzinfo=UTC)


class FactKind(StrEnum):
    """What can be imported."""

    MEMORY = "memory"
    DOCUMENT = "document"


class Verb(StrEnum):
    """What a line does to its fact, at its instant of system time."""

    ASSERT = "assert"
    UPDATE = "update"
    RETRACT = "retract"
    ERASE = "erase"


@dataclass(frozen=True, slots=True)
class Line:
    """One operation on one fact. `value` is what the verb says of it: text, title, tags, importance, subject …

    `number` is the line's place in its file, from 1; 0 when it comes from none.
    """

    kind: FactKind
    fact: str
    verb: Verb
    system: datetime
    period: Period
    value: Mapping[str, Any]
    number: int = 0

    def op(self, value: V) -> Op[V]:
        match self.verb:
            case Verb.ASSERT:
                return Assert(self.period, value)
            case Verb.UPDATE:
                return Update(self.period, value)
            case Verb.RETRACT:
                return Retract(self.period)
            case Verb.ERASE:
                return Erase(self.period)

    @property
    def changes(self) -> Changes:
        """What the line says of a memory's value."""
        status, transform = self.value.get("epistemicStatus"), self.value.get("transformType")
        return Changes(
            text=self.value.get("text"),
            importance=self.value.get("importance"),
            confidence=self.value.get("confidence"),
            epistemic_status=EpistemicStatus(status) if status else None,
            transform_type=TransformType(transform) if transform else TransformType.INGEST,
            tags=tuple(self.value.get("tags", ())),
        )


def read_lines(lines: Iterable[str]) -> Iterator[Line]:
    """BAD_USER_INPUT names the number of a line that cannot be accepted. Blank lines are passed over."""
    for number, text in enumerate(lines, 1):
        if text.strip():
            with at_line(number):
                yield parse_line(json.loads(text), number)


@contextmanager
def at_line(number: int) -> Iterator[None]:
    """Whatever fails here is that line's fault, and says so."""
    try:
        yield
    except MunimentError as error:
        if number == 0 or error.message.startswith("line "):
            raise
        raise MunimentError(error.code, f"line {number}: {error.message}", error.field) from error
    except RecursionError as error:
        raise bad_input(f"line {number}: nested too deep") from error
    except json.JSONDecodeError as error:
        raise bad_input(f"line {number}: not a JSON object ({error.msg})") from error
    except ValueError as error:
        raise bad_input(f"line {number}: {error}") from error


_PLACE = frozenset({"kind", "fact", "op", "system", "from", "to"})
_TEXTS = frozenset({"text", "title", "url", "etag", "subject", "epistemicStatus", "transformType"})
_NUMBERS = frozenset({"importance", "confidence"})


def parse_line(record: Any, number: int = 0) -> Line:
    """One operation from its JSON object. BAD_USER_INPUT or ValueError says what is wrong with it."""
    if not isinstance(record, dict):
        raise bad_input("a line holds one JSON object")
    for name in ("fact", "op", "system"):
        if not isinstance(record.get(name), str) or not record[name]:
            raise bad_input(f"{name} must be a string that holds something", name)
    line = Line(
        kind=_one_of(FactKind, record.get("kind", "memory"), "kind"),
        fact=_clean(record["fact"], "fact"),
        verb=_one_of(Verb, record["op"], "op"),
        system=parse_instant(record["system"], "system"),
        period=Period(_bound(record, "from"), _bound(record, "to")),
        value={
            name: _checked(name, value) for name, value in record.items() if name not in _PLACE and value is not None
        },
        number=number,
    )
    _check(line)
    return line


def _one_of(kinds: type[E], value: object, name: str) -> E:
    for kind in kinds:
        if kind.value == value:
            return kind
    raise bad_input(f"{name} is one of {', '.join(kinds)}", name)


def _check(line: Line) -> None:
    """What the types do not say."""
    if not EARLIEST < line.system < LATEST:
        raise bad_input("a system time lies between the years 1 and 9000", "system")
    if len(line.fact.encode()) > MAX_KEY_BYTES:
        raise bad_input(f"at most {MAX_KEY_BYTES} bytes", "fact")
    if line.verb in {Verb.ASSERT, Verb.UPDATE} and "text" not in line.value:
        raise bad_input("what is asserted or updated needs a text", "text")
    if line.kind is FactKind.MEMORY:
        line.changes.check()
        if "subject" in line.value:
            check_name(line.value["subject"], "subject")
    elif line.verb is Verb.ERASE:
        raise bad_input("a document cannot be erased by an import", "op")


def _checked(name: str, value: Any) -> Any:
    if name in _TEXTS:
        if not isinstance(value, str):
            raise bad_input(f"{name} must be a string", name)
        # The text of a document is cleaned as any text that is ingested, that of a memory is refused by its own rule.
        return value if name == "text" else _clean(value, name)
    if name in _NUMBERS:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise bad_input(f"{name} must be a number", name)
        return value
    if name == "tags":
        if not isinstance(value, list) or not all(isinstance(tag, str) for tag in value):
            raise bad_input("tags must be a list of strings", name)
        return [_clean(tag, name) for tag in value]
    raise bad_input(f"nothing is known of {name}", name)


def _clean(value: str, name: str) -> str:
    if clean(value)[1]:
        raise bad_input(f"{name} must be without NUL or lone surrogates", name)
    return value


def _bound(record: Mapping[str, Any], name: str) -> datetime | None:
    value = record.get(name)
    if value is not None and not isinstance(value, str):
        raise bad_input(f"{name} must be an instant", name)
    return None if value is None else parse_instant(value, name)


def moments(lines: Iterable[Line]) -> Iterator[tuple[datetime, list[Line]]]:
    """Lines of one instant together. BAD_USER_INPUT when system time runs backwards."""
    gathered: list[Line] = []
    for line in lines:
        if gathered and line.system < gathered[-1].system:
            with at_line(line.number):
                raise bad_input("system times must not run backwards", "system")
        if gathered and line.system != gathered[-1].system:
            yield gathered[0].system, gathered
            gathered = []
        gathered.append(line)
    if gathered:
        yield gathered[0].system, gathered
