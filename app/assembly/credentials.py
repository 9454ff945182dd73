"""Whose tokens are believed."""

from pathlib import Path
from typing import Any

from app.identity.claims import ClaimNames
from app.identity.development import ALGORITHM, DevelopmentKey
from app.identity.key_set import Jwks, from_file
from app.identity.tokens import TokenVerifier
from app.providers.key_document import KeyDocument
from app.settings import Settings


def make_tokens(settings: Settings, jwks: KeyDocument | None) -> tuple[DevelopmentKey | None, TokenVerifier]:
    told: dict[str, Any] = {
        "claims": ClaimNames.parse(settings.jwt_claims or ""),
        "organisation": settings.jwt_organisation,
        "leeway": settings.jwt_leeway_seconds,
    }
    issuer, audience = settings.jwt_issuer, settings.jwt_audience
    if settings.jwt_jwks is not None:
        age = settings.jwt_jwks_max_age_hours * 3600
        file = Path(settings.jwt_jwks)
        keys = from_file(file, most_age=age) if jwks is None else Jwks(jwks.read, most_age=age)
        return None, TokenVerifier(keys, issuer, audience, **told)
    if settings.jwt_key is not None:
        key = settings.jwt_key.read_bytes()
        return None, TokenVerifier.of(key, settings.jwt_algorithm, issuer, audience, **told)
    development = DevelopmentKey.load_or_create(settings.home / "keys" / "development.pem")
    return development, TokenVerifier.of(development.public_pem, ALGORITHM, issuer, audience)


def origins(settings: Settings) -> frozenset[str]:
    return frozenset(filter(None, (part.strip() for part in (settings.cookie_origins or "").split(","))))
