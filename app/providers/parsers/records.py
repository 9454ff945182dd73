"""JSON lines of messages and issues: a message a block, under its thread, with who wrote it and when."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from app.providers.parsers.blocks import MESSAGE, Block, Parsed, heading_text
from app.providers.parsers.output import Output

MIME = "application/jsonl"

#: How exports of trackers, chats and assistants call one thing; the first that is there counts.
_BODY = ("text", "body", "content", "message", "description", "value", "msg")
_SENDER = ("sender", "author", "user", "from", "username", "user_name", "creator", "reporter", "role", "name")
_TIME = ("time", "timestamp", "ts", "created_at", "createdAt", "created", "date", "datetime", "sent_at", "sentAt")
_THREAD = ("thread", "subject", "thread_title", "conversation", "topic", "channel", "channel_name", "thread_id")
_THREAD_ID = ("thread_ts", "conversation_id", "conversationId", "threadId", "session_id", "chat_id", "room")
_TITLE = ("title", "summary")
_NUMBER = ("number", "key", "iid")
_INNER = ("comments", "messages", "conversations", "replies", "notes", "turns")
_PERSON = ("display_name", "displayName", "real_name", "name", "login", "username", "email", "emailAddress", "id")
#: What of an issue is worth reading beside its text.
_STATE = ("state", "status", "type", "priority", "severity", "labels", "assignee", "assignees", "milestone", "tags")

_MAX_DEPTH = 8
_MAX_VALUE = 500


@dataclass(frozen=True, slots=True)
class _Entry:
    """What one person wrote at one time."""

    path: tuple[str, ...]
    head: str
    text: str


def parse_records(text: str) -> Parsed:
    """Rows of citations are lines of the file, from 1. A line that is no message or issue is kept as it is."""
    out = Output()
    broken: list[int] = []
    messages = 0
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        record = _object(line)
        if record is None:
            broken.append(number)
        entries = list(_entries(record, (), _MAX_DEPTH)) if isinstance(record, Mapping) else []
        if not entries:
            out.block(line.strip(), Block(0, 0, (), "record", row_start=number, row_end=number), "\n")
        for entry in entries:
            messages += 1
            _write(out, entry, number)
    problems = (f"Lines that are not JSON: {len(broken)}, the first is {broken[0]}.",) if broken else ()
    if not messages:
        # Settings, events, rows of a table: text like any other.
        blocks = tuple(_lines(text))
        return Parsed(text, None, blocks, MIME, None, problems)
    return Parsed(out.text(), None, tuple(out.blocks), MIME, None, problems)


def _lines(text: str) -> Iterator[Block]:
    position = 0
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield Block(position, position + len(line), (), "record", row_start=number, row_end=number)
        position += len(line) + 1


def _object(line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _write(out: Output, entry: _Entry, row: int) -> None:
    start = out.length
    header = None
    if entry.head:
        header = out.put(entry.head)
        out.put("\n")
    out.put(entry.text)
    out.blocks.append(Block(start, out.length, entry.path, MESSAGE, row_start=row, row_end=row, header=header))
    out.put("\n\n")


def _entries(record: Mapping[str, Any], path: tuple[str, ...], depth: int) -> Iterator[_Entry]:
    """The messages of one object in order: its own text, then those that it holds."""
    if not depth:
        return
    title = _first(record, _TITLE)
    inner = [item for name in _INNER if isinstance(record.get(name), Sequence) for item in _mappings(record[name])]
    body = _body(record)
    if title:
        number = _first(record, _NUMBER)
        path = (
            *path,
            heading_text(f"#{number} {title}" if number.isdigit() else f"{number} {title}" if number else title),
        )
    elif thread := _thread(record):
        path = (*path, heading_text(thread))
    state = _state(record) if title else ""
    if body or state or (title and not inner):
        yield _Entry(path, _head(record), "\n\n".join(filter(None, (title, state, body))))
    for item in inner:
        yield from _entries(item, path, depth - 1)


def _mappings(items: Any) -> list[Mapping[str, Any]]:
    if isinstance(items, str):
        return []
    return [{"text": item} if isinstance(item, str) else item for item in items if isinstance(item, Mapping | str)]


def _body(record: Mapping[str, Any]) -> str:
    for name in _BODY:
        value = record.get(name)
        if isinstance(value, Sequence) and not isinstance(value, str):
            # Assistants split a content into parts.
            value = "\n".join(
                part for part in (item if isinstance(item, str) else _body(item) for item in _parts(value)) if part
            )
        elif isinstance(value, Mapping):
            value = _body(value)
        if isinstance(value, str) and value.strip():
            return value.strip()
    return ""


def _parts(value: Sequence[Any]) -> list[Any]:
    return [item for item in value if isinstance(item, str | Mapping)]


def _head(record: Mapping[str, Any]) -> str:
    return " · ".join(filter(None, (_sender(record), _time(record))))


def _sender(record: Mapping[str, Any]) -> str:
    for name in _SENDER:
        found = _person(record.get(name))
        if found:
            return heading_text(found)
    return ""


def _person(value: Any) -> str:
    if isinstance(value, Mapping):
        return _first(value, _PERSON)
    return (
        value
        if isinstance(value, str)
        else str(value)
        if isinstance(value, int) and not isinstance(value, bool)
        else ""
    )


def _thread(record: Mapping[str, Any]) -> str:
    value = next((record[name] for name in (*_THREAD, *_THREAD_ID) if record.get(name)), "")
    return _person(value)


def _time(record: Mapping[str, Any]) -> str:
    value: Any = next((record[name] for name in _TIME if record.get(name)), None)
    if isinstance(value, str):
        written = value
        try:
            value = float(written)
        except ValueError:
            return heading_text(written)
    if not isinstance(value, int | float) or isinstance(value, bool):
        return ""
    # Seconds since 1970; from 10^11 on, milliseconds.
    seconds = value / 1000 if abs(value) >= 1e11 else value
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    except (ValueError, OverflowError, OSError):
        return ""


def _state(record: Mapping[str, Any]) -> str:
    told = ((name, _listed(record.get(name))) for name in _STATE)
    return "; ".join(f"{name}: {value}" for name, value in told if value)


def _listed(value: Any) -> str:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(filter(None, map(_listed, value)))[:_MAX_VALUE]
    if isinstance(value, Mapping):
        return _first(value, ("title", *_PERSON))[:_MAX_VALUE]
    return "" if value is None or isinstance(value, bool) else heading_text(str(value))


def _first(record: Mapping[str, Any], names: Sequence[str]) -> str:
    for name in names:
        value = record.get(name)
        if isinstance(value, str) and value.strip():
            return value.strip()
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
    return ""
