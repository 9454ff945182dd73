"""Bearer tokens: a signed JWT in, a principal out. Organisation and user come from here and from nowhere else."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Self
from uuid import UUID

import jwt

from app.domain.errors import Code, MunimentError
from app.domain.principal import ActorType, Client, Principal, Token, parse_id, principal_id
from app.identity.claims import USUAL, ClaimError, ClaimNames, text_of, texts_of
from app.identity.client import declared_client
from app.identity.key_set import KeySet, OneKey
from app.identity.verification_key import VerificationKey, verification_key

#: Claims without which a token says too little to be believed, whatever an issuer calls the others.
REQUIRED: Final = ["exp", "iss", "aud"]
MAX_TOKEN = 16_384
#: Seconds that an issuer's clock may differ from ours.
LEEWAY: Final = 5.0
#: Kinds of JWT that speak of who asks; others of the same issuer, such as one that ends a session, are none of them.
_KINDS: Final = frozenset({"jwt", "at+jwt", "application/jwt", "application/at+jwt"})
#: Keys that a token which names none is tried under.
_MOST_TRIED: Final = 4
_LAST: Final = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class TokenVerifier:
    """One issuer, its keys, and what it calls things. `organisation`: the one that all of its tokens are for, whatever
    they say; None reads it from each."""

    keys: KeySet
    issuer: str
    audience: str
    claims: ClaimNames = USUAL
    organisation: UUID | None = None
    leeway: float = LEEWAY

    @classmethod
    def of(cls, key: bytes, algorithm: str, issuer: str, audience: str, **options: Any) -> Self:
        """From the bytes of a key file; `VerificationKeyError` when they are not fit for the algorithm."""
        fixed = VerificationKey(None, algorithm, verification_key(key, algorithm))
        return cls(OneKey(fixed), issuer, audience, **options)

    async def ready(self, token: str) -> None:
        """Give the issuer's keys a chance to be read anew, before `principal`; UNAUTHENTICATED for what is no token."""
        await self.keys.ready(_key_id(_header(token)))

    def principal(self, token: str, headers: Mapping[str, str]) -> Principal:
        """UNAUTHENTICATED unless the signature, issuer, audience, times and the needed claims all hold."""
        claims = self._verified(token)
        try:
            return self._principal(claims, headers)
        except ClaimError:
            raise unauthenticated() from None

    def _principal(self, claims: Mapping[str, Any], headers: Mapping[str, str]) -> Principal:
        names = self.claims
        organisation = self.organisation or parse_id(text_of(names.read(claims, "organisation")))
        if organisation is None:
            raise ClaimError
        subject = text_of(names.read(claims, "subject"))
        groups = texts_of(names.read(claims, "groups")) or []
        client = names.read(claims, "client") or claims.get("client_id")
        providers = texts_of(names.read(claims, "allowed_providers"))
        id = claims.get("jti")
        name, version = declared_client(headers)
        return Principal(
            organisation=organisation,
            id=principal_id(organisation, "person", subject),
            external_id=subject,
            actor_type=_actor(names.read(claims, "actor_type")),
            groups=tuple(principal_id(organisation, "group", group) for group in groups),
            client=Client(None if client is None else text_of(client), name, version),
            allowed_providers=None if providers is None else frozenset(providers),
            token=Token(None if id is None else text_of(id), _issued(claims.get("iat"))),
            expires_at=_end(claims["exp"]),
        )

    def _verified(self, token: str) -> dict[str, Any]:
        header = _header(token)
        for key in _candidates(self.keys.named(_key_id(header)), header):
            try:
                return jwt.decode(
                    token,
                    key.key,
                    algorithms=[key.algorithm],
                    issuer=self.issuer,
                    audience=self.audience,
                    leeway=self.leeway,
                    options={"require": REQUIRED, "strict_aud": False},
                )
            except jwt.InvalidSignatureError:
                continue
            except Exception as error:
                # Whatever a hostile token makes the library trip over (its JSON may nest without end), it is not
                # believed.
                raise unauthenticated() from error
        raise unauthenticated()


def _header(token: str) -> dict[str, Any]:
    """Read before anything is checked: anybody may have written it. Extensions that must be understood are not."""
    if len(token) > MAX_TOKEN:
        raise unauthenticated()
    try:
        header = jwt.get_unverified_header(token)
    except Exception as error:
        raise unauthenticated() from error
    kind = header.get("typ", "JWT")
    if "crit" in header or "b64" in header or not isinstance(kind, str) or kind.lower() not in _KINDS:
        raise unauthenticated()
    return header


def _key_id(header: Mapping[str, Any]) -> str | None:
    id = header.get("kid")
    if not isinstance(id, str | None):
        raise unauthenticated()
    return id


def _candidates(keys: Sequence[VerificationKey], header: Mapping[str, Any]) -> Sequence[VerificationKey]:
    """Each key is tried with its own algorithm only; what the token says of one can only rule keys out."""
    return [key for key in keys if key.algorithm == header.get("alg")][:_MOST_TRIED]


def bearer(headers: Mapping[str, str]) -> str:
    """The token of `Authorization: Bearer …`; UNAUTHENTICATED without one."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise unauthenticated()
    return token.strip()


def unauthenticated() -> MunimentError:
    """One answer for every credential that is missing or not believed: why is not the caller's business."""
    return MunimentError(Code.UNAUTHENTICATED, "a valid bearer token is needed")


def _end(seconds: Any) -> datetime:
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return _LAST
    except TypeError:
        raise ClaimError from None


def _issued(seconds: Any) -> datetime | None:
    """None for what is no moment of this age: then nobody knows when."""
    try:
        return datetime.fromtimestamp(seconds, UTC) if seconds >= 0 else None
    except (ValueError, OverflowError, OSError, TypeError):
        return None


def _actor(value: object) -> ActorType:
    return next((actor for actor in ActorType if actor.value == value), ActorType.PERSON)
