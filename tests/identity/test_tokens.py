"""Whose word is believed: one key, one algorithm, one issuer, one audience; and nothing that is not well formed."""

import base64
import hashlib
import hmac
import json
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from app.domain.errors import Code, MunimentError
from app.domain.principal import ActorType, principal_id
from app.identity.tokens import MAX_TOKEN, TokenVerifier, bearer

ORGANISATION = uuid4()
KEY = Ed25519PrivateKey.generate()
PEM = KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
VERIFIER = TokenVerifier.of(PEM, "EdDSA", "issuer", "audience")


def claims(**changes: Any) -> dict[str, Any]:
    """Good claims with these changed; None leaves one out."""
    now = datetime.now(UTC)
    good = {
        "iss": "issuer",
        "aud": "audience",
        "sub": "ada",
        "org": str(ORGANISATION),
        "iat": now,
        "exp": now + timedelta(hours=1),
    }
    return {name: value for name, value in {**good, **changes}.items() if value is not None}


def token(key: Any = KEY, algorithm: str = "EdDSA", headers: dict[str, Any] | None = None, **changes: Any) -> str:
    return jwt.encode(claims(**changes), key, algorithm=algorithm, headers=headers)


def encoded(value: Any) -> str:
    text = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(text).rstrip(b"=").decode()


def signed(header: Any, payload: Any) -> str:
    """Signed with the right key, whatever the parts hold."""
    message = f"{encoded(header)}.{encoded(payload)}"
    return f"{message}.{encoded(KEY.sign(message.encode()))}"


def plain(**changes: Any) -> dict[str, Any]:
    """Claims as they stand in a token: numbers, not datetimes."""
    return {
        name: int(value.timestamp()) if isinstance(value, datetime) else value
        for name, value in claims(**changes).items()
    }


def assert_refused(given: str, verifier: TokenVerifier = VERIFIER) -> None:
    """One answer, whatever was wrong."""
    with pytest.raises(MunimentError) as refused:
        verifier.principal(given, {})
    assert refused.value.code is Code.UNAUTHENTICATED
    assert str(refused.value) == "a valid bearer token is needed"


def test_a_good_token() -> None:
    principal = VERIFIER.principal(token(groups=["engineers", "readers"], azp="agent-1"), {})
    assert principal.organisation == ORGANISATION
    assert principal.external_id == "ada"
    assert principal.id == principal_id(ORGANISATION, "person", "ada")
    assert principal.groups == tuple(principal_id(ORGANISATION, "group", name) for name in ("engineers", "readers"))
    assert principal.actor_type is ActorType.PERSON
    assert principal.client.id == "agent-1"
    assert principal.api_key_id is None


def test_the_same_name_is_somebody_else_elsewhere() -> None:
    """In another organisation, and as a group: a subject can never take a group's grants by its name."""
    here = VERIFIER.principal(token(sub="engineers", groups=["engineers"]), {})
    there = VERIFIER.principal(token(sub="engineers", org=str(uuid4())), {})
    assert here.id != there.id
    assert here.id not in here.groups


@pytest.mark.parametrize("name", ["exp", "iss", "aud", "sub", "org"])
def test_each_claim_is_needed(name: str) -> None:
    assert_refused(token(**{name: None}))


#: Far enough from the moment at which the tests are collected: a whole run lies in between.
NOW = datetime.now(UTC)


@pytest.mark.parametrize(
    "changes",
    [
        {"exp": NOW - timedelta(seconds=30)},
        {"exp": 0},
        {"exp": -1},
        {"exp": "never"},
        {"nbf": NOW + timedelta(days=1)},
        {"iat": NOW + timedelta(days=1)},
        {"iss": "another"},
        {"iss": ""},
        {"iss": "issuer "},
        {"iss": "issuer\0"},
        {"aud": "another"},
        {"aud": []},
        {"aud": ["another"]},
        {"aud": ""},
        {"org": "acme"},
        {"org": ""},
        {"org": 5},
        {"org": [str(ORGANISATION)]},
        {"org": {"id": str(ORGANISATION)}},
        {"org": f"{ORGANISATION}\0"},
        {"sub": ""},
        {"sub": "a\0b"},
        {"sub": "a" * 257},
        {"sub": 5},
        {"sub": ["ada"]},
        {"groups": "engineers"},
        {"groups": {"a": 1}},
        {"groups": [1]},
        {"groups": [""]},
        {"groups": [None]},
        {"groups": ["a\0b"]},
        {"groups": ["a" * 257]},
        {"azp": "a\0b"},
        {"azp": ["agent"]},
        {"client_id": 7},
        {"client_id": "a" * 257},
    ],
    ids=lambda changes: ascii(changes)[:60],
)
def test_claims_that_are_not_believed(changes: dict[str, Any]) -> None:
    assert_refused(token(**changes))


def test_what_json_can_hold_and_text_cannot() -> None:
    """Lone surrogates can be escaped in JSON; numbers can be infinite; neither may come out as a fault of ours."""
    for changes in ({"sub": "\ud800"}, {"groups": ["\udfff"]}, {"azp": "a\ud83d"}, {"org": "\ud800"}):
        assert_refused(signed({"alg": "EdDSA"}, plain(**changes)))
    for exp in (b"1e999", b"-1e999", b"NaN", b"null", b"true", b"[]", b"9" * 5000):
        body = json.dumps(plain()).encode().replace(json.dumps(plain()["exp"]).encode(), exp)
        assert_refused(signed({"alg": "EdDSA"}, body))


@pytest.mark.parametrize(
    "changes", [{"aud": ["another", "audience"]}, {"nbf": NOW - timedelta(minutes=5)}, {"iat": None}, {"groups": []}]
)
def test_claims_that_are(changes: dict[str, Any]) -> None:
    assert VERIFIER.principal(token(**changes), {}).external_id == "ada"


def test_clocks_may_differ_by_seconds() -> None:
    assert VERIFIER.principal(token(exp=datetime.now(UTC) - timedelta(seconds=2)), {})


def test_no_algorithm_is_no_signature() -> None:
    for name in ("none", "None", "NONE", "nOnE"):
        header, payload = encoded({"alg": name, "typ": "JWT"}), encoded(plain())
        for signature in ("", encoded(b"x"), encoded(KEY.sign(f"{header}.{payload}".encode()))):
            assert_refused(f"{header}.{payload}.{signature}")


@pytest.mark.parametrize("name", ["HS256", "HS384", "HS512", "hs256"])
def test_the_public_key_is_no_shared_secret(name: str) -> None:
    """Key confusion: whoever holds the public key could sign with it, were the token to choose the algorithm."""
    for secret in (PEM, PEM.strip(), KEY.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)):
        message = f"{encoded({'alg': name, 'typ': 'JWT'})}.{encoded(plain())}"
        digest = {"HS384": hashlib.sha384, "HS512": hashlib.sha512}.get(name, hashlib.sha256)
        assert_refused(f"{message}.{encoded(hmac.new(secret, message.encode(), digest).digest())}")


@pytest.mark.parametrize("name", ["ES256", "RS256", "PS256", "EdDSA2", "", None, 5, ["EdDSA"]])
def test_the_token_does_not_choose_the_algorithm(name: Any) -> None:
    assert_refused(signed({"alg": name, "typ": "JWT"}, plain()))


def test_a_key_in_the_header_is_not_looked_at() -> None:
    stranger = Ed25519PrivateKey.generate()
    raw = stranger.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    for header in (
        {"jwk": {"kty": "OKP", "crv": "Ed25519", "x": encoded(raw)}},
        {"jku": "https://elsewhere.example/jwks.json"},
        {"x5u": "https://elsewhere.example/cert.pem"},
        {"kid": "../../dev/null"},
        {"kid": "' OR 1=1 --"},
    ):
        assert_refused(token(stranger, headers=header))
        assert VERIFIER.principal(token(headers=header), {}).external_id == "ada"


def test_what_the_signer_says_must_be_understood_is_refused() -> None:
    assert_refused(signed({"alg": "EdDSA", "crit": ["exp"], "exp": 1}, plain()))
    assert_refused(signed({"alg": "EdDSA", "b64": False, "crit": ["b64"]}, plain()))


def test_another_key() -> None:
    assert_refused(token(Ed25519PrivateKey.generate()))


def test_a_changed_token() -> None:
    head, payload, signature = token().split(".")
    assert_refused(f"{head}.{encoded(plain(sub='eve'))}.{signature}")
    assert_refused(f"{encoded({'alg': 'EdDSA', 'typ': 'JWT', 'x': 1})}.{payload}.{signature}")
    for place in range(0, len(signature) - 1, 7):
        other = "A" if signature[place] != "A" else "B"
        assert_refused(f"{head}.{payload}.{signature[:place]}{other}{signature[place + 1 :]}")
    assert_refused(f"{head}.{payload}.{signature[:-4]}")
    assert_refused(f"{head}.{payload}.")
    assert_refused(f"{head}.{payload}")


@pytest.mark.parametrize(
    "given",
    [
        "",
        ".",
        "..",
        "...",
        "a.b.c",
        "Bearer x.y.z",
        "ä.ö.ü",
        "\0.\0.\0",
        "e30.e30.e30",
        "bnVsbA.bnVsbA.bnVsbA",
        "W10.W10.",
        "\ud800.a.b",
    ],
    ids=ascii,
)
def test_what_is_no_token(given: str) -> None:
    assert_refused(given)


@pytest.mark.parametrize("part", [b"[" * 6000, b'{"a":' * 2000, b"[" * 6000 + b"]" * 6000, b"\xff\xfe", b"1", b"null"])
def test_hostile_json_before_and_behind_the_signature(part: bytes) -> None:
    """The header is read before the signature can be checked: anybody can send it."""
    assert_refused(f"{encoded(part)[:8000]}.{encoded(plain())}.{encoded(b'x' * 64)}")
    assert_refused(signed(part[:5000], plain()))
    assert_refused(signed({"alg": "EdDSA"}, part[:5000]))


def test_a_token_has_a_size() -> None:
    assert VERIFIER.principal(token(padding="x" * 10_000), {}).external_id == "ada"
    long = token(padding="x" * MAX_TOKEN)
    assert len(long) > MAX_TOKEN
    assert_refused(long)
    assert_refused("a." * 5_000_000)


@pytest.mark.parametrize(("actor", "expected"), [("agent", ActorType.AGENT), ("admin", ActorType.ADMIN)])
def test_kinds_of_callers(actor: str, expected: ActorType) -> None:
    assert VERIFIER.principal(token(actor_type=actor), {}).actor_type is expected


@pytest.mark.parametrize("actor", ["root", "", 5, ["agent"], None])
def test_an_unknown_kind_is_a_person(actor: Any) -> None:
    assert VERIFIER.principal(token(actor_type=actor), {}).actor_type is ActorType.PERSON


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"azp": "agent"}, "agent"),
        ({"client_id": "agent"}, "agent"),
        ({"azp": "first", "client_id": "second"}, "first"),
        ({"azp": "", "client_id": "second"}, "second"),
        ({}, None),
    ],
)
def test_the_verified_client(changes: dict[str, Any], expected: str | None) -> None:
    assert VERIFIER.principal(token(**changes), {}).client.id == expected


def test_a_header_names_no_client_that_is_verified() -> None:
    principal = VERIFIER.principal(token(), {"x-muniment-client": "agent/1.0"})
    assert (principal.client.id, principal.client.name, principal.client.version) == (None, "agent", "1.0")


@pytest.mark.parametrize(
    ("value", "expected"),
    [("Bearer abc", "abc"), ("bearer abc", "abc"), ("BEARER  abc ", "abc"), ("Bearer a b", "a b")],
)
def test_the_bearer_header(value: str, expected: str) -> None:
    assert bearer({"authorization": value}) == expected


@pytest.mark.parametrize(
    "headers", [{}, *({"authorization": text} for text in ("", "abc", "Bearer", "Bearer ", "Basic abc"))]
)
def test_no_bearer_header(headers: dict[str, str]) -> None:
    with pytest.raises(MunimentError):
        bearer(headers)


def test_an_organisation_has_one_spelling() -> None:
    """However the token writes the UUID, it is one organisation."""
    for text in (str(ORGANISATION).upper(), ORGANISATION.hex, f"{{{ORGANISATION}}}"):
        assert VERIFIER.principal(token(org=text), {}).organisation == UUID(str(ORGANISATION))
