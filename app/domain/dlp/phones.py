"""Telephone numbers: international ones, national ones in the way they are written, others beside a word for them."""

import re
from collections.abc import Iterator

from app.domain.dlp.finding import Detector, Finding
from app.domain.dlp.text import Text, words

_INTERNATIONAL = re.compile(r"\+[1-9](?:[ .\-/()‐–]{0,3}[0-9]){7,14}(?![0-9])")
_NATIONAL = re.compile(
    r"00[1-9][0-9]{0,2}(?:[ .\-/][0-9]{2,5}){2,5}"  # 0049 30 123456
    r"|\(?[2-9][0-9]{2}(?:\) ?|[.\- ])[2-9][0-9]{2}[.\- ][0-9]{4}"  # (415) 555-2671
    r"|0[1-9](?:([ .\-])[0-9]{2})(?:\1[0-9]{2}){3}"  # 06 12 34 56 78
    r"|\(?0[1-9][0-9]{1,4}(?:\) ?|[ /\-])[0-9]{3,8}(?:[ \-][0-9]{2,4}){0,2}"  # 030 1234567, 020 7946 0958
)
_SAID = words(
    r"tel(?:[.:/ ]|e[fp]|[ée]f)", r"tél(?:[.: ]|é)", "phone", r"fon(?:[: ]|o\b)", r"mobil(?:e|nr|nummer|funk|:| )",
    "móvil", "cellulare", r"cell(?: ?phone|[:.]| no)", r"portable ?:", r"handy(?:[ :]|n)", r"fax\b",
    r"call (?:me|us|at|on)\b", "ruf(?:en|nummer| mich| uns)", "rückruf", "whatsapp", "durchwahl",
    "appele", "llám", "llam[ae]", "chiama",
)  # fmt: skip
_SAID_WITHIN = 24
_OTHER = words("date", "datum", "isbn", "issn", "doi", "invoice", "rechnung", "order", "ticket", "version", "id ", "#")
_DATED = re.compile(
    r"(?:19|20)[0-9]{2}[ ./-][01]?[0-9][ ./-][0-3]?[0-9]|[0-3]?[0-9][./-][01]?[0-9][./-](?:19|20)?[0-9]{2}"
)


def phones(text: Text) -> Iterator[Finding]:
    """Precision first: digits alone, without a word for a telephone, are none."""
    folded = text.folded
    for place in text.places("+"):
        match = _INTERNATIONAL.match(folded, place)
        if match is not None and not (folded[place - 1 : place].isalnum() or folded[place - 1 : place] in {"_", "+"}):
            yield Finding(*match.span(), Detector.PHONE)
    for start, end in text.runs:
        opened = start - 1 if folded[start - 1 : start] == "(" else start
        said = "(-" not in folded[start:end] and _SAID.search(text.before(start)[-_SAID_WITHIN:]) is not None
        if said:
            last = _fifteen(folded, start, end)
            if _digits(folded[start:last]) >= 7 and not _DATED.match(folded, start) and text.apart(start, last):
                yield Finding(opened, last, Detector.PHONE)
                continue
        for match in _NATIONAL.finditer(folded, opened, min(end + 1, len(folded))):
            if (
                not _alone(folded, *match.span())
                or not text.apart(*match.span())
                or not 9 <= _digits(match.group()) <= 15
            ):
                continue
            if _DATED.match(match.group()) or _OTHER.search(text.before(match.start())[-16:]):
                continue
            yield Finding(*match.span(), Detector.PHONE)


def _alone(text: str, start: int, end: int) -> bool:
    """Whether no further group of digits follows or goes before: it is then part of another number."""
    before, after = text[max(0, start - 2) : start], text[end : end + 2]
    return not (before[:1].isdigit() and len(before) == 2) and not after[1:].isdigit()


def _digits(text: str) -> int:
    return sum(sign.isdigit() for sign in text)


def _fifteen(text: str, start: int, end: int) -> int:
    """The end of a run, or of its last whole group within fifteen digits: no number is longer."""
    last, digits = end, 0
    for place in range(start, end):
        if text[place].isdigit():
            digits += 1
            if digits > 15:
                return last if last < end else start
        elif text[place - 1].isdigit():
            last = place
    return end
