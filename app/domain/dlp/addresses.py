"""E-mail and IP addresses."""

import re
from collections.abc import Iterator
from ipaddress import AddressValueError, IPv6Address

from app.domain.dlp.finding import Detector, Finding
from app.domain.dlp.text import Text, words

#: Characters of an address before its `@` (RFC 5321).
_LONGEST_LOCAL = 64
_LOCAL = re.compile(r"[\w.%+'-]{1,64}")
_DOMAIN = re.compile(r"(?:[^\W_](?:[\w-]{0,62}[^\W_])?\.){1,8}[^\W\d_]{2,24}(?![\w-])")
#: Ends of file names such as `icon@2x.png`.
_FILES = frozenset({"png", "jpg", "jpeg", "gif", "svg", "webp", "ico", "css", "js", "ts", "json", "xml", "html", "map"})


def emails(text: Text) -> Iterator[Finding]:
    """Around each `@`. The user of a git server (`git@host:path`) is nobody."""
    folded = text.folded
    for at in text.places("@"):
        back = _LOCAL.match(folded[max(0, at - _LONGEST_LOCAL) : at][::-1])
        local = back.group()[::-1].lstrip(".%+'-") if back else ""
        domain = _DOMAIN.match(folded, at + 1)
        if not local or domain is None or domain.group().rsplit(".", 1)[-1].lower() in _FILES:
            continue
        if local == "git" and folded[domain.end() : domain.end() + 1] in {":", "/"}:
            continue
        yield Finding(at - len(local), domain.end(), Detector.EMAIL)


_V4 = re.compile(r"[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}")
_OCTET = frozenset(str(number) for number in range(256))
_RESOLVERS = frozenset({"1.1.1.1", "1.0.0.1", "8.8.8.8", "8.8.4.4", "9.9.9.9", "4.4.4.4"})
_NUMBERED = words("version", "release", "build", "section", "chapter", "kapitel", "abschnitt", "oid", "rev")


def ipv4(text: Text) -> Iterator[Finding]:
    """Not this machine, no network mask, no number of a version or a section."""
    for match in _quads(text):
        parts = match.group().split(".")
        if not _OCTET.issuperset(parts) or parts[0] in {"0", "127", "255"} or not text.apart(*match.span()):
            continue
        before = text.before(match.start())
        if before.rstrip().endswith(("v", "§", "==", ">=", "~=", "^", "~")) or _NUMBERED.search(before[-16:]):
            continue
        # Of one digit each: so sections are numbered, and of all addresses few resolvers.
        if all(len(part) == 1 for part in parts) and match.group() not in _RESOLVERS:
            continue
        yield Finding(*match.span(), Detector.IP)


def _quads(text: Text) -> Iterator[re.Match[str]]:
    for start, end in text.numbers:
        if text.folded.count(".", start, end) >= 3:
            yield from _V4.finditer(text.folded, start, end)


_COLONS = re.compile(r":[0-9A-Fa-f]{0,4}:")
_GROUPS = re.compile(r"[0-9A-Fa-f:]{0,40}")
_LONGEST_V6 = 39


def ipv6(text: Text) -> Iterator[Finding]:
    """Four groups at least, or a prefix that is in use; neither `::1` nor the name of something in C++ or Rust."""
    folded, end = text.folded, 0
    for match in _COLONS.finditer(folded):
        if match.start() < end:
            continue
        back = _GROUPS.match(folded[max(0, match.start() - _LONGEST_V6) : match.start()][::-1])
        start = match.start() - (back.end() if back else 0)
        found = _GROUPS.match(folded, start)
        if found is None:
            continue
        end = found.end()
        address = found.group()
        if len(address) > _LONGEST_V6 or not text.apart(start, end) or not _is_v6(address):
            continue
        yield Finding(start, end, Detector.IP)


def _is_v6(address: str) -> bool:
    groups = [group for group in address.split(":") if group]
    if not any(sign.isdigit() for sign in address) or not (
        len(groups) >= 4 or address[:4].lower() in {"fe80", "2001", "2a00", "2a01", "2a02", "2606", "2607", "2620"}
    ):
        return False
    try:
        IPv6Address(address)
    except (AddressValueError, ValueError):
        return False
    return True
