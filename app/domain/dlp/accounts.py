"""Numbers of payment cards and bank accounts, told by their check digits."""

import re
from collections.abc import Iterator
from functools import cache

from app.domain.dlp.finding import Detector, Finding
from app.domain.dlp.text import Text

#: One number, or groups of four (American Express: of four, six and five) with the same sign between them.
_CARD = re.compile(
    r"(?<![0-9])(?:[0-9]{14,19}|3[47][0-9]{2}([ -])[0-9]{6}\1[0-9]{5}"
    r"|[0-9]{4}([ -])[0-9]{4}\2[0-9]{4}\2[0-9]{2,4}(?:\2[0-9]{3})?)(?![0-9])"
)
#: First digits and lengths that are issued.
_ISSUED = re.compile(
    r"4(?:[0-9]{15}|[0-9]{18})|5[1-5][0-9]{14}|2(?:22[1-9]|2[3-9][0-9]|[3-6][0-9]{2}|7[01][0-9]|720)[0-9]{12}"
    r"|3[47][0-9]{13}|3(?:0[0-5]|[689][0-9])[0-9]{11}|6(?:011|5[0-9]{2}|4[4-9][0-9])[0-9]{12}"
    r"|35(?:2[89]|[3-8][0-9])[0-9]{12}|62[0-9]{14,17}|(?:50[0-9]|5[6-9][0-9]|6[0-9]{2})[0-9]{13}"
)


def luhn(digits: str) -> bool:
    """The check of ISO/IEC 7812."""
    total = 0
    for place, digit in enumerate(reversed(digits)):
        number = int(digit) * (1 + place % 2)
        total += number - 9 if number > 9 else number
    return total % 10 == 0


def cards(text: Text) -> Iterator[Finding]:
    """Issued ranges with a true check digit. One digit over and over is a placeholder."""
    for start, end in text.runs:
        for match in _CARD.finditer(text.folded, start, min(end + 1, len(text.folded))):
            digits = re.sub(r"[ -]", "", match.group())
            if not _ISSUED.fullmatch(digits) or not luhn(digits) or len(set(digits)) < 2:
                continue
            if text.apart(*match.span()) and not text.folded[max(0, match.start() - 2) : match.start()].endswith("-"):
                yield Finding(*match.span(), Detector.CARD)


#: Country and check digits.
_HEAD = 4
#: Characters of an account number by country (ISO 13616, SWIFT's registry).
_LENGTHS = {
    **dict.fromkeys(["NO"], 15),
    **dict.fromkeys(["BE"], 16),
    **dict.fromkeys(["DK", "FI", "FK", "FO", "GL", "NL", "SD"], 18),
    **dict.fromkeys(["MK", "SI"], 19),
    **dict.fromkeys(["AT", "BA", "EE", "KZ", "LT", "LU", "MN", "XK"], 20),
    **dict.fromkeys(["CH", "CR", "HR", "LI", "LV"], 21),
    **dict.fromkeys(["BG", "BH", "DE", "GB", "GE", "IE", "ME", "RS", "VA"], 22),
    **dict.fromkeys(["AE", "GI", "IL", "IQ", "OM", "SO", "TL"], 23),
    **dict.fromkeys(["AD", "CZ", "ES", "MD", "PK", "RO", "SA", "SE", "SK", "TN", "VG"], 24),
    **dict.fromkeys(["LY", "PT", "ST"], 25),
    **dict.fromkeys(["IS", "TR"], 26),
    **dict.fromkeys(["BI", "DJ", "FR", "GR", "IT", "MC", "MR", "SM"], 27),
    **dict.fromkeys(["AL", "AZ", "BY", "CY", "DO", "GT", "HU", "LB", "NI", "PL", "SV"], 28),
    **dict.fromkeys(["BR", "EG", "PS", "QA", "UA"], 29),
    **dict.fromkeys(["JO", "KW", "MU", "YE"], 30),
    **dict.fromkeys(["MT", "SC"], 31),
    **dict.fromkeys(["LC"], 32),
    **dict.fromkeys(["RU"], 33),
}


@cache
def _rest(length: int) -> re.Pattern[str]:
    return re.compile(rf"(?:[ -]?[A-Z0-9]){{{length}}}(?![A-Za-z0-9])")


def ibans(text: Text) -> Iterator[Finding]:
    """As long as those of their country, and 1 modulo 97."""
    folded = text.folded
    for start, end in text.codes:
        length = _LENGTHS.get(folded[start : start + 2]) if end - start == _HEAD else None
        rest = None if length is None else _rest(length - _HEAD).match(folded, end)
        if rest is None or folded[max(0, start - 1) : start].isalnum():
            continue
        plain = re.sub(r"[ -]", "", rest.group()) + folded[start:end]
        if int("".join(str(int(sign, 36)) for sign in plain)) % 97 == 1:
            yield Finding(start, rest.end(), Detector.IBAN)
