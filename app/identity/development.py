"""The development key: made at first start, used only while no real token key is set."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID, uuid5

import jwt
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

from app.providers.private_file import ensure_folder, exclusive, read_private, replace_private

ALGORITHM = "EdDSA"
#: The organisation and the person of the demo.
ORGANISATION = uuid5(UUID(int=0), "muniment:demo")
SUBJECT = "developer"
LIFETIME = timedelta(days=7)
_MAX_PEM = 4096


class DevelopmentKey:
    """An Ed25519 key in the home, mode 600."""

    def __init__(self, key: Ed25519PrivateKey) -> None:
        self._key = key

    @classmethod
    def load_or_create(cls, path: Path) -> "DevelopmentKey":
        ensure_folder(path.parent)
        with exclusive(path):
            pem = read_private(path, _MAX_PEM)
            if pem is None:
                pem = Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
                replace_private(path, pem)
        try:
            key = load_pem_private_key(pem, None)
        except (ValueError, TypeError, UnsupportedAlgorithm):
            key = None
        if not isinstance(key, Ed25519PrivateKey):
            raise ValueError(f"{path} does not hold an Ed25519 key; remove it to have a new one made")
        return cls(key)

    @property
    def public_pem(self) -> bytes:
        return self._key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)

    def token(
        self,
        issuer: str,
        audience: str,
        *,
        subject: str = SUBJECT,
        organisation: UUID = ORGANISATION,
        lifetime: timedelta = LIFETIME,
    ) -> str:
        """A signed token for a person of an organisation."""
        now = datetime.now(UTC)
        claims = {
            "iss": issuer,
            "aud": audience,
            "sub": subject,
            "org": str(organisation),
            "azp": "muniment-development",
            "iat": now,
            "exp": now + lifetime,
        }
        return jwt.encode(claims, self._key, algorithm=ALGORITHM)
