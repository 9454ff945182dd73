"""The key that tokens are checked with: one key for one algorithm, refused at start when it is not fit for it."""

from typing import Any

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key

#: RFC 7518, sections 3.2 and 3.3.
MIN_SECRET_BYTES = 32
MIN_RSA_BITS = 2048


class VerificationKeyError(ValueError):
    """The key does not fit its algorithm; the sentence never holds any of it."""


def verification_key(data: bytes, algorithm: str) -> Any:
    """The secret (HS256: the file's bytes as they are) or the public key of a PEM, ready to check signatures with."""
    if algorithm == "HS256":
        return _secret(data)
    try:
        key = load_pem_public_key(data)
    except (ValueError, UnsupportedAlgorithm):
        raise VerificationKeyError(f"the token key is not a public key in PEM, as {algorithm} needs") from None
    fits = {
        "RS256": isinstance(key, RSAPublicKey) and key.key_size >= MIN_RSA_BITS,
        "ES256": isinstance(key, EllipticCurvePublicKey) and isinstance(key.curve, SECP256R1),
        "EdDSA": isinstance(key, Ed25519PublicKey),
    }
    if not fits.get(algorithm, False):
        needed = {"RS256": f"RSA of {MIN_RSA_BITS} bits or more", "ES256": "P-256", "EdDSA": "Ed25519"}
        raise VerificationKeyError(f"the token key is not {needed.get(algorithm, 'known')}, as {algorithm} needs")
    return key


def _secret(data: bytes) -> bytes:
    if b"-----BEGIN" in data:
        raise VerificationKeyError("the token key is a PEM file: HS256 needs a secret that nobody else can read")
    if len(data) < MIN_SECRET_BYTES:
        raise VerificationKeyError(f"the token key is shorter than {MIN_SECRET_BYTES} bytes, as HS256 needs")
    if len(set(data)) == 1:
        raise VerificationKeyError("the token key is one byte repeated")
    return data
