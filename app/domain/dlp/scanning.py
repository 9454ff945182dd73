"""A scan: all detectors over one text. What may leave for another host is made here and nowhere else."""

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NewType

from app.domain.dlp.accounts import cards, ibans
from app.domain.dlp.addresses import emails, ipv4, ipv6
from app.domain.dlp.finding import DETECTORS_VERSION, Finding, Findings, merged, within
from app.domain.dlp.folding import fold
from app.domain.dlp.identities import Kind, identities
from app.domain.dlp.masking import masked
from app.domain.dlp.phones import phones
from app.domain.dlp.secrets import assignments, credentials, keys, private_keys
from app.domain.dlp.text import Detect, Text

#: A text in which everything that detectors find is masked. Endpoints take nothing else.
Redacted = NewType("Redacted", str)

#: Short texts whose findings are remembered: titles, headings, names of files come again and again.
REMEMBERED, SHORT = 16_384, 300
#: How deep a JSON value is looked at.
LEVELS = 64


@dataclass(frozen=True, slots=True)
class Part:
    """A stored part of a text that was scanned as a whole, with what was found in it, and the tag of that scan."""

    text: str
    found: Findings
    tag: str


class ScanFailed(Exception):
    """A detector broke down. What it was given is not known to be clean, so nothing of it may go on."""


class Scanner:
    """All detectors. Stateless but for a memory of short texts; shared by threads."""

    def __init__(self, kinds: Sequence[Kind] = (), more: Sequence[Detect] = ()) -> None:
        self._detectors: tuple[Detect, ...] = (
            emails,
            ipv4,
            ipv6,
            cards,
            ibans,
            phones,
            identities(kinds),
            keys,
            private_keys,
            credentials,
            assignments,
            *more,
        )
        self._short = lru_cache(REMEMBERED)(self._scan)

    def scan(self, text: str) -> Findings:
        """What is found, in order and apart, in code points of the text; linear in it. `ScanFailed` when a detector
        fails."""
        return self._short(text) if len(text) <= SHORT else self._scan(text)

    def scan_slice(self, text: str, found: Findings, start: int, end: int) -> Findings:
        """What is found in a slice of a text in which `found` was found: [start, end) of it, and before that what is
        repeated from elsewhere, as the head of a table is."""
        lead = len(text) - (end - start)
        inside = (Finding(item.start + lead, item.end + lead, item.detector) for item in within(found, start, end))
        return (*(self.scan(text[:lead]) if lead else ()), *inside)

    def redacted(self, text: str) -> Redacted:
        """The text without what is found in it."""
        return Redacted(masked(text, self.scan(text)))

    def redacted_part(self, part: Part) -> Redacted:
        """The same of a part of a longer text."""
        return Redacted(masked(part.text, self.scan_part(part)))

    def redacted_json(self, value: Any, levels: int = LEVELS) -> Any:
        """A JSON value without what is found in its strings and keys; the value itself where nothing is. Keys that
        become the same are told apart by stars. What is nested deeper than `levels` becomes null."""
        match value:
            case str():
                return masked(value, found) if (found := self.scan(value)) else value
            case Mapping() | list() if levels == 0:
                return None
            case Mapping():
                shown: dict[str, Any] = {}
                for key, item in value.items():
                    hidden: str = self.redacted(key)
                    while hidden != key and (hidden in shown or hidden in value):
                        hidden += "*"
                    shown[hidden] = self.redacted_json(item, levels - 1)
                same = all(key in shown and shown[key] is item for key, item in value.items())
                return value if same else shown
            case list():
                items = [self.redacted_json(item, levels - 1) for item in value]
                return value if all(map(operator.is_, items, value)) else items
            case _:
                return value

    def scan_part(self, part: Part) -> Findings:
        """What was found in it together with what stood around it; and what is found now, where that was by other
        detectors than today's."""
        if part.tag.split("/", 1)[0] == str(DETECTORS_VERSION):
            return part.found
        return merged((*self.scan(part.text), *part.found))

    def _scan(self, text: str) -> Findings:
        try:
            folded = fold(text)
            looked_at = Text(folded.text)
            found = [
                Finding(*folded.original(item.start, item.end), item.detector)
                for detect in self._detectors
                for item in detect(looked_at)
            ]
        except Exception as error:
            # Its text may hold what was found: only the kind is told on.
            raise ScanFailed(type(error).__name__) from None
        return merged(found)
