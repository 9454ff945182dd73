"""The keys that tokens are checked with: fit for their algorithm, or refused before anything is served."""

import secrets
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from app.assembly.services import Services, services
from app.domain.errors import Code, MunimentError
from app.identity.tokens import TokenVerifier
from app.identity.verification_key import VerificationKeyError
from app.settings import Settings
from schema.asgi import create_app
from tests.identity.homes import fresh_keys
from tests.identity.test_tokens import claims, encoded, plain
from tests.schema.conftest import Api, connect

RSA = rsa.generate_private_key(65537, 2048)
PRIVATE: dict[str, Any] = {
    "RS256": RSA,
    "ES256": ec.generate_private_key(ec.SECP256R1()),
    "EdDSA": ed25519.Ed25519PrivateKey.generate(),
    "HS256": secrets.token_bytes(32),
}


def public(key: Any) -> bytes:
    if isinstance(key, bytes):
        return key
    pem: bytes = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    return pem


def private(key: Any) -> bytes:
    pem: bytes = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return pem


@pytest.mark.parametrize("algorithm", PRIVATE)
def test_each_algorithm_takes_its_own_tokens_and_no_others(algorithm: str) -> None:
    verifier = TokenVerifier.of(public(PRIVATE[algorithm]), algorithm, "issuer", "audience")
    for name, key in PRIVATE.items():
        given = jwt.encode(claims(), key, algorithm=name)
        if name == algorithm:
            assert verifier.principal(given, {}).external_id == "ada"
            continue
        with pytest.raises(MunimentError) as refused:
            verifier.principal(given, {})
        assert refused.value.code is Code.UNAUTHENTICATED


@pytest.mark.parametrize("algorithm", PRIVATE)
def test_another_key_of_the_same_kind(algorithm: str) -> None:
    others: dict[str, Any] = {
        "RS256": rsa.generate_private_key(65537, 2048),
        "ES256": ec.generate_private_key(ec.SECP256R1()),
        "EdDSA": ed25519.Ed25519PrivateKey.generate(),
        "HS256": secrets.token_bytes(32),
    }
    verifier = TokenVerifier.of(public(PRIVATE[algorithm]), algorithm, "issuer", "audience")
    with pytest.raises(MunimentError):
        verifier.principal(jwt.encode(claims(), others[algorithm], algorithm=algorithm), {})


def test_an_elliptic_signature_is_two_numbers_of_the_right_size() -> None:
    verifier = TokenVerifier.of(public(PRIVATE["ES256"]), "ES256", "issuer", "audience")
    message = f"{encoded({'alg': 'ES256'})}.{encoded(plain())}"
    order = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
    for pair in (bytes(64), bytes(32) + b"\1" * 32, order.to_bytes(32, "big") * 2, b"", bytes(63), bytes(65)):
        with pytest.raises(MunimentError):
            verifier.principal(f"{message}.{encoded(pair)}", {})


@pytest.mark.parametrize(
    ("algorithm", "data"),
    [
        ("HS256", b""),
        ("HS256", secrets.token_bytes(31)),
        ("HS256", b"x" * 64),
        ("HS256", public(RSA)),
        ("HS256", public(PRIVATE["EdDSA"])),
        ("HS256", private(RSA)),
        ("RS256", public(PRIVATE["ES256"])),
        ("RS256", public(PRIVATE["EdDSA"])),
        ("RS256", public(rsa.generate_private_key(65537, 1024))),
        ("RS256", secrets.token_bytes(32)),
        ("RS256", private(RSA)),
        ("ES256", public(RSA)),
        ("ES256", public(ec.generate_private_key(ec.SECP384R1()))),
        ("ES256", public(ec.generate_private_key(ec.SECP256K1()))),
        ("EdDSA", public(RSA)),
        ("EdDSA", public(ec.generate_private_key(ec.SECP256R1()))),
        ("EdDSA", b""),
        ("EdDSA", b"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"),
        ("none", public(PRIVATE["EdDSA"])),
        ("HS512", public(PRIVATE["EdDSA"])),
    ],
)
def test_a_key_that_is_not_fit_is_refused_at_start(algorithm: str, data: bytes) -> None:
    with pytest.raises(VerificationKeyError) as refused:
        TokenVerifier.of(data, algorithm, "issuer", "audience")
    assert "\n" not in str(refused.value)
    for line in data.splitlines():
        assert not line.strip() or line.decode("latin-1") not in str(refused.value)


@pytest.mark.parametrize("algorithm", PRIVATE)
async def test_the_key_of_the_settings_replaces_the_development_key(
    parts: Services, world: Any, installation: Any, tmp_path: Path, algorithm: str
) -> None:
    path = tmp_path / "token.key"
    path.write_bytes(public(PRIVATE[algorithm]))
    settings = Settings(
        **fresh_keys(tmp_path),
        embedder="none",
        jwt_key=path,
        jwt_algorithm=algorithm,  # type: ignore[arg-type]
        jwt_issuer="issuer",
        jwt_audience="audience",
        pool_size=2,
    )
    async with services(settings, installation) as own, connect(own) as http:
        api = Api(world, http)
        given = jwt.encode(claims(org=str(world.organisation)), PRIVATE[algorithm], algorithm=algorithm)
        assert (await api.data("{ me { externalId } }", token=given))["me"]["externalId"] == "ada"
        assert parts.development is not None
        development = parts.development.token("issuer", "audience", organisation=world.organisation)
        error = await api.error("{ me { externalId } }", token=development)
        assert error["extensions"]["code"] == "UNAUTHENTICATED"
        assert own.development is None


async def test_a_weak_secret_stops_the_start(installation: Any, tmp_path: Path) -> None:
    path = tmp_path / "token.key"
    path.write_bytes(b"changeme")
    settings = Settings(**fresh_keys(tmp_path), embedder="none", jwt_key=path, jwt_algorithm="HS256")
    with pytest.raises(VerificationKeyError, match="shorter than 32 bytes"):
        async with services(settings, installation):
            raise AssertionError("it must not start")


def test_the_application_needs_no_key_to_be_made() -> None:
    assert {route.path for route in create_app().routes} >= {"/graphql", "/healthz"}  # type: ignore[attr-defined]
