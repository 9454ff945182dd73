"""The signing keys: one key for many processes, public halves that stay, and refusals that say nothing of a key."""

import base64
import json
import pickle
import secrets

import jwt
import pytest

from app.providers.signing import SigningKeyError, SigningKeys, genuine


def fresh():
    return base64.b64encode(secrets.token_bytes(32)).decode()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "keys" / "signing.json"


def test_a_key_is_made_once_and_private(path):
    first, second = SigningKeys.load_or_create(path), SigningKeys.load_or_create(path)
    assert first.signer == second.signer or first.public_keys == second.public_keys
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert first.signer.sign(b"text") == second.signer.sign(b"text")
    assert genuine(second.signer.public_key, b"text", first.signer.sign(b"text"))
    assert not genuine(second.signer.public_key, b"other", first.signer.sign(b"text"))
    assert not genuine(b"short", b"text", b"")


def test_a_rotation_keeps_the_public_half_and_destroys_the_private_one(path):
    keys, other = SigningKeys.load_or_create(path), SigningKeys.load_or_create(path)
    old = keys.signer
    seed = json.loads(path.read_text())["keys"][0]["key"]
    name = keys.rotate()
    assert seed not in path.read_text()
    assert other.signer.key_id == name != old.key_id
    assert list(other.public_keys) == [old.key_id, name]
    assert other.public_keys[old.key_id] == old.public_key
    assert genuine(other.public_keys[old.key_id], b"text", old.sign(b"text"))
    third = keys.rotate()
    assert list(SigningKeys.load_or_create(path).public_keys) == [old.key_id, name, third]


def test_the_set_of_public_keys_is_read_by_others(path):
    keys = SigningKeys.load_or_create(path)
    keys.rotate()
    published = json.dumps(keys.jwks())
    assert [set(key) for key in keys.jwks()["keys"]] == [{"kty", "crv", "use", "alg", "kid", "x"}] * 2
    read = jwt.PyJWKSet.from_json(published)
    for name, public in keys.public_keys.items():
        assert read[name].key.public_bytes_raw() == public


def test_keys_of_the_environment(path):
    first, second = fresh(), fresh()
    keys = SigningKeys.from_environment(f"a:{first}, b:{second}")
    assert keys.signer.key_id == "b"
    public = base64.b64encode(keys.public_keys["a"]).decode()
    again = SigningKeys.from_environment(f"a:public:{public},b:{second}")
    assert again.public_keys == keys.public_keys
    with pytest.raises(SigningKeyError, match="MUNIMENT_SIGNING_KEYS"):
        keys.rotate()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "not written as"),
        ("a", "not written as"),
        ("a:", "not base64 of 32"),
        ("a:AAAA", "not base64 of 32"),
        (f"a b:{fresh()}", "bad id"),
        (f"a:{base64.b64encode(bytes(32)).decode()}", "one byte repeated"),
        (
            f"a:{base64.b64encode(bytes.fromhex('9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60')).decode()}",
            ".",
        ),
        (f"a:public:{fresh()}", "public one"),
        (f"a:{fresh()},a:{fresh()}", "id of an earlier"),
    ],
)
def test_what_is_no_good_key_is_refused_without_a_word_of_it(text, sentence):
    with pytest.raises(SigningKeyError, match=sentence) as refused:
        SigningKeys.from_environment(text)
    for part in text.split(":"):
        assert len(part) < 20 or part not in str(refused.value)


def test_the_same_key_twice_is_refused():
    key = fresh()
    with pytest.raises(SigningKeyError, match="same as an earlier"):
        SigningKeys.from_environment(f"a:{key},b:{key}")


def test_a_file_that_others_may_read_or_that_is_none_is_refused(path):
    SigningKeys.load_or_create(path)
    path.chmod(0o644)
    with pytest.raises(SigningKeyError, match="chmod 600"):
        SigningKeys.load_or_create(path)
    path.chmod(0o600)
    for content in (
        "",
        "{}",
        "[" * 10_000,
        '{"format": 1, "keys": [{"id": "a", "key": 5}]}',
        '{"format": 2, "keys": []}',
    ):
        path.write_text(content)
        with pytest.raises(SigningKeyError, match="no signing keys"):
            SigningKeys.load_or_create(path)


def test_a_key_in_use_is_not_exchanged_for_another(path):
    keys = SigningKeys.load_or_create(path)
    name = keys.signer.key_id
    path.write_text(json.dumps({"format": 1, "keys": [{"id": name, "key": fresh()}]}))
    with pytest.raises(SigningKeyError, match="no longer holds"):
        _ = keys.signer


def test_keys_are_not_shown_nor_copied(path):
    keys = SigningKeys.load_or_create(path)
    seed = base64.b64decode(json.loads(path.read_text())["keys"][0]["key"])
    for shown in (repr(keys), str(keys), repr(keys.signer)):
        assert repr(seed)[2:-1] not in shown
        assert base64.b64encode(seed).decode() not in shown
    with pytest.raises(TypeError):
        pickle.dumps(keys)
