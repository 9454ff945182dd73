"""JSON Web Signatures of Wycheproof: every verdict, with each JWK as an issuer would publish it."""

import json
import os
from pathlib import Path
from typing import Any

import jwt
import pytest

from app.assembly.installation import ROOT
from app.identity.verification_key import VerificationKey, VerificationKeyError, key_of_jwk

DATA = Path(os.environ.get("MUNIMENT_TEST_DATA", ROOT.parent / "shared" / "data"))
VECTORS = DATA / "vectors" / "wycheproof" / "json_web_signature_test.json"

pytestmark = pytest.mark.skipif(not VECTORS.exists(), reason=f"no test vectors: {VECTORS} is absent")

#: Verdicts that cannot be met, or may not be.
#: 346, 350: the JWK says PS256 and the token PS384; 347, 351: the JWK says ES521, which is no algorithm. A key is for
#: the algorithm that it names, so these are refused, though the file calls them valid.
PINNED = {346, 347, 350, 351}
#: 372, 373: valid to the file in spite of a `?` in the header or payload. RFC 7515 has no such character in either.
NOT_BASE64URL = {372, 373}
#: 367, 370: invalid to the file, and byte for byte the token that it calls valid as 357: their padding was lost.
SAME_AS_357 = {367, 370}


def cases() -> list[tuple[dict[str, Any], dict[str, Any]]]:
    groups = json.loads(VECTORS.read_bytes())["testGroups"]
    return [(group.get("public") or group["private"], case) for group in groups for case in group["tests"]]


def verdict(key: VerificationKey, token: Any) -> str:
    """As `TokenVerifier` checks signatures: with the key's own algorithm."""
    try:
        jwt.PyJWS().decode_complete(token, key.key, algorithms=[key.algorithm])
    except jwt.PyJWTError:
        return "invalid"
    return "valid"


def found(jwk: dict[str, Any], token: Any) -> str:
    try:
        return verdict(key_of_jwk(jwk), token)
    except VerificationKeyError:
        return "invalid"


def test_every_verdict() -> None:
    wrong, checked, weak = set(), 0, 0
    for jwk, case in cases():
        expected = case["result"]
        if jwk["kty"] == "oct" and set(jwk["k"]) == {"A"}:
            # A secret of zeros, which is refused as a key; what is signed with it is checked all the same.
            with pytest.raises(VerificationKeyError):
                key_of_jwk(jwk)
            weak += 1
            was = verdict(VerificationKey(None, "HS256", bytes(32)), case["jws"])
        else:
            was = found(jwk, case["jws"])
        checked += 1
        if was != expected:
            wrong.add(case["tcId"])
    assert (checked, weak) == (401, 21)
    assert wrong == PINNED | NOT_BASE64URL | SAME_AS_357


def test_the_exceptions_are_what_they_are_said_to_be() -> None:
    by_id = {case["tcId"]: (jwk, case) for jwk, case in cases()}
    for id in PINNED:
        jwk, case = by_id[id]
        header = jwt.get_unverified_header(case["jws"])
        assert header["alg"] != jwk["alg"]
        # The signature is right, as soon as the key names the algorithm that it was made with.
        assert found({**jwk, "alg": header["alg"]}, case["jws"]) == "valid"
    for id in SAME_AS_357:
        assert by_id[id][1]["jws"] == by_id[357][1]["jws"]
        assert by_id[id][0] == by_id[357][0]
        assert (by_id[id][1]["result"], by_id[357][1]["result"]) == ("invalid", "valid")
    for id in NOT_BASE64URL:
        assert "?" in by_id[id][1]["jws"].rsplit(".", 1)[0]
