"""Runs scenarios and a document history on two clocks against their expected answers.

    python -m tests.quality.scenarios FOLDER [--out FILE] [--pure]

FOLDER holds `scenarios.jsonl` and `docs-history/{revisions,asof_queries,bitemporal_queries}.jsonl`; what is absent is
not run. Every question counts as one. Prints a line a failure and `N of M exact`; exit 1 when any failed, 2 when there
is nothing to run. FILE gets `{"exact": N, "total": M, "failed": [ids]}`.
"""

import argparse
import asyncio
import json
import re
import sys
import tempfile
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Protocol

from app.domain.errors import MunimentError
from app.domain.instant import LAST as END
from app.domain.instant import format_instant, parse_instant
from app.domain.temporal import (
    AsOf,
    Assert,
    Erase,
    History,
    Op,
    Period,
    Portion,
    Retract,
    Timeline,
    Update,
    coalesce,
)
from tests.quality.stored import stored_history

Record = dict[str, Any]

#: As late as can be asked for.
LAST = END - timedelta(microseconds=1)

#: What a record that is not as described may raise while it is read: that question fails, the others still run.
UNREADABLE = (KeyError, TypeError, ValueError, MunimentError)

#: What a question may expect of a revision, each as `expected_…`.
DESCRIBED = ("rev", "blob", "title")


class Store(Protocol):
    """What is asked of a bitemporal store; facts are named, values canonical JSON text, `record` is the line read."""

    async def apply(self, fact: str, system_at: datetime, op: Op[str], record: Record) -> None: ...

    async def at(self, fact: str, as_of: AsOf) -> str | None: ...

    async def timeline(self, fact: str, system_at: datetime) -> Timeline[str]: ...


class MemoryStore:
    """The pure rules: one `History` a fact."""

    def __init__(self) -> None:
        self._histories: defaultdict[str, History[str]] = defaultdict(History)

    async def apply(self, fact: str, system_at: datetime, op: Op[str], record: Record) -> None:
        self._histories[fact].apply(system_at, op)

    async def at(self, fact: str, as_of: AsOf) -> str | None:
        portion = self._histories[fact].at(as_of)
        return None if portion is None else portion.value

    async def timeline(self, fact: str, system_at: datetime) -> Timeline[str]:
        return self._histories[fact].timeline(system_at)


@dataclass
class Report:
    """How many questions were answered exactly, and what went wrong with the others."""

    total: int = 0
    failures: list[tuple[str, str]] = field(default_factory=list)

    @property
    def exact(self) -> int:
        return self.total - len(self.failures)

    def add(self, question: str, problem: str | None) -> None:
        self.total += 1
        if problem is not None:
            self.failures.append((question, problem))


def instant(text: str) -> datetime:
    """As everywhere, but in this data a bare date stands for its midnight in UTC."""
    return parse_instant(text + "T00:00:00Z" if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text) else text)


def known_at(question: Record) -> datetime:
    """The point of system time that is asked for; without one, now: no belief is later than the last instant."""
    return LAST if question.get("system") is None else instant(question["system"])


def period(start: str | None, end: str | None) -> Period:
    return Period(None if start is None else instant(start), None if end is None else instant(end))


def canonical(value: object) -> str:
    """One text a JSON value, so that 1, 1.0 and true stay three values."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def read(path: Path) -> list[Record]:
    """The records of a JSONL file; none when it is absent."""
    return [json.loads(line) for line in path.read_text("utf-8").split("\n") if line.strip()] if path.exists() else []


def operation(record: Record) -> Op[str]:
    """MunimentError for an empty or reversed period, ValueError for an unknown operation."""
    when = period(record.get("from"), record.get("to"))
    match record["op"]:
        case "assert":
            return Assert(when, canonical(record["value"]))
        case "update":
            return Update(when, canonical(record["value"]))
        case "retract":
            return Retract(when)
        case "erase":
            return Erase(when)
        case other:
            raise ValueError(f"unknown operation {other!r}")


async def refused(store: Store, fact: str, record: Record) -> bool:
    """Applies; True when the operation was refused as bad input, which is a rule and not a fault."""
    try:
        await store.apply(fact, instant(record["system"]), operation(record), record)
    except MunimentError:
        return True
    return False


def is_empty(record: Record) -> bool:
    start, end = record.get("from"), record.get("to")
    return start is not None and end is not None and instant(start) == instant(end)


async def apply_all(store: Store, fact: str, records: list[Record]) -> None:
    """Refused operations change nothing; whether that was right, the questions tell."""
    for record in records:
        if record.get("on_empty") == "noop" and is_empty(record):
            continue
        await refused(store, fact, record)


def shown(timeline: Timeline[str]) -> list[tuple[str | None, str | None, str]]:
    def text(bound: datetime | None) -> str | None:
        return None if bound is None else format_instant(bound)

    return [(text(portion.period.start), text(portion.period.end), portion.value) for portion in coalesce(timeline)]


def differing(expected: object, got: object) -> str | None:
    return None if expected == got else f"expected {expected}, got {got}"


async def ask(store: Store, fact: str, question: Record) -> str | None:
    """What is wrong with the answer to one question of a scenario; None when it is exact."""
    match question["q"]:
        case "as_of":
            got = await store.at(fact, AsOf(instant(question["valid"]), known_at(question)))
            return differing(canonical(question["expect"]), canonical(None) if got is None else got)
        case "timeline":
            expected = [Portion(period(start, end), canonical(value)) for start, end, value in question["expect"]]
            timeline = await store.timeline(fact, known_at(question))
            return differing(shown(tuple(expected)), shown(timeline))
        case "reject":
            before = await store.timeline(fact, LAST)
            if not await refused(store, fact, question["op"]):
                return f"expected a refusal ({question['expect']})"
            return differing(shown(before), shown(await store.timeline(fact, LAST)))
        case "invalid_input":
            try:
                return f"expected a refusal, got {parse_instant(question['value']).isoformat()}"
            except MunimentError:
                return None
        case other:
            raise ValueError(f"unknown question {other!r}")


async def run_scenario(store: Store, scenario: Record, report: Report) -> None:
    fault = None
    try:
        await apply_all(store, f"scenario {scenario['id']}", scenario["ops"])
    except UNREADABLE as error:
        fault = f"operations cannot be read: {error!r}"
    for number, question in enumerate(scenario["queries"], 1):
        try:
            problem = fault or await ask(store, f"scenario {scenario['id']}", question)
        except UNREADABLE as error:
            problem = f"cannot be answered: {error!r}"
        report.add(f"{scenario['id']}/{number}", problem)


def revision_operation(revision: Record) -> Op[str]:
    """A revision holds from `valid_from` on until a later one says otherwise; a deletion without one ends it all."""
    return operation(
        {
            "op": "retract" if revision["op"] == "delete" else revision["op"],
            "from": revision["valid_from"],
            "to": revision.get("valid_to"),
            "value": {name: revision[name] for name in DESCRIBED},
        }
    )


async def ask_history(store: Store, question: Record) -> str | None:
    """Questions on the system clock alone ask what was believed to hold in the end: valid time as late as can be."""
    valid_at = instant(question["valid_as_of"]) if "valid_as_of" in question else LAST
    got = await store.at(question["page"], AsOf(valid_at, instant(question["system_as_of"])))
    value: Record = {} if got is None else json.loads(got)
    names = [name for name in DESCRIBED if f"expected_{name}" in question]
    expected = {name: question[f"expected_{name}"] for name in names}
    return differing(expected, {name: value.get(name) for name in names}) if names else "nothing is expected"


async def run_history(store: Store, folder: Path, report: Report) -> None:
    faults: dict[str, str] = {}
    for revision in sorted(read(folder / "revisions.jsonl"), key=lambda revision: instant(revision["system_from"])):
        try:
            await store.apply(
                revision["page"], instant(revision["system_from"]), revision_operation(revision), revision
            )
        except UNREADABLE as error:
            faults[revision["page"]] = f"revision {revision['rev']} cannot be read: {error!r}"
    for question in read(folder / "asof_queries.jsonl") + read(folder / "bitemporal_queries.jsonl"):
        try:
            problem = faults.get(question["page"]) or await ask_history(store, question)
        except UNREADABLE as error:
            problem = f"cannot be answered: {error!r}"
        report.add(question["id"], problem)


async def run(folder: Path, store: Store) -> Report:
    """Asks every question of the folder."""
    report = Report()
    for scenario in read(folder / "scenarios.jsonl"):
        await run_scenario(store, scenario, report)
    await run_history(store, folder / "docs-history", report)
    return report


async def run_stored(folder: Path) -> Report:
    """The same through the real store: imported with its system times, read back over HTTP."""
    with tempfile.TemporaryDirectory(prefix="muniment-scenarios-") as home:
        async with stored_history(Path(home)) as store:
            return await run(folder, store)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.quality.scenarios",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--pure", action="store_true", help="the rules alone, without a database and without HTTP")
    options = parser.parse_args(arguments)
    report = asyncio.run(run(options.folder, MemoryStore()) if options.pure else run_stored(options.folder))
    for question, problem in report.failures:
        print(f"{question}: {problem}")
    print(f"{report.exact} of {report.total} exact")
    if options.out is not None:
        result = {"exact": report.exact, "total": report.total, "failed": [question for question, _ in report.failures]}
        options.out.write_text(json.dumps(result, indent=2) + "\n", "utf-8")
    if report.total == 0:
        print(f"nothing to run in {options.folder}", file=sys.stderr)
        return 2
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
