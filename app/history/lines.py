"""Facts that come with system times of their own: one JSON object a line, checked before anything is written."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, TypeVar

from app.domain.errors import MunimentError, bad_input
from app.domain.instant import parse_instant
from app.domain.temporal import Assert, Erase, Op, Period, Retract, Update

V = TypeVar("V")


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
    """One operation on one fact. `value` is what the verb says of it: text, title, tags, importance, subject …"""

    kind: FactKind
    fact: str
    verb: Verb
    system: datetime
    period: Period
    value: Mapping[str, Any]

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


def read_lines(lines: Iterable[str]) -> Iterator[Line]:
    """BAD_USER_INPUT names the number of a line that cannot be accepted. Blank lines are passed over."""
    for number, text in enumerate(lines, 1):
        if text.strip():
            try:
                yield parse_line(json.loads(text))
            except MunimentError as error:
                raise bad_input(f"line {number}: {error.message}", error.field) from error
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise bad_input(f"line {number}: {error!r}") from error


_PLACE = frozenset({"kind", "fact", "op", "system", "from", "to"})


def parse_line(record: Mapping[str, Any]) -> Line:
    """One operation from its JSON object."""
    return Line(
        kind=FactKind(record.get("kind", "memory")),
        fact=str(record["fact"]),
        verb=Verb(record["op"]),
        system=parse_instant(record["system"], "system"),
        period=Period(_bound(record, "from"), _bound(record, "to")),
        value={
            key: value for key, value in record.items() if key not in {"kind", "fact", "op", "system", "from", "to"}
        },
    )


def moments(lines: Iterable[Line]) -> Iterator[tuple[datetime, list[Line]]]:
    """Lines of one instant together. BAD_USER_INPUT when system time runs backwards."""
    gathered: list[Line] = []
    for line in lines:
        if gathered and line.system < gathered[-1].system:
            raise bad_input("system times must not run backwards", "system")
        if gathered and line.system != gathered[-1].system:
            yield gathered[0].system, gathered
            gathered = []
        gathered.append(line)
    if gathered:
        yield gathered[0].system, gathered


def _bound(record: Mapping[str, Any], name: str) -> datetime | None:
    value = record.get(name)
    return None if value is None else parse_instant(value, name)
