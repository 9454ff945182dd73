"""Which claims of a token say who asks: every issuer names them in its own way."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final, Self

from app.domain.errors import bad_input

MAX_NAME = 256


class ClaimError(ValueError):
    """A claim is missing or cannot be used; the token is not believed."""


@dataclass(frozen=True, slots=True)
class ClaimNames:
    """The names of claims. A claim within another is named by both, as `realm_access.roles`; a name that has dots of
    its own, such as a URL, is found as it stands."""

    organisation: str = "org"
    subject: str = "sub"
    groups: str = "groups"
    client: str = "azp"
    allowed_providers: str = "allowed_providers"
    actor_type: str = "actor_type"

    @classmethod
    def parse(cls, text: str) -> Self:
        """From `organisation=…,groups=…`; what is not named keeps its default. BAD_USER_INPUT for another form."""
        known = {field.name for field in fields(cls)}
        given: dict[str, str] = {}
        for item in filter(None, (part.strip() for part in text.split(","))):
            name, equals, claim = (part.strip() for part in item.partition("="))
            if not equals or not claim or name not in known or name in given:
                raise bad_input(f"write claims as name=claim,…, each name once, of {', '.join(sorted(known))}")
            given[name] = claim
        return cls(**given)

    def read(self, claims: Mapping[str, Any], name: str) -> Any:
        """The value of the claim that stands for `name`; None when there is none."""
        return _found(claims, getattr(self, name).split("."))


#: What most issuers call them, and ours.
USUAL: Final = ClaimNames()


def _found(value: Any, parts: list[str]) -> Any:
    """The longest name that is there goes first: `https://a.b/roles` before `https://a` with `b/roles` in it."""
    if not parts:
        return value
    if not isinstance(value, Mapping):
        return None
    for length in range(len(parts), 0, -1):
        name = ".".join(parts[:length])
        if name in value:
            return _found(value[name], parts[length:])
    return None


def text_of(value: object) -> str:
    """A name that can be stored and recorded: text without NUL or lone surrogates, neither empty nor long."""
    if not isinstance(value, str) or not 0 < len(value) <= MAX_NAME or "\x00" in value:
        raise ClaimError
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise ClaimError
    return value


def texts_of(value: object) -> list[str] | None:
    """A list of such names; None when there is none."""
    if value is None:
        return None
    if not isinstance(value, list):
        raise ClaimError
    return [text_of(item) for item in value]
