"""What a key of a program looks like: `mnmXXXXX_…`, of which the first eight characters are shown and stored.

The rest names the organisation, so that a key is looked up within it, and holds 256 random bits. Nobody can guess or
search those, so what is stored is their plain SHA-256: a slow hash makes up for passwords that people choose, and here
would only make every request slow.
"""

import base64
import hashlib
import re
import secrets
from dataclasses import dataclass
from typing import Final
from uuid import UUID

_MARK: Final = "mnm"
_LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
PREFIX_LENGTH: Final = 8
_KEY: Final = re.compile(
    rf"({_MARK}[A-Za-z0-9]{{{PREFIX_LENGTH - len(_MARK)}}})_([A-Za-z0-9_-]{{22}})([A-Za-z0-9_-]{{43}})"
)


@dataclass(frozen=True, slots=True)
class KeySecret:
    """A key as its holder has it. It does not show itself in logs."""

    organisation: UUID
    prefix: str
    digest: bytes

    @classmethod
    def read(cls, text: str) -> "KeySecret | None":
        """None for what is no key, or is written in another way than it was given out."""
        match = _KEY.fullmatch(text)
        if match is None:
            return None
        organisation = base64.urlsafe_b64decode(match[2] + "==")
        if _encoded(organisation) != match[2]:
            return None
        return cls(UUID(bytes=organisation), match[1], hashlib.sha256(text.encode()).digest())


def make_key(organisation: UUID) -> str:
    """A fresh key: the only time that anybody sees it."""
    shown = _MARK + "".join(secrets.choice(_LETTERS) for _ in range(PREFIX_LENGTH - len(_MARK)))
    return f"{shown}_{_encoded(organisation.bytes)}{_encoded(secrets.token_bytes(32))}"


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
