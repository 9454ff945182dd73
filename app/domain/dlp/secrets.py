"""Keys and passwords: forms that providers give their keys, private keys, and values that are assigned to a name for a
secret. After the plugins of detect-secrets; what is a reference to a secret, or a place for one, is none."""

import re
from collections.abc import Iterator
from functools import cache

from app.domain.dlp.finding import Detector, Finding
from app.domain.dlp.text import Text

_WORD = r"[A-Za-z0-9_-]"
#: What a key begins with, and its whole form.
_KEYS = {
    "AKIA": r"AKIA[A-Z0-9]{16}",
    "ASIA": r"ASIA[A-Z0-9]{16}",
    "AIza": rf"AIza{_WORD}{{35}}",
    "GOCSPX-": rf"GOCSPX-{_WORD}{{28}}",
    "ya29.": rf"ya29\.{_WORD}{{20,500}}",
    "ghp_": r"ghp_[A-Za-z0-9]{36,255}",
    "gho_": r"gho_[A-Za-z0-9]{36,255}",
    "ghu_": r"ghu_[A-Za-z0-9]{36,255}",
    "ghs_": r"ghs_[A-Za-z0-9]{36,255}",
    "ghr_": r"ghr_[A-Za-z0-9]{36,255}",
    "github_pat_": r"github_pat_[A-Za-z0-9_]{22,255}",
    "glpat-": rf"glpat-{_WORD}{{20,255}}",
    "xox": r"xox[abeoprs]-[A-Za-z0-9-]{10,255}",
    "xapp-": r"xapp-[A-Za-z0-9-]{20,255}",
    "hooks.slack.com/services/": r"hooks\.slack\.com/services/[A-Za-z0-9/]{30,80}",
    "_live_": r"(?<=[srp]k)_live_[A-Za-z0-9]{16,255}",
    "_test_": r"(?<=[sr]k)_test_[A-Za-z0-9]{16,255}",
    "sk-": r"sk-(?:[a-z]{2,8}\d{0,2}-)?[A-Za-z0-9_-]{32,255}",
    "SG.": rf"SG\.{_WORD}{{16,32}}\.{_WORD}{{16,64}}",
    "npm_": r"npm_[A-Za-z0-9]{36}",
    "pypi-AgE": rf"pypi-AgE{_WORD}{{40,500}}",
    "hf_": r"hf_[A-Za-z0-9]{30,64}",
    "dop_v1_": r"dop_v1_[a-f0-9]{64}",
    "shpat_": r"shpat_[a-fA-F0-9]{32}",
    "dapi": r"dapi[a-f0-9]{32}",
    "AccountKey=": r"AccountKey=[A-Za-z0-9+/]{86}==",
    "eyJ": rf"eyJ{_WORD}{{8,2000}}\.{_WORD}{{8,4000}}\.{_WORD}{{8,1000}}",
}
_FORMS = {start: re.compile(form) for start, form in _KEYS.items()}


def keys(text: Text) -> Iterator[Finding]:
    """Keys in the forms of their providers."""
    for literal, form in _FORMS.items():
        for place in text.places(literal):
            match = form.match(text.folded, place)
            if match is None:
                continue
            start = place - 2 if literal in {"_live_", "_test_"} else place
            before = text.folded[max(0, start - 1) : start]
            after = text.folded[match.end() : match.end() + 1]
            if not (before.isalnum() or after.isalnum()):
                yield Finding(start, match.end(), Detector.SECRET)


_BEGIN = re.compile(r"-----BEGIN (?:[A-Z0-9]{2,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_END = "-----END "
_BODY = re.compile(r"[A-Za-z0-9+/=\s:,.\\\-]*")
_LONGEST_KEY = 20_000


def private_keys(text: Text) -> Iterator[Finding]:
    """From BEGIN to the end of END, or as far as it looks like a key where that is missing."""
    folded, done = text.folded, 0
    for place in text.places("-----BEGIN "):
        begin = _BEGIN.match(folded, place)
        if begin is None or place < done:
            continue
        end = folded.find(_END, begin.end(), begin.end() + _LONGEST_KEY)
        if end >= 0:
            closing = folded.find("-----", end + len(_END), end + 80)
            done = closing + 5 if closing >= 0 else end
        else:
            body = _BODY.match(folded, begin.end(), begin.end() + _LONGEST_KEY)
            done = body.end() if body else begin.end()
        yield Finding(place, done, Detector.SECRET)


_USER = re.compile(r"[^\s:/@\"'<>]{0,64}:([^\s/@\"'<>]{2,128})@(?=[\w\[])")
_AUTHORISATION = re.compile(r"(?:bearer|basic|token)[ \t]+([A-Za-z0-9+/=._~-]{16,4000})", re.IGNORECASE)


def credentials(text: Text) -> Iterator[Finding]:
    """Passwords in URLs, and what an Authorization header carries."""
    for place in text.places("://"):
        match = _USER.match(text.folded, place + 3)
        if match is not None and not _is_place(match.group(1)):
            yield Finding(*match.span(1), Detector.SECRET)
    for place in text.places("authorization", lowered=True):
        match = _AUTHORISATION.search(text.folded, place + 13, place + 40)
        whole = None if match is None else _AUTHORISATION.match(text.folded, match.start())
        if whole is not None and _mixed(whole.group(1)) >= 2:
            yield Finding(*whole.span(1), Detector.SECRET)


#: Stems of names, each with the rest of the name as far as it says that a secret follows. The sure ones need no more;
#: after the others the value must look like one.
_SURE = {
    "pass": r"pass(?:w(?:or[dt]|d)(?:s|e)?|wd|phrase)|(?<=mot de )passe",
    "pwd": r"pwd",
    "kennwort": r"kennwort",
    "contrase": r"contraseñ[ao]|contrasena",
    "parola": r"parola (?:d'ordine|chiave)",
    "senha": r"senha",
}
_OF = ("api", "access", "private", "secret", "encryption", "signing", "account", "shared", "master", "auth", "license")
_LIKELY = {
    "secret": r"secret(?![a-z])",
    "token": r"token(?![a-z])",
    "key": "(?:" + "|".join(f"(?<={word})|(?<={word}[_\\- ])" for word in _OF) + ")key(?![a-z])",
    "schlüssel": r"schlüssel",
    "clave": r"clave(?![a-z])",
    "jeton": r"jeton(?![a-z])",
    "chiave": r"chiave(?![a-z])",
}
#: What a name goes on with where its value says something about a secret.
_ABOUT = (
    r"(?![\w-]{0,24}(?:file|path|dir|ur[il]|name|type|id|ids|count|length|len|size|field|policy|budget|limit|header"
    r"|prefix|expir\w*|ttl|timeout|env|class|hint|label|rules?|regex|algorithm|format|hash)\b)"
)
_ASSIGNED = (
    r"[\w-]{0,24}[\"'`*]{0,3}[ \t]{0,4}(?:\([^()\n]{0,24}\)[ \t]?)?"
    r"(?::=|=>|={1,2}|:|\bis\b|\bist\b|\best\b|\bes\b|\bè\b|[ \t]?\|)[ \t*]{0,4}"
    r"(?:(?P<quote>[\"'`])(?P<quoted>[^\"'`\n]{1,256})(?P=quote)|(?P<bare>[^\s\"'`|]{1,256}))"
)


@cache
def _assignment(name: str) -> re.Pattern[str]:
    return re.compile(f"(?:{name}){_ABOUT}{_ASSIGNED}", re.IGNORECASE)


def assignments(text: Text) -> Iterator[Finding]:
    """`password: …`, `api_key = "…"`: the value, where it is one."""
    for names, sure in ((_SURE, True), (_LIKELY, False)):
        for stem, name in names.items():
            for place in text.places(stem, lowered=True):
                match = _assignment(name).match(text.folded, place)
                if match is None:
                    continue
                quoted, bare = match.group("quoted"), match.group("bare")
                if quoted is not None and _is_secret(quoted, sure=sure, quoted=True):
                    yield Finding(*match.span("quoted"), Detector.SECRET)
                elif bare is not None:
                    value = bare.rstrip(".,;:)]}>")
                    if _is_secret(value, sure=sure, quoted=False):
                        yield Finding(match.start("bare"), match.start("bare") + len(value), Detector.SECRET)


_PLACE = re.compile(
    r"[<\[{$%(].*|.*[>\]})]|.*(?:%[sdr(]|\{|\\).*|(?:\*|x|X|\.|•|-|_|#|0|…)+"
    r"|(?:your|my|dein|ihr|votre|tu|su|some|the|any|new|old)[\w\- ].*"
    r"|(?:none|null|nil|true|false|undefined|required|optional|string|str|bytes|secret|password|passwort|passwd|passw?"
    r"|pwd|pw|token|key|empty|test|user|username|admin|change[_-]?me|example|placeholder|redacted|hidden|env"
    r"|os\.environ.*|process\.env.*|config.*|settings.*|self\..*)",
    re.IGNORECASE,
)
#: A name, a path through names, a call, a type: what a program writes where the secret comes from elsewhere.
_REFERENCE = re.compile(
    r"[A-Za-z_][A-Za-z_]*(?:(?:\.|::|->|_|-)[A-Za-z_]\w*)*[\[(].*|[A-Za-z_]+(?:(?:\.|::|->)[A-Za-z_]\w*)+"
)
_URL = re.compile(r"[a-z][a-z0-9+.-]{1,15}://|[./~]{1,2}/|/\w", re.IGNORECASE)


def _is_place(value: str) -> bool:
    """Whether it only marks the place of a secret."""
    return _PLACE.fullmatch(value) is not None


def _mixed(value: str) -> int:
    """Kinds of characters in it: lower case, upper case, digits, others."""
    return sum(
        (
            any(sign.islower() for sign in value),
            any(sign.isupper() for sign in value),
            any(sign.isdigit() for sign in value),
            any(not sign.isalnum() and sign not in "_-." for sign in value),
        )
    )


def _is_secret(value: str, *, sure: bool, quoted: bool) -> bool:
    if len(value) < 4 or _is_place(value) or _REFERENCE.fullmatch(value) or _URL.match(value):
        return False
    digits = any(sign.isdigit() for sign in value)
    if " " in value and not (sure and digits):
        return False
    kinds = _mixed(value)
    if sure and quoted:
        return True
    if sure:
        return len(value) >= 5 and ((digits and kinds >= 2) or kinds >= 3)
    return len(value) >= 10 and digits and kinds >= 2
