"""Published test vectors: RFC 8785 (JSON canonicalisation), Wycheproof's HMAC-SHA-256, proofs of Merkle trees."""

import base64
import hmac
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import rfc8785

from app.domain.canonical import CanonicalError, canonical
from app.domain.merkle import consistent, included
from app.evidence import bundle_verifier
from app.providers.weak_keys import MIN_BYTES, weakness

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("MUNIMENT_TEST_DATA", ROOT.parent / "shared" / "data"))
VECTORS = DATA / "vectors"

pytestmark = pytest.mark.skipif(not VECTORS.is_dir(), reason=f"no test vectors: {VECTORS} is absent")

JCS = ("arrays", "french", "structures", "unicode", "values", "weird")
WITHOUT_FLOATS = ("arrays", "french", "unicode", "weird")


def jcs(name: str) -> tuple[Any, bytes]:
    """A case's input, and the bytes that its hex file gives."""
    expected = bytes.fromhex((VECTORS / "jcs" / "outhex" / f"{name}.txt").read_text())
    return json.loads((VECTORS / "jcs" / "input" / f"{name}.json").read_bytes()), expected


def wycheproof(name: str) -> dict[str, Any]:
    vectors: dict[str, Any] = json.loads((VECTORS / "wycheproof" / name).read_bytes())
    return vectors


def test_every_jcs_case_is_listed() -> None:
    assert sorted(path.stem for path in (VECTORS / "jcs" / "input").iterdir()) == sorted(JCS)


@pytest.mark.parametrize("name", JCS)
def test_the_reference_library_meets_jcs(name: str) -> None:
    value, expected = jcs(name)
    assert rfc8785.dumps(value) == expected
    assert (VECTORS / "jcs" / "output" / f"{name}.json").read_bytes() == expected


@pytest.mark.parametrize("name", WITHOUT_FLOATS)
def test_our_bytes_meet_jcs(name: str) -> None:
    value, expected = jcs(name)
    assert canonical({"value": value}) == b'{"value":' + expected + b"}"
    if isinstance(value, dict):
        assert canonical(value) == expected


@pytest.mark.parametrize("name", sorted(set(JCS) - set(WITHOUT_FLOATS)))
def test_our_bytes_refuse_what_holds_floats(name: str) -> None:
    value, _ = jcs(name)
    with pytest.raises(CanonicalError, match="float"):
        canonical(value)


def test_our_bytes_meet_jcs_once_its_floats_are_integers() -> None:
    value, expected = jcs("structures")
    assert value["1"]["\n"] == 56.0
    value["1"]["\n"] = 56
    assert canonical(value) == expected


def test_hmac_sha_256_gives_every_wycheproof_verdict() -> None:
    vectors, checked = wycheproof("hmac_sha256_test.json"), 0
    for group in vectors["testGroups"]:
        for test in group["tests"]:
            code = hmac.digest(bytes.fromhex(test["key"]), bytes.fromhex(test["msg"]), "sha256")
            valid = hmac.compare_digest(code[: group["tagSize"] // 8], bytes.fromhex(test["tag"]))
            assert valid == (test["result"] == "valid"), test["tcId"]
            checked += 1
    assert checked == vectors["numberOfTests"]


def published_keys() -> Iterator[bytes]:
    for group in wycheproof("hmac_sha256_test.json")["testGroups"]:
        for test in group["tests"]:
            yield bytes.fromhex(test["key"])
    for group in wycheproof("json_web_signature_test.json")["testGroups"]:
        for key in (group.get("private"), group.get("public")):
            if key is not None and key["kty"] == "oct":
                yield base64.urlsafe_b64decode(key["k"] + "=" * (-len(key["k"]) % 4))


def test_every_secret_of_wycheproof_is_refused_as_a_key() -> None:
    keys = set(published_keys())
    assert len([key for key in keys if len(key) >= MIN_BYTES]) > 60
    assert [key.hex() for key in keys if weakness(key) is None] == []


def merkle(kind: str) -> list[tuple[str, dict[str, Any]]]:
    """Every proof of a kind, good and bad, by its file."""
    folder = VECTORS / "merkle" / kind
    return [(str(path.relative_to(folder)), json.loads(path.read_bytes())) for path in sorted(folder.rglob("*.json"))]


def decoded(text: str | None) -> bytes:
    return base64.b64decode(text or "")


def test_every_inclusion_proof_gets_its_verdict() -> None:
    vectors = merkle("inclusion")
    assert len(vectors) > 80
    assert {vector["wantErr"] for _, vector in vectors} == {False, True}
    for name, vector in vectors:
        leaf, root = decoded(vector["leafHash"]), decoded(vector["root"])
        path = [decoded(item) for item in vector["proof"] or ()]
        for verifier in (included, bundle_verifier.included):
            found = verifier(vector["leafIdx"], vector["treeSize"], leaf, path, root)
            assert found is not vector["wantErr"], name


def test_every_consistency_proof_gets_its_verdict() -> None:
    vectors = merkle("consistency")
    assert len(vectors) > 80
    assert {vector["wantErr"] for _, vector in vectors} == {False, True}
    for name, vector in vectors:
        roots = decoded(vector["root1"]), decoded(vector["root2"])
        path = [decoded(item) for item in vector["proof"] or ()]
        for verifier in (consistent, bundle_verifier.consistent):
            assert verifier(vector["size1"], vector["size2"], path, *roots) is not vector["wantErr"], name
