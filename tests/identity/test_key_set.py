"""Keys that change, from a real server or file: a new key is believed at once, and nobody can make us ask often."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from app.domain.errors import Code, MunimentError
from app.identity.key_set import MOST_KEYS, Jwks, from_file, keys_of
from app.identity.tokens import TokenVerifier
from app.identity.verification_key import VerificationKeyError, key_of_jwk
from app.providers.key_document import MOST_BYTES, KeyDocument
from tests.fixtures.upstream import Exchange, Provider, head, local_provider, replies
from tests.identity.test_tokens import claims, encoded, plain

RSA, RSA_SMALL = rsa.generate_private_key(65537, 2048), rsa.generate_private_key(65537, 1024)
CURVE, EDWARDS = ec.generate_private_key(ec.SECP256R1()), ed25519.Ed25519PrivateKey.generate()
SECRET = b"0123456789abcdef0123456789abcdef"


def public(key: Any, kid: str | None = None, **members: Any) -> dict[str, Any]:
    """Its JWK."""
    kind = {
        rsa.RSAPrivateKey: jwt.algorithms.RSAAlgorithm,
        ec.EllipticCurvePrivateKey: jwt.algorithms.ECAlgorithm,
        ed25519.Ed25519PrivateKey: jwt.algorithms.OKPAlgorithm,
    }
    [algorithm] = [made for type_, made in kind.items() if isinstance(key, type_)]
    named = {} if kid is None else {"kid": kid}
    return {**algorithm.to_jwk(key.public_key(), as_dict=True), **named, **members}


def secret(kid: str, data: bytes = SECRET) -> dict[str, Any]:
    return {"kty": "oct", "kid": kid, "k": encoded(data)}


def document(*keys: Any) -> bytes:
    return json.dumps({"keys": keys}).encode()


def signed(key: Any, kid: str | None, algorithm: str, **changes: Any) -> str:
    return jwt.encode(claims(**changes), key, algorithm=algorithm, headers=None if kid is None else {"kid": kid})


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


class Issuer:
    """A document on a real server, and who believes it."""

    def __init__(self, provider: Provider) -> None:
        self.provider = provider
        self.clock = Clock()
        self.source = KeyDocument(provider.url, seconds=5.0)
        self.keys = Jwks(self.source.read, fresh=300, pause=10, clock=self.clock)
        self.verifier = TokenVerifier(self.keys, "issuer", "audience")

    @property
    def asked(self) -> int:
        return len(self.provider.exchanges)

    def publish(self, *keys: Any) -> None:
        self.provider.behaviour = replies(document(*keys))

    async def believes(self, token: str) -> bool:
        try:
            await self.verifier.ready(token)
            return self.verifier.principal(token, {}).external_id == "ada"
        except MunimentError as error:
            if error.code is not Code.UNAUTHENTICATED:
                raise
            return False

    async def read(self) -> None:
        """Until what is read in the background is."""
        assert self.keys._reading is not None
        await self.keys._reading


@pytest.fixture
async def issuer() -> AsyncIterator[Issuer]:
    async with local_provider(replies(document(public(EDWARDS, "one")))) as provider:
        opened = Issuer(provider)
        yield opened
        await opened.source.close()


async def test_each_kind_of_key_by_its_name(issuer: Issuer) -> None:
    issuer.publish(public(EDWARDS, "e"), public(CURVE, "c"), public(RSA, "r"), public(RSA, "p", alg="PS256"))
    for key, kid, algorithm in (
        (EDWARDS, "e", "EdDSA"),
        (CURVE, "c", "ES256"),
        (RSA, "r", "RS256"),
        (RSA, "p", "PS256"),
    ):
        assert await issuer.believes(signed(key, kid, algorithm))
    # One key, one algorithm: the JWK says which, not the token.
    for kid, algorithm in (("r", "PS256"), ("r", "RS512"), ("p", "RS256"), ("p", "PS512")):
        assert not await issuer.believes(signed(RSA, kid, algorithm))
    # The right key under another's name.
    assert not await issuer.believes(signed(EDWARDS, "c", "EdDSA"))
    # A token that names no key is tried under those of its kind.
    assert await issuer.believes(signed(CURVE, None, "ES256"))
    assert not await issuer.believes(signed(ec.generate_private_key(ec.SECP256R1()), None, "ES256"))
    assert issuer.asked == 1


async def test_a_public_key_is_no_secret_whatever_the_token_says(issuer: Issuer) -> None:
    """Key confusion: the public parts of each key, in every spelling, as the secret of an HMAC."""
    issuer.publish(public(EDWARDS, "e"), public(CURVE, "c"), public(RSA, "r"))
    for kid, key in (("e", EDWARDS), ("c", CURVE), ("r", RSA)):
        pem = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        der = key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        jwk = json.dumps(public(key, kid)).encode()
        for known in (pem, pem.strip(), der, jwk, kid.encode(), b""):
            for name in ("HS256", "HS384", "HS512"):
                message = f"{encoded({'alg': name, 'typ': 'JWT', 'kid': kid})}.{encoded(plain())}"
                mac = jwt.algorithms.get_default_algorithms()[name].sign(message.encode(), known)
                assert not await issuer.believes(f"{message}.{encoded(mac)}")
        for name in ("none", "None", "NONE"):
            assert not await issuer.believes(f"{encoded({'alg': name, 'kid': kid})}.{encoded(plain())}.")


async def test_a_published_secret_is_none(issuer: Issuer) -> None:
    issuer.publish(secret("s"), public(EDWARDS, "e"))
    assert not await issuer.believes(signed(SECRET, "s", "HS256"))
    assert await issuer.believes(signed(EDWARDS, "e", "EdDSA"))


async def test_a_rotated_key_is_believed_at_once(issuer: Issuer) -> None:
    assert await issuer.believes(signed(EDWARDS, "one", "EdDSA"))
    issuer.clock.now += 10
    issuer.publish(public(CURVE, "two"), public(EDWARDS, "one"))
    assert await issuer.believes(signed(CURVE, "two", "ES256"))
    assert await issuer.believes(signed(EDWARDS, "one", "EdDSA"))
    assert issuer.asked == 2


async def test_a_key_that_was_taken_out_is_let_go_when_the_document_is_old(issuer: Issuer) -> None:
    old = signed(EDWARDS, "one", "EdDSA")
    assert await issuer.believes(old)
    issuer.publish(public(CURVE, "two"))
    issuer.clock.now += 299
    assert await issuer.believes(old)
    assert issuer.asked == 1
    issuer.clock.now += 1
    # Nobody waits for it: this one is still looked at with the last keys.
    assert await issuer.believes(old)
    await issuer.read()
    assert issuer.asked == 2
    assert not await issuer.believes(old)


async def test_tokens_under_unknown_keys_cost_the_issuer_one_question_a_pause(issuer: Issuer) -> None:
    assert await issuer.believes(signed(EDWARDS, "one", "EdDSA"))
    for number in range(50):
        assert not await issuer.believes(signed(CURVE, f"unknown-{number}", "ES256"))
    assert issuer.asked == 1
    issuer.clock.now += 10
    for number in range(50):
        assert not await issuer.believes(signed(CURVE, f"unknown-{number}", "ES256"))
    assert issuer.asked == 2


async def test_bad_tokens_under_a_known_key_cost_nothing(issuer: Issuer) -> None:
    assert await issuer.believes(signed(EDWARDS, "one", "EdDSA"))
    issuer.clock.now += 100
    for _ in range(20):
        assert not await issuer.believes(signed(ed25519.Ed25519PrivateKey.generate(), "one", "EdDSA"))
        assert not await issuer.believes("a.b.c")
    assert issuer.asked == 1


async def test_many_who_wait_share_one_question(issuer: Issuer) -> None:
    go = asyncio.Event()

    async def slow(exchange: Exchange) -> None:
        await go.wait()
        await replies(document(public(CURVE, "two")))(exchange)

    issuer.provider.behaviour = slow
    waiting = [asyncio.create_task(issuer.believes(signed(CURVE, "two", "ES256"))) for _ in range(100)]
    while not issuer.asked:
        await asyncio.sleep(0.01)
    # Whoever hangs up does not take the answer from the others.
    waiting[0].cancel()
    go.set()
    found = await asyncio.gather(*waiting, return_exceptions=True)
    assert isinstance(found[0], asyncio.CancelledError)
    assert found[1:] == [True] * 99
    assert issuer.asked == 1


@pytest.mark.parametrize(
    "behaviour",
    [
        replies(b"", status=500),
        replies(b"", status=404),
        replies(document(public(CURVE, "two")), status=302, Location="http://127.0.0.1:1/"),
        replies(document(public(CURVE, "two")), Content_Encoding="gzip"),
        replies(b"<html>"),
        replies(b"[]"),
        replies(b"{}"),
        replies(b'{"keys": {}}'),
        replies(b'{"keys": []}'),
        replies(b'{"keys": [1, null, "x", []]}'),
        replies(b'{"keys": ' + b"[" * 100_000),
        replies(b'{"keys": [{"kty": "RSA", "n": "AA", "e": "AQAB"}]}'),
        replies(document(*[public(EDWARDS, str(n)) for n in range(MOST_KEYS + 1)])),
        replies(b" " * (MOST_BYTES + 1)),
        replies(document(public(RSA_SMALL, "small"))),
    ],
)
async def test_the_last_keys_count_while_there_are_no_others(issuer: Issuer, behaviour: Any) -> None:
    assert await issuer.believes(signed(EDWARDS, "one", "EdDSA"))
    issuer.provider.behaviour = behaviour
    for asked in (2, 3):
        issuer.clock.now += 1000
        assert await issuer.believes(signed(EDWARDS, "one", "EdDSA"))
        await issuer.read()
        assert issuer.asked == asked
    assert not await issuer.believes(signed(CURVE, "two", "ES256"))
    assert await issuer.believes(signed(EDWARDS, "one", "EdDSA"))
    issuer.clock.now += 10
    issuer.publish(public(CURVE, "two"))
    assert await issuer.believes(signed(CURVE, "two", "ES256"))


async def test_keys_that_could_not_be_read_anew_for_a_day_count_for_nothing(issuer: Issuer) -> None:
    token = signed(EDWARDS, "one", "EdDSA")
    assert await issuer.believes(token)
    issuer.provider.behaviour = replies(b"", status=503)
    issuer.clock.now += 86_400
    assert await issuer.believes(token)
    await issuer.read()
    issuer.clock.now += 1
    for _ in range(2):
        with pytest.raises(MunimentError) as failed:
            await issuer.believes(token)
        assert failed.value.code is Code.SEARCH_UNAVAILABLE
        issuer.clock.now += 10
    # It is back: whoever asks next waits for that and is believed.
    issuer.publish(public(EDWARDS, "one"))
    assert await issuer.believes(token)


async def test_an_issuer_that_was_never_reached_is_not_the_tokens_fault(issuer: Issuer) -> None:
    issuer.provider.behaviour = replies(b"", status=503)
    for asked in (1, 1, 2):
        with pytest.raises(MunimentError) as failed:
            await issuer.verifier.ready(signed(EDWARDS, "one", "EdDSA"))
        assert failed.value.code is Code.SEARCH_UNAVAILABLE
        assert failed.value.retryable
        issuer.clock.now += 5
        assert issuer.asked == asked
    issuer.publish(public(EDWARDS, "one"))
    issuer.clock.now += 10
    assert await issuer.believes(signed(EDWARDS, "one", "EdDSA"))


async def test_a_server_that_sends_no_end_is_given_up_on() -> None:
    async def hang(exchange: Exchange) -> None:
        await exchange.read()
        await exchange.write(head(200, Content_Length=10))
        await asyncio.Event().wait()

    async with local_provider(hang) as provider:
        source = KeyDocument(provider.url, seconds=0.1)
        with pytest.raises(TimeoutError):
            await source.read()
        await source.close()


async def test_a_file_is_read_again_when_it_changes(tmp_path: Path) -> None:
    path, clock = tmp_path / "keys.json", Clock()
    path.write_bytes(document(public(EDWARDS, "one"), secret("s")))
    keys = from_file(path, clock=clock)
    verifier = TokenVerifier(keys, "issuer", "audience")
    for token in (signed(EDWARDS, "one", "EdDSA"), signed(SECRET, "s", "HS256")):
        await verifier.ready(token)
        assert verifier.principal(token, {}).external_id == "ada"
    path.write_bytes(document(public(CURVE, "two")))
    clock.now += 1
    token = signed(CURVE, "two", "ES256")
    await verifier.ready(token)
    assert verifier.principal(token, {}).external_id == "ada"
    path.unlink()
    clock.now += 100
    await verifier.ready(token)
    assert verifier.principal(token, {}).external_id == "ada"


@pytest.mark.parametrize(
    "jwk",
    [
        None,
        [],
        {},
        {"kty": "RSA"},
        {"kty": ["RSA"]},
        {"kty": "EC", "crv": ["P-256"]},
        public(RSA, use="enc"),
        public(RSA, use=None),
        public(RSA, key_ops=["encrypt"]),
        public(RSA, key_ops=[]),
        public(RSA, key_ops="verify"),
        public(RSA, alg="none"),
        public(RSA, alg="HS256"),
        public(RSA, alg="ES256"),
        public(RSA, alg="RSA-OAEP"),
        public(RSA, alg=5),
        public(RSA, kid=5),
        public(RSA, kid=["a"]),
        public(RSA, d="AQAB"),
        public(RSA_SMALL),
        public(CURVE, alg="EdDSA"),
        public(CURVE, alg="ES384"),
        public(CURVE, x="AA"),
        public(CURVE, crv="P-384"),
        public(CURVE, d="AA"),
        public(EDWARDS, alg="ES256"),
        public(EDWARDS, x="AA"),
        public(EDWARDS, crv="X25519"),
        public(EDWARDS, crv="Ed448"),
        secret("s", SECRET[:31]),
        secret("s", b"x" * 64),
        secret("s", b""),
        {**secret("s"), "alg": "HS512"},
        {**secret("s"), "alg": "RS256"},
        {"kty": "oct", "k": 5},
        {"kty": "oct", "k": "!"},
        {"kty": "oct"},
    ],
    ids=lambda jwk: ascii(jwk)[:70],
)
def test_what_is_no_key_to_check_with(jwk: Any) -> None:
    with pytest.raises(VerificationKeyError):
        key_of_jwk(jwk)
    # Beside a good one it is passed over.
    assert [key.id for key in keys_of(document(jwk, public(EDWARDS, "good")), secrets=True)] == ["good"]
