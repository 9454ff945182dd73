"""The encoding of bytes that are not UTF-8 and bear no mark."""

import codecs
import re

from charset_normalizer import from_bytes

#: What a byte a character is read as, where nothing speaks for another: the encoding of Western Windows.
DEFAULT = "cp1252"

_SAMPLE = 65_536
_DECLARED = re.compile(
    rb"""(?:<\?xml[^>]{0,100}encoding=|<meta[^>]{0,200}charset=|^[ \t]*\#.{0,40}coding[:=][ \t]*)"""
    rb"""["']?([A-Za-z][\w.:-]{1,40})""",
    re.IGNORECASE | re.MULTILINE,
)
_BEYOND = re.compile(rb"[\x80-\xff]")
#: In Latin letters few of those beyond ASCII stand together; in other scripts nearly all do.
_RUN = re.compile(rb"[\x80-\xff]{4,}")
_WESTERN = [DEFAULT, "cp1250", "cp1254", "cp1257"]
_OTHERS = ["cp932", "gb18030", "big5", "cp949", "euc_jp", "cp1251", "koi8_r", "cp1253", "cp1255", "cp1256", "cp874"]
_NAMES = {
    "cp1252": "Windows-1252",
    "cp932": "Shift-JIS",
    "gb18030": "GB18030",
    "big5": "Big5",
    "cp949": "EUC-KR",
    "euc_jp": "EUC-JP",
    "koi8_r": "KOI8-R",
    "latin_1": "Latin-1",
}
#: Shares of NUL bytes: of UTF-16 text in letters of the West nearly every second byte is one.
_LEAST_UTF16, _NULS = 16, 0.3
_LEAST_LETTERS = 16


def shown(encoding: str) -> str:
    """As people call it."""
    return _NAMES.get(encoding) or encoding.upper().replace("CP125", "Windows-125").replace("_", "-")


def utf16_without_mark(data: bytes) -> str | None:
    """The byte order of UTF-16 that bears no mark: its NUL bytes all stand on one side."""
    sample = data[: _SAMPLE & ~1]
    if len(sample) < _LEAST_UTF16 or len(data) % 2:
        return None
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    for many, few, encoding in ((odd, even, "utf-16-le"), (even, odd, "utf-16-be")):
        if many >= _NULS * len(sample) / 2 and few * 20 <= many and _decodes(data, encoding):
            return encoding
    return None


def declared(data: bytes) -> str | None:
    """What the text says of itself at its beginning: XML, HTML, Python and others do."""
    match = _DECLARED.search(data[:1024])
    if match is None:
        return None
    try:
        name = codecs.lookup(match[1].decode()).name
    except LookupError:
        return None
    return name if name not in {"utf-8", "ascii"} and _decodes(data, name) else None


def guess(data: bytes) -> str:
    """The likeliest encoding by the letters and their frequencies; `DEFAULT` or Latin-1 where nothing stands out."""
    sample = data[:_SAMPLE]
    beyond = len(_BEYOND.findall(sample))
    candidates = _OTHERS if 2 * sum(map(len, _RUN.findall(sample))) > beyond else _WESTERN
    usable = [encoding for encoding in candidates if _decodes(data, encoding)]
    found = from_bytes(sample, cp_isolation=usable).best() if usable else None
    fallback = DEFAULT if _decodes(data, DEFAULT) else "latin_1"
    if found is None:
        return fallback
    best = found.encoding
    if best not in usable or (fallback == DEFAULT and data.decode(best) == data.decode(DEFAULT)):
        return fallback
    # Few letters beyond ASCII tell too little to prefer a rarer encoding.
    telling = candidates is _OTHERS or fallback != DEFAULT or beyond >= _LEAST_LETTERS
    return best if telling else fallback


def _decodes(data: bytes, encoding: str) -> bool:
    try:
        data.decode(encoding)
    except (UnicodeError, LookupError):
        return False
    return True
