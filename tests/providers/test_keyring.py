import base64
import hashlib
import hmac
import json
import pickle
import secrets
import subprocess
import sys
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from app.domain.chain import EMPTY, Head, Outcome, append, verify
from app.providers.keyring import KeyRing, KeyRingError
from app.providers.weak_keys import weakness

ORGANISATION = UUID(int=7)


def encoded(key: bytes) -> str:
    return base64.b64encode(key).decode()


def fresh() -> str:
    return encoded(secrets.token_bytes(32))


def written(path: Path, fields: object, mode: int = 0o600) -> Path:
    path.write_text(fields if isinstance(fields, str) else json.dumps(fields))
    path.chmod(mode)
    return path


# The file


def test_a_new_ring_is_private_and_read_again(tmp_path: Path) -> None:
    path = tmp_path / "keys" / "ring.json"
    made = KeyRing.load_or_create(path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    for again in (KeyRing.load_or_create(path), KeyRing.load(path)):
        assert again.current_id == made.current_id
        assert again.organisation_key(ORGANISATION, made.current_id) == made.organisation_key(
            ORGANISATION, made.current_id
        )


def test_two_new_rings_share_nothing(tmp_path: Path) -> None:
    left, right = KeyRing.load_or_create(tmp_path / "a.json"), KeyRing.load_or_create(tmp_path / "b.json")
    assert left.current_id != right.current_id
    assert left.organisation_key(ORGANISATION, right.current_id) is None


def test_processes_that_start_at_once_get_one_key(tmp_path: Path) -> None:
    code = "import sys, pathlib; from app.providers.keyring import KeyRing; "
    code += "print(KeyRing.load_or_create(pathlib.Path(sys.argv[1])).ids)"
    path = tmp_path / "keys" / "ring.json"
    running = [
        subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True) for _ in range(4)
    ]
    printed = {process.communicate(timeout=60)[0].strip() for process in running}
    assert printed == {str(KeyRing.load(path).ids)}


def test_load_refuses_a_missing_ring_and_makes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "keys" / "ring.json"
    with pytest.raises(KeyRingError, match=str(path.parent)):
        KeyRing.load(path)
    assert not path.parent.exists()
    with pytest.raises(KeyRingError, match="does not exist"):
        KeyRing.load(tmp_path / "ring.json")


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644, 0o666])
def test_a_file_that_others_may_read_is_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "ring.json"
    KeyRing.load_or_create(path)
    path.chmod(mode)
    for load in (KeyRing.load, KeyRing.load_or_create):
        with pytest.raises(KeyRingError, match=f"may be read by others.*chmod 600 {path}"):
            load(path)


def test_a_folder_that_others_may_write_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "keys" / "ring.json"
    KeyRing.load_or_create(path)
    path.parent.chmod(0o770)
    for load in (KeyRing.load, KeyRing.load_or_create):
        with pytest.raises(KeyRingError, match=f"chmod 700 {path.parent}"):
            load(path)


SECRET = fresh()
BAD_FILES: list[object] = [
    "",
    "not json " + SECRET,
    "[" * 100_000,
    [],
    {"format": 1},
    {"format": 2, "current": "k", "keys": [{"id": "k", "key": SECRET}]},
    {"format": 1, "current": "k", "keys": []},
    {"format": 1, "current": "other", "keys": [{"id": "k", "key": SECRET}]},
    {"format": 1, "current": "k", "keys": [{"id": "k"}]},
    {"format": 1, "current": "k", "keys": [{"id": "k", "key": 5}]},
    {"format": 1, "current": "k", "keys": [{"id": 5, "key": SECRET}]},
    {"format": 1, "current": "k", "keys": [{"id": "k", "key": SECRET + "!"}]},
    {"format": 1, "current": "k", "keys": [{"id": "k", "key": SECRET}, {"id": "k", "key": fresh()}]},
    {"format": 1, "current": "k", "keys": [{"id": "k", "key": SECRET}, {"id": "l", "key": SECRET}]},
    {"format": 1, "current": "k", "keys": [{"id": SECRET, "key": "k"}]},
]


@pytest.mark.parametrize("number", range(len(BAD_FILES)))
def test_a_bad_file_is_refused_by_name_without_its_content(tmp_path: Path, number: int) -> None:
    path = written(tmp_path / "ring.json", BAD_FILES[number])
    with pytest.raises(KeyRingError) as raised:
        KeyRing.load(path)
    assert str(path) in str(raised.value)
    error: BaseException | None = raised.value
    while error is not None:
        assert SECRET not in repr(vars(error)) + str(error)
        error = error.__context__


# Rotation


def test_rotation_keeps_the_old_key_and_what_it_made(tmp_path: Path) -> None:
    path = tmp_path / "ring.json"
    ring = KeyRing.load_or_create(path)
    old = ring.current_id
    old_key = ring.organisation_key(ORGANISATION, old)
    new = ring.rotate()
    assert ring.current_id == new != old
    assert ring.ids == (old, new)
    again = KeyRing.load(path)
    assert again.current_id == new
    assert again.organisation_key(ORGANISATION, old) == old_key != again.organisation_key(ORGANISATION, new)
    assert path.stat().st_mode & 0o777 == 0o600


def test_another_process_takes_up_a_rotation(tmp_path: Path) -> None:
    path = tmp_path / "ring.json"
    first, second, third = (KeyRing.load_or_create(path) for _ in range(3))
    new = first.rotate()
    assert second.current_id == new
    assert third.organisation_key(ORGANISATION, new) == first.organisation_key(ORGANISATION, new) is not None
    assert second.rotate() != new
    assert len(KeyRing.load(path).ids) == 3


def test_a_running_ring_outlives_its_file_but_not_a_swapped_key(tmp_path: Path) -> None:
    path = tmp_path / "ring.json"
    ring = KeyRing.load_or_create(path)
    current = ring.current_id
    kept = ring.organisation_key(ORGANISATION, current)
    path.unlink()
    assert ring.current_id == current
    assert ring.organisation_key(ORGANISATION, "unknown") is None
    other = KeyRing.load_or_create(path)
    assert ring.current_id == other.current_id
    assert ring.organisation_key(ORGANISATION, current) == kept
    written(path, {"format": 1, "current": current, "keys": [{"id": current, "key": fresh()}]})
    with pytest.raises(KeyRingError, match="another key"):
        _ = ring.current_id


def test_an_interrupted_rotation_leaves_the_ring_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "ring.json"
    ring = KeyRing.load_or_create(path)
    before = path.read_bytes()
    (tmp_path / ".ring.json.new").mkdir()
    with pytest.raises(KeyRingError, match="cannot be written"):
        ring.rotate()
    assert path.read_bytes() == before
    assert len(ring.ids) == 1


def test_rotate_then_lose_the_old_key(tmp_path: Path) -> None:
    path = tmp_path / "ring.json"
    ring = KeyRing.load_or_create(path)
    entries, head = [], EMPTY
    for _ in range(2):
        name = ring.current_id
        key = ring.organisation_key(ORGANISATION, name)
        assert key is not None
        entries += append(ORGANISATION, head, [b"a", b"b"], key, name)
        head = Head(entries[-1].sequence, entries[-1].mac)
        ring.rotate()

    def verdict(ring: KeyRing) -> Outcome:
        return verify(ORGANISATION, entries, lambda name: ring.organisation_key(ORGANISATION, name), head).verdict

    assert verdict(ring) is Outcome.VALID
    fields = json.loads(path.read_text())
    written(path, {**fields, "keys": fields["keys"][1:]})
    assert verdict(KeyRing.load(path)) is Outcome.UNVERIFIABLE


# The environment


def test_keys_from_the_environment_the_last_is_current() -> None:
    old, new = secrets.token_bytes(32), secrets.token_bytes(64)
    ring = KeyRing.from_environment(f" 2025:{encoded(old)} , 2026.a_B-c:{encoded(new)}\n")
    assert ring.ids == ("2025", "2026.a_B-c")
    assert ring.current_id == "2026.a_B-c"
    with pytest.raises(KeyRingError, match="MUNIMENT_KEYS"):
        ring.rotate()


@pytest.mark.parametrize(
    "value",
    [
        "",
        ",",
        SECRET,
        f"k:{SECRET},",
        f":{SECRET}",
        f"a b:{SECRET}",
        f"é:{SECRET}",
        f"{'k' * 65}:{SECRET}",
        f"k:{SECRET}:{SECRET}",
        f"k:{SECRET[:-1]}",
        f"k:{SECRET[:20]} {SECRET[20:]}",
        f"k:{SECRET},k:{fresh()}",
        f"k:{SECRET},l:{SECRET}",
        f"{SECRET}:k",
        "k:",
        f"k:{encoded(b'changeme' * 4)}",
    ],
)
def test_bad_values_are_refused_without_telling_them(value: str) -> None:
    with pytest.raises(KeyRingError, match="MUNIMENT_KEYS") as raised:
        KeyRing.from_environment(value)
    error: BaseException | None = raised.value
    while error is not None:
        assert SECRET[:20] not in repr(vars(error)) + str(error)
        error = error.__context__


# Weak keys

TEXT = b"correct horse battery staple, and some more"
RFC_4231 = [
    b"\x0b" * 20,
    b"Jefe",
    b"\xaa" * 20,
    bytes(range(1, 26)),
    b"\x0c" * 20,
    b"\xaa" * 131,
]
WEAK = [
    b"",
    secrets.token_bytes(31),
    secrets.token_bytes(1025),
    bytes(32),
    b"\xff" * 32,
    b"\xaa" * 64,
    bytes(range(32)),
    bytes(range(1, 65)),
    bytes(range(255, 223, -1)),
    bytes(7 * i % 256 for i in range(40)),
    b"changeme" * 4,
    b"changemechangemechangemechangeme!",
    TEXT,
    "gedämpftes Licht über der Öresundbrücke".encode(),
    secrets.token_hex(32).encode(),
    encoded(secrets.token_bytes(32)).encode(),
    secrets.token_bytes(16) * 2,
    secrets.token_bytes(15) * 3,
    secrets.token_bytes(40) * 2,
    bytes(secrets.choice(b"\x00\x80\xff\x10") for _ in range(64)),
    bytes(31) + b"\x01",
    secrets.token_bytes(12) + bytes(20),
    hashlib.sha256(b"").digest(),
    hashlib.sha256(b"changeme").digest(),
    bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"),
    base64.urlsafe_b64decode(
        "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow=="
    ),
    *RFC_4231,
]


@pytest.mark.parametrize("number", range(len(WEAK)))
def test_weak_and_published_keys_are_refused(tmp_path: Path, number: int) -> None:
    key = WEAK[number]
    with pytest.raises(KeyRingError, match=r"key 2 of MUNIMENT_KEYS .+openssl rand") as raised:
        KeyRing.from_environment(f"good:{fresh()},weak:{encoded(key)}")
    assert not key or encoded(key) not in str(raised.value)
    path = written(
        tmp_path / "ring.json", {"format": 1, "current": "weak", "keys": [{"id": "weak", "key": encoded(key)}]}
    )
    with pytest.raises(KeyRingError, match=f"key 1 of {path} "):
        KeyRing.load(path)


def test_random_keys_are_accepted() -> None:
    for size in (32, 33, 48, 64, 1024):
        for number in range(200):
            key = hashlib.shake_256(f"{size} {number}".encode()).digest(size)
            assert weakness(key) is None


# Derived keys


def test_an_organisations_key_is_hkdf_of_the_master() -> None:
    master = secrets.token_bytes(32)
    ring = KeyRing.from_environment(f"k1:{encoded(master)}")
    extracted = hmac.digest(bytes(32), master, "sha256")
    info = b"muniment/evidence/v1" + ORGANISATION.bytes + b"k1"
    expected = hmac.digest(extracted, info + b"\x01", "sha256")
    assert ring.organisation_key(ORGANISATION, "k1") == expected
    assert ring.organisation_key(ORGANISATION, "k1") == expected
    assert ring.organisation_key(ORGANISATION, "k2") is None


def test_organisations_and_ids_never_share_a_key() -> None:
    ring = KeyRing.from_environment(f"k1:{fresh()},k2:{fresh()}")
    keys = {ring.organisation_key(organisation, name) for organisation in (uuid4(), uuid4()) for name in ring.ids}
    assert len(keys) == 4
    assert None not in keys


def test_a_ring_never_shows_or_gives_away_its_keys(tmp_path: Path) -> None:
    master = secrets.token_bytes(32)
    ring = KeyRing.from_environment(f"k1:{encoded(master)}")
    derived = ring.organisation_key(ORGANISATION, "k1")
    assert derived is not None
    for shown in (repr(ring), str(ring), f"{ring}", repr([ring])):
        assert shown.strip("[]").startswith("KeyRing(ids=['k1'")
        for secret in (master, derived):
            assert repr(secret)[2:-1] not in shown
            assert secret.hex() not in shown
            assert encoded(secret) not in shown
    with pytest.raises(TypeError):
        pickle.dumps(ring)
