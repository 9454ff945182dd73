"""A text without what was found in it. It keeps its length and its lines, so offsets into it stay true."""

from app.domain.dlp.finding import Detector, Findings

_LABELS = {
    Detector.EMAIL: "EMAIL",
    Detector.PHONE: "PHONE",
    Detector.CARD: "CARD",
    Detector.IBAN: "IBAN",
    Detector.NATIONAL_ID: "ID",
    Detector.IP: "IP",
    Detector.SECRET: "SECRET",
}
_ENDS = frozenset("\r\n")


def placeholder(detector: Detector, length: int) -> str:
    """`[EMAIL***]`, as long as what it stands for; stars alone where that is too short to be named."""
    label = _LABELS[detector]
    return f"[{label}{'*' * (length - len(label) - 2)}]" if length >= len(label) + 2 else "*" * length


def masked(text: str, found: Findings) -> str:
    """`found` in order and apart. Line breaks inside a finding stay."""
    if not found:
        return text
    parts: list[str] = []
    position = 0
    for item in found:
        parts.append(text[position : item.start])
        hidden, cover = text[item.start : item.end], placeholder(item.detector, item.end - item.start)
        if not _ENDS.isdisjoint(hidden):
            cover = "".join(sign if sign in _ENDS else over for sign, over in zip(hidden, cover, strict=True))
        parts.append(cover)
        position = item.end
    parts.append(text[position:])
    return "".join(parts)


def blanked(text: str, found: Findings) -> str:
    """The same with blanks: the words of a placeholder, which every masked text holds, would find nothing."""
    if not found:
        return text
    parts: list[str] = []
    position = 0
    for item in found:
        parts += (text[position : item.start], " " * (item.end - item.start))
        position = item.end
    return "".join((*parts, text[position:]))
