"""Keys that tokens are checked with: each for one algorithm, and refused when it is not fit for it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import jwt
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, SECP384R1, SECP521R1, EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key

#: RFC 7518, sections 3.2 and 3.3.
MIN_SECRET_BYTES = 32
MIN_RSA_BITS = 2048
#: Greater ones cost more to use than any issuer asks for.
MAX_RSA_BITS = 8192

_CURVES: Final = {"ES256": SECP256R1, "ES384": SECP384R1, "ES512": SECP521R1}
_CURVE_NAMES: Final = {"ES256": "P-256", "ES384": "P-384", "ES512": "P-521"}
_RSA: Final = frozenset({"RS256", "RS384", "RS512", "PS256", "PS384", "PS512"})
ALGORITHMS: Final = frozenset({"HS256", "EdDSA", *_RSA, *_CURVES})
#: What a JWK without `alg` is for.
_BY_KIND: Final = {
    ("oct", None): "HS256",
    ("RSA", None): "RS256",
    ("EC", "P-256"): "ES256",
    ("EC", "P-384"): "ES384",
    ("EC", "P-521"): "ES512",
    ("OKP", "Ed25519"): "EdDSA",
}
#: Members of a JWK that only its owner may have.
_PRIVATE: Final = frozenset({"d", "p", "q", "dp", "dq", "qi", "oth"})


class VerificationKeyError(ValueError):
    """The key does not fit its algorithm; the sentence never holds any of it."""


@dataclass(frozen=True, slots=True)
class VerificationKey:
    """A key with the one algorithm that it is for. `id` is what tokens call it."""

    id: str | None
    algorithm: str
    key: Any

    @property
    def symmetric(self) -> bool:
        return isinstance(self.key, bytes)


def verification_key(data: bytes, algorithm: str) -> Any:
    """The secret (HS256: the file's bytes as they are) or the public key of a PEM, ready to check signatures with."""
    if algorithm == "HS256":
        return _secret(data)
    try:
        key = load_pem_public_key(data)
    except (ValueError, UnsupportedAlgorithm):
        raise VerificationKeyError(f"the token key is not a public key in PEM, as {algorithm} needs") from None
    return _fit(key, algorithm)


def key_of_jwk(jwk: object) -> VerificationKey:
    """From a JSON Web Key (RFC 7517). Its `alg`, or else its kind, settles the algorithm: a token has no say in it."""
    if not isinstance(jwk, Mapping):
        raise VerificationKeyError("a JWK is a JSON object")
    operations = jwk.get("key_ops", ["verify"])
    if jwk.get("use", "sig") != "sig" or not isinstance(operations, list) or "verify" not in operations:
        raise VerificationKeyError("the JWK is not for checking signatures")
    kind, curve = jwk.get("kty"), jwk.get("crv")
    usual = None
    if isinstance(kind, str) and isinstance(curve, str | None):
        usual = _BY_KIND.get((kind, curve if kind in {"EC", "OKP"} else None))
    algorithm = jwk.get("alg", usual)
    if usual is None or not isinstance(algorithm, str) or algorithm not in ALGORITHMS:
        raise VerificationKeyError("the JWK is of a kind that is not supported")
    id = jwk.get("kid")
    if not isinstance(id, str | None):
        raise VerificationKeyError("the id of a JWK is a text")
    if kind != "oct" and not _PRIVATE.isdisjoint(jwk):
        raise VerificationKeyError("the JWK holds a private key, which nobody but its owner may have")
    try:
        key = jwt.PyJWK({**jwk, "alg": algorithm}).key
    except Exception:
        # Whatever a document makes the library trip over.
        raise VerificationKeyError("the JWK cannot be read") from None
    return VerificationKey(id, algorithm, _secret(key) if algorithm == "HS256" else _fit(key, algorithm))


def _fit(key: Any, algorithm: str) -> Any:
    curve = _CURVES.get(algorithm)
    if algorithm in _RSA:
        fits = isinstance(key, RSAPublicKey) and MIN_RSA_BITS <= key.key_size <= MAX_RSA_BITS
        needed = f"RSA of {MIN_RSA_BITS} bits or more"
    elif curve is not None:
        fits, needed = isinstance(key, EllipticCurvePublicKey) and isinstance(key.curve, curve), _CURVE_NAMES[algorithm]
    else:
        fits, needed = algorithm == "EdDSA" and isinstance(key, Ed25519PublicKey), "Ed25519"
    if not fits:
        raise VerificationKeyError(f"the token key is not {needed}, as {algorithm} needs")
    return key


def _secret(data: object) -> bytes:
    if not isinstance(data, bytes):
        raise VerificationKeyError("the token key is not a secret, as HS256 needs")
    if b"-----BEGIN" in data:
        raise VerificationKeyError("the token key is a PEM file: HS256 needs a secret that nobody else can read")
    if len(data) < MIN_SECRET_BYTES:
        raise VerificationKeyError(f"the token key is shorter than {MIN_SECRET_BYTES} bytes, as HS256 needs")
    if len(set(data)) == 1:
        raise VerificationKeyError("the token key is one byte repeated")
    return data
