"""Bearer tokens: a signed JWT in, a principal out. Organisation and user come from here and from nowhere else."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Self

import jwt

from app.domain.errors import Code, MunimentError
from app.domain.principal import ActorType, Client, Principal, parse_id, principal_id
from app.identity.client import declared_client
from app.identity.verification_key import verification_key

#: Claims without which a token says too little to be believed.
REQUIRED = ["exp", "iss", "aud", "sub", "org"]
MAX_TOKEN = 16_384
MAX_NAME = 256
_LEEWAY_SECONDS = 5


@dataclass(frozen=True, slots=True)
class TokenVerifier:
    """One key with the one algorithm it is for: a token that names another is refused before the key is used."""

    key: Any
    algorithm: str
    issuer: str
    audience: str

    @classmethod
    def of(cls, key: bytes, algorithm: str, issuer: str, audience: str) -> Self:
        """From the bytes of a key file; `VerificationKeyError` when they are not fit for the algorithm."""
        return cls(verification_key(key, algorithm), algorithm, issuer, audience)

    def principal(self, token: str, headers: Mapping[str, str]) -> Principal:
        """UNAUTHENTICATED unless the signature, issuer, audience, times and the required claims all hold."""
        claims = self._claims(token)
        organisation = parse_id(_name(claims["org"]))
        if organisation is None:
            raise unauthenticated()
        subject = _name(claims["sub"])
        groups = claims.get("groups") or []
        if not isinstance(groups, list):
            raise unauthenticated()
        client = claims.get("azp") or claims.get("client_id")
        providers = claims.get("allowed_providers")
        if providers is not None and not isinstance(providers, list):
            raise unauthenticated()
        name, version = declared_client(headers)
        return Principal(
            organisation=organisation,
            id=principal_id(organisation, "person", subject),
            external_id=subject,
            actor_type=_actor(claims.get("actor_type")),
            groups=tuple(principal_id(organisation, "group", _name(group)) for group in groups),
            client=Client(None if client is None else _name(client), name, version),
            allowed_providers=None if providers is None else frozenset(_name(provider) for provider in providers),
        )

    def expires_at(self, token: str) -> datetime:
        """When a token ends; UNAUTHENTICATED when it is not believed."""
        try:
            return datetime.fromtimestamp(self._claims(token)["exp"], UTC)
        except (ValueError, OverflowError, OSError):
            return datetime.max.replace(tzinfo=UTC)

    def _claims(self, token: str) -> dict[str, Any]:
        if len(token) > MAX_TOKEN:
            raise unauthenticated()
        try:
            return jwt.decode(
                token,
                self.key,
                algorithms=[self.algorithm],
                issuer=self.issuer,
                audience=self.audience,
                leeway=_LEEWAY_SECONDS,
                options={"require": REQUIRED, "strict_aud": False},
            )
        except Exception as error:
            # Whatever a hostile token makes the library trip over (its JSON may nest without end), it is not believed.
            raise unauthenticated() from error


def bearer(headers: Mapping[str, str]) -> str:
    """The token of `Authorization: Bearer …`; UNAUTHENTICATED without one."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise unauthenticated()
    return token.strip()


def unauthenticated() -> MunimentError:
    """One answer for every credential that is missing or not believed: why is not the caller's business."""
    return MunimentError(Code.UNAUTHENTICATED, "a valid bearer token is needed")


def _name(value: object) -> str:
    """A name that can be stored and recorded: text without NUL or lone surrogates, neither empty nor long."""
    if not isinstance(value, str) or not 0 < len(value) <= MAX_NAME or "\x00" in value:
        raise unauthenticated()
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise unauthenticated()
    return value


def _actor(value: object) -> ActorType:
    return next((actor for actor in ActorType if actor.value == value), ActorType.PERSON)
