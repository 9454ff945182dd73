"""The evidence chain of one organisation: how a record is linked to the one before it, and what a check of it says.

Each entry's MAC is HMAC-SHA-256 (RFC 2104, FIPS 180-4) under the organisation's key over

    "muniment/evidence/v1" NUL | organisation, 16 bytes | sequence, 8 bytes big endian |
    length of the key id, 1 byte | key id, UTF-8 | previous MAC, 32 bytes | payload, the rest

where every part has a fixed or a stated length, so that no two entries share an input.
"""

import hmac
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple
from uuid import UUID

from app.domain.mac import MacKey

DOMAIN_TAG = b"muniment/evidence/v1\0"
MAC_BYTES = 32
MAX_SEQUENCE = 2**63 - 1
MAX_KEY_ID_BYTES = 255

#: Stretches of unverifiable entries that a verdict names; whoever may edit rows could make up any number of them.
MAX_SPANS = 16

#: What the first entry names as its predecessor. No HMAC output is all zero but by a chance of 2^-256.
GENESIS = bytes(MAC_BYTES)


class Head(NamedTuple):
    """The newest entry of a chain: its place and its MAC (32 bytes). An empty chain has `Head(0, GENESIS)`."""

    sequence: int
    mac: bytes


EMPTY = Head(0, GENESIS)


class Entry(NamedTuple):
    """One record in its place: sequence from 1, both MACs 32 bytes, `payload` the canonical bytes as stored."""

    sequence: int
    key_id: str
    previous_mac: bytes
    mac: bytes
    payload: bytes


class Outcome(StrEnum):
    """What a check can say of a chain; the words are part of the schema."""

    VALID = "VALID"
    TAMPERED = "TAMPERED"
    TRUNCATED = "TRUNCATED"
    FORKED = "FORKED"
    UNVERIFIABLE = "UNVERIFIABLE"


class Span(NamedTuple):
    """Places from `first` to `last`, both included."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a check found: the first bad sequence unless VALID, entries read until it was certain, and a sentence.

    `unverifiable`: where entries stand whose keys are missing, the first `MAX_SPANS` stretches of them.
    """

    verdict: Outcome
    first_bad_sequence: int | None
    checked_records: int
    reason: str
    unverifiable: tuple[Span, ...] = ()


def mac(key: bytes, organisation: UUID, sequence: int, key_id: str, *, previous_mac: bytes, payload: bytes) -> bytes:
    """The 32-byte MAC of one entry; `ValueError` for a part that has no unambiguous encoding."""
    if not 1 <= sequence <= MAX_SEQUENCE:
        raise ValueError("a sequence lies between 1 and 2^63 - 1")
    if len(previous_mac) != MAC_BYTES:
        raise ValueError("a previous MAC has 32 bytes")
    prefix = DOMAIN_TAG + organisation.bytes
    return MacKey(key).digest(_message(prefix, sequence, _length_prefixed(key_id), previous_mac, payload))


def append(organisation: UUID, head: Head, payloads: Iterable[bytes], key: bytes, key_id: str) -> list[Entry]:
    """The entries that carry `payloads`, in order, after `head`; the last one is the new head."""
    sequence, previous = head
    if len(previous) != MAC_BYTES or sequence < 0:
        raise ValueError("a head has a sequence of at least 0 and a MAC of 32 bytes")
    keyed, prefix, sized = MacKey(key), DOMAIN_TAG + organisation.bytes, _length_prefixed(key_id)
    entries = []
    for payload in payloads:
        sequence += 1
        current = keyed.digest(_message(prefix, sequence, sized, previous, payload))
        entries.append(Entry(sequence, key_id, previous, current, payload))
        previous = current
    return entries


def verify(
    organisation: UUID,
    entries: Iterable[Entry],
    keys: Callable[[str], bytes | None],
    head: Head | None,
    start: Head = EMPTY,
) -> Verdict:
    """Checks entries in the order of their sequence, in constant memory; see `Verifier` for what each verdict means."""
    verifier = Verifier(organisation, keys, head, start)
    for entry in entries:
        if not verifier.feed(entry):
            break
    return verifier.finish()


class Verifier:
    """Checks a chain that comes piece by piece, ordered by sequence, in constant memory.

    `keys` gives the organisation's key of a key id, or None when it is not held. `head` is what was recorded outside
    the database *before* the check began: the chain must reach it, and may be longer. `start` is the entry before the
    first one fed, known from an earlier check; to check a range alone, take
    `Head(first.sequence - 1, first.previous_mac)`. A head before `start` is not looked at. `reach` is a place that the
    chain must reach, where the MAC that stood there is not known; the head's place by default.

    An entry is *authentic* when its MAC fits what it says of itself. Without the key nobody can make one, so an
    authentic entry was once written here. TAMPERED is what can be done without the key; FORKED needs two writers that
    held it, such as a restored backup that was written on. n is the place that comes next.

    | what is met                                                          | verdict      | first bad sequence    |
    |----------------------------------------------------------------------|--------------|-----------------------|
    | at n, MAC wrong (payload, MAC, key id, link, tenant changed)          | TAMPERED     | n                     |
    | another place than n (deleted, moved, out of order)                  | TAMPERED     | lesser of it and n    |
    | same place or predecessor as the entry before, both authentic        | FORKED       | lesser of place and n |
    | same, but one is not authentic, or it is a plain copy                | TAMPERED     | lesser of place and n |
    | at n, authentic, follows another MAC than an authentic n - 1 has      | FORKED       | n - 1, claimed twice  |
    | at n, follows another MAC than `start` has                           | TAMPERED     | n                     |
    | at n, follows another MAC than n - 1 has, whose key is missing       | TAMPERED     | n - 1                 |
    | at n, key missing, follows another MAC than an authentic n - 1 has   | TAMPERED     | n                     |
    | at n, key missing, link right                                        | UNVERIFIABLE | n; the check goes on  |
    | authentic at the head's place, with another MAC than the head        | FORKED       | head's                |
    | not authentic there (key missing, or `start`), another MAC           | TAMPERED     | head's                |
    | the end comes before the head, or `reach`                            | TRUNCATED    | first missing         |

    The first TAMPERED or FORKED is final. It outranks TRUNCATED, and that UNVERIFIABLE. A fork is reported where it is
    first seen, which may be later than where it began.
    """

    def __init__(
        self,
        organisation: UUID,
        keys: Callable[[str], bytes | None],
        head: Head | None = None,
        start: Head = EMPTY,
        reach: int = 0,
    ) -> None:
        self._prefix = DOMAIN_TAG + organisation.bytes
        self._keys = keys
        self._key_id: str | None = None
        self._key: MacKey | None = None
        self._sized_key_id = b""
        self._recorded = head
        self._reach = max(reach, head.sequence if head is not None else 0)
        self._start = start
        self._sequence, self._mac = start
        self._previous: bytes | None = None
        self._authentic = False
        self._checked = 0
        self._final: tuple[Outcome, int, str] | None = None
        self._unverifiable: list[Span] = []
        self._unverifiable_count = 0
        if head is not None and head.sequence == start.sequence and head.mac != start.mac:
            self._settle(Outcome.TAMPERED, head.sequence, "The start of the check is not the recorded head.")

    @property
    def checked_records(self) -> int:
        """Entries read so far, for progress."""
        return self._checked

    @property
    def key_id(self) -> str:
        """The key id of the entry that was read last; empty before the first."""
        return self._key_id or ""

    @property
    def head(self) -> Head:
        """The last entry that was read and found in its place; with a VALID verdict, the head of what was checked."""
        return Head(self._sequence, self._mac)

    def feed_all(self, entries: Iterable[Sequence[Any]]) -> bool:
        """Checks a batch of entries; False as soon as no later one can change the verdict."""
        return all(map(self.feed, entries))

    def feed(self, entry: Sequence[Any]) -> bool:
        """Checks the next entry; False as soon as no later entry can change the verdict."""
        if self._final is not None:
            return False
        self._checked += 1
        sequence, key_id, previous, claimed, payload = entry
        if key_id != self._key_id:
            self._take_key(key_id)
        authentic: bool | None = None
        if self._key is not None:
            authentic = (
                len(previous) == MAC_BYTES
                and 1 <= sequence <= MAX_SEQUENCE
                and hmac.compare_digest(
                    self._key.digest(_message(self._prefix, sequence, self._sized_key_id, previous, payload)), claimed
                )
            )
        if sequence != self._sequence + 1 or previous == self._previous:
            return self._misplaced(Entry._make(entry), authentic)
        if authentic is False:
            return self._settle(Outcome.TAMPERED, sequence, f"The MAC of entry {sequence} does not fit it.")
        if previous != self._mac:
            return self._unlinked(sequence, authentic)
        if authentic is None:
            self._note_unverifiable(sequence)
        self._sequence, self._mac, self._previous, self._authentic = sequence, claimed, previous, authentic is True
        if self._recorded is not None and sequence == self._recorded.sequence and claimed != self._recorded.mac:
            outcome = Outcome.FORKED if authentic else Outcome.TAMPERED
            return self._settle(outcome, sequence, f"Entry {sequence} is another than the recorded head.")
        return True

    def finish(self) -> Verdict:
        """The verdict on what was fed, the end of the chain being here."""
        spans = tuple(self._unverifiable)
        if self._final is not None:
            outcome, place, reason = self._final
            return Verdict(outcome, place, self._checked, reason, spans)
        if self._sequence < self._reach:
            reason = f"The chain ends at {self._sequence}; its recorded head is {self._reach}."
            return Verdict(Outcome.TRUNCATED, self._sequence + 1, self._checked, reason, spans)
        if spans:
            count = self._unverifiable_count
            reason = f"The keys of {count} entries are missing, the first being {spans[0].first}; all else fits."
            return Verdict(Outcome.UNVERIFIABLE, spans[0].first, self._checked, reason, spans)
        return Verdict(Outcome.VALID, None, self._checked, "Every entry fits its MAC and its predecessor.")

    def _note_unverifiable(self, sequence: int) -> None:
        self._unverifiable_count += 1
        spans = self._unverifiable
        if spans and spans[-1].last == sequence - 1:
            spans[-1] = Span(spans[-1].first, sequence)
        elif len(spans) < MAX_SPANS:
            spans.append(Span(sequence, sequence))

    def _misplaced(self, entry: Entry, authentic: bool | None) -> bool:
        place = min(entry.sequence, self._sequence + 1)
        rival = entry.sequence == self._sequence or entry.previous_mac == self._previous
        if rival and authentic and self._authentic and entry.mac != self._mac:
            reason = f"Entries {self._sequence} and {entry.sequence} both stand in one place or follow one entry."
            return self._settle(Outcome.FORKED, place, reason)
        reason = f"Entry {entry.sequence} stands where {self._sequence + 1} belongs."
        return self._settle(Outcome.TAMPERED, place, reason)

    def _unlinked(self, sequence: int, authentic: bool | None) -> bool:
        first = sequence == self._start.sequence + 1
        if authentic and self._authentic:
            reason = f"Entry {sequence} follows another entry {sequence - 1} than the one that stands there."
            return self._settle(Outcome.FORKED, sequence - 1, reason)
        if first or self._authentic:
            reason = f"Entry {sequence} does not follow entry {sequence - 1}."
            return self._settle(Outcome.TAMPERED, sequence, reason)
        reason = f"Entry {sequence - 1}, whose key is missing, is not the one that entry {sequence} follows."
        return self._settle(Outcome.TAMPERED, sequence - 1, reason)

    def _take_key(self, key_id: str) -> None:
        self._key_id = key_id
        try:
            self._sized_key_id = _length_prefixed(key_id)
        except ValueError:
            key = None
        else:
            key = self._keys(key_id)
        self._key = None if key is None else MacKey(key)

    def _settle(self, outcome: Outcome, place: int, reason: str) -> bool:
        self._final = (outcome, place, reason)
        return False


def _message(prefix: bytes, sequence: int, sized_key_id: bytes, previous_mac: bytes, payload: bytes) -> bytes:
    return b"".join((prefix, sequence.to_bytes(8, "big"), sized_key_id, previous_mac, payload))


def _length_prefixed(key_id: str) -> bytes:
    encoded = key_id.encode()
    if not 1 <= len(encoded) <= MAX_KEY_ID_BYTES:
        raise ValueError("a key id has 1 to 255 bytes")
    return bytes((len(encoded),)) + encoded
