"""Bundles: made from a real chain, checked with the public key alone, and refused for a single changed byte."""

import json
import random
import shutil
import struct
import subprocess
import sys
import zipfile
import zlib
from pathlib import Path

import pytest

from app.domain.errors import Code, MunimentError
from app.evidence import bundle_verifier
from app.evidence.bundle_verifier import LAYOUT, Member, directory, local_header, read_key, verify_bundle
from app.evidence.checkpoints import Checkpointer
from app.evidence.exporting import export_bundle
from app.providers.checkpoint_log import CheckpointLog
from app.providers.signing import SigningKeys
from app.storage import queue
from tests.evidence.support import enqueue, make_event
from tests.evidence.test_checkpoints import behind_the_wall


@pytest.fixture
def signing(office):
    return SigningKeys.load_or_create(office.home / "keys" / "signing.json")


@pytest.fixture
def checkpointer(office, signing):
    return Checkpointer(office.database, signing, CheckpointLog(office.home / "checkpoints"), "test.example")


@pytest.fixture
def public(signing):
    return signing.signer.public_key


async def append(office, count):
    await enqueue(office.database, office.organisation, count, "señal 信号 ")
    await office.drain()


async def export(office, checkpointer, name="bundle.zip", **options):
    target = office.home / name
    exported = await export_bundle(office.database, checkpointer, office.organisation, target, **options)
    return target, exported


def contents(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def written(path, members, names=LAYOUT):
    """A bundle with other contents, well formed as an archive."""
    blob, found = b"", []
    for name in names:
        content = members[name]
        blob += local_header(name, len(content), zlib.crc32(content))
        found.append(Member(name, len(blob), len(content), zlib.crc32(content)))
        blob += content
    path.write_bytes(blob + directory(found))
    return path


async def test_a_bundle_passes_and_holds_the_exact_records(office, checkpointer, public):
    await append(office, 11)
    await checkpointer.sign(office.organisation)
    await append(office, 20)
    path, exported = await export(office, checkpointer)
    assert (exported.records, exported.first, exported.last) == (31, 1, 31)
    report = verify_bundle(path, public)
    assert report.valid
    assert report.records == 31
    assert "31 records (1 to 31)" in report.reason
    assert zipfile.ZipFile(path).testzip() is None
    from tests.evidence.support import chain_of

    rows = await chain_of(office.database, office.organisation)
    lines = [json.loads(line) for line in contents(path)["records.jsonl"].splitlines()]
    assert [line["payload"].encode() for line in lines] == [row.payload for row in rows]
    assert [bytes.fromhex(line["mac"]) for line in lines] == [row.mac for row in rows]
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(("first", "last", "count"), [(1, 1, 1), (5, 9, 5), (12, None, 20), (None, 3, 3), (31, 99, 1)])
async def test_a_range(office, checkpointer, public, first, last, count):
    await append(office, 11)
    await checkpointer.sign(office.organisation)
    await append(office, 20)
    path, exported = await export(office, checkpointer, first=first, last=last)
    report = verify_bundle(path, public)
    assert (report.valid, report.records, exported.records) == (True, count, count)
    # The proofs lead to the earliest signed tree that holds the records.
    assert contents(path)["checkpoint.txt"].split(b"\n")[1] == (b"11" if exported.last <= 11 else b"31")


async def test_the_records_of_one_request(office, checkpointer, public):
    await append(office, 3)
    mine = [make_event(office.organisation, requestId="wanted") for _ in range(2)]
    for event in mine:
        async with office.database.unstamped(office.organisation) as session:
            await queue.enqueue(session, event.id, event.payload)
        await append(office, 2)
    path, exported = await export(office, checkpointer, request_id="wanted")
    assert (exported.records, exported.first, exported.last) == (2, 4, 7)
    assert verify_bundle(path, public).valid
    with pytest.raises(MunimentError) as refused:
        await export(office, checkpointer, request_id="unknown")
    assert refused.value.code is Code.NOT_FOUND


async def test_after_a_rotation_the_new_key_is_enough(office, checkpointer, signing, public):
    await append(office, 4)
    await checkpointer.sign(office.organisation)
    signing.rotate()
    await append(office, 4)
    path, exported = await export(office, checkpointer, last=3)
    assert exported.public_key != public
    assert verify_bundle(path, exported.public_key).valid
    assert not verify_bundle(path, public).valid
    assert contents(path)["checkpoint.txt"].split(b"\n")[1] == b"4"


async def test_another_key_is_not_enough(office, checkpointer, tmp_path):
    await append(office, 2)
    path, _ = await export(office, checkpointer)
    stranger = SigningKeys.load_or_create(tmp_path / "other" / "signing.json").signer.public_key
    report = verify_bundle(path, stranger)
    assert (report.valid, report.reason) == (False, "the manifest is not signed by the given key")


async def test_every_changed_byte_is_found(office, checkpointer, public):
    await append(office, 3)
    await checkpointer.sign(office.organisation)
    await append(office, 1)
    path, _ = await export(office, checkpointer, first=2, last=3)
    good = path.read_bytes()
    changed = office.home / "changed.zip"
    dice = random.Random(6962)
    container = {*range(40), *range(len(good) - 700, len(good))}
    for place in sorted({*container, *dice.sample(range(len(good)), 900)}):
        edited = bytearray(good)
        edited[place] ^= 1 << dice.randrange(8)
        changed.write_bytes(edited)
        assert not verify_bundle(changed, public).valid, place
    for end in (0, 1, 29, len(good) // 2, len(good) - 1):
        changed.write_bytes(good[:end])
        assert not verify_bundle(changed, public).valid
    for more in (b"\0", b"\n", good):
        changed.write_bytes(good + more)
        assert not verify_bundle(changed, public).valid
        changed.write_bytes(more + good)
        assert not verify_bundle(changed, public).valid


async def test_the_first_bad_record_is_named(office, checkpointer, public):
    await append(office, 9)
    path, _ = await export(office, checkpointer, first=3)
    members = contents(path)
    lines = members["records.jsonl"].splitlines(keepends=True)

    def found(*edited):
        report = verify_bundle(
            written(office.home / "edited.zip", {**members, "records.jsonl": b"".join(edited)}), public
        )
        assert not report.valid
        return report.first_bad

    broken = lines[2].replace(b"user", b"usir", 1)
    assert broken != lines[2]
    assert found(*lines[:2], broken, *lines[3:]) == 5
    assert found(*lines[:2], *lines[3:]) == 5
    assert found(*lines[1:]) == 3
    assert found(*lines[:-1]) == 9
    assert found(lines[1], lines[0], *lines[2:]) == 3
    assert found(*lines, lines[-1]) == 10
    assert found(lines[0], b"{}\n", *lines[1:]) == 4
    assert found(lines[0], b"[" * 100_000 + b"\n", *lines[1:]) == 4
    assert found(*lines[:3], lines[3].replace(b'"keyId"', b'"sequence":6,"keyId"', 1), *lines[4:]) == 6
    assert found() == 3


async def test_hostile_archives_are_refused(office, checkpointer, public):
    await append(office, 2)
    path, _ = await export(office, checkpointer)
    members, hostile = contents(path), office.home / "hostile.zip"

    def refused():
        report = verify_bundle(hostile, public)
        assert not report.valid
        return report.reason

    with zipfile.ZipFile(hostile, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in LAYOUT:
            archive.writestr(name, b"0" * 100_000_000 if name == "records.jsonl" else members[name])
    assert hostile.stat().st_size < 1_000_000
    assert "README.txt" in refused()
    written(hostile, {**members, "../../etc/passwd": b"x"}, (*LAYOUT, "../../etc/passwd"))
    assert "directory" in refused()
    written(hostile, {**members, "../README.txt": b"x"}, ("../README.txt", *LAYOUT[1:]))
    refused()
    written(hostile, members, (*LAYOUT[:-1], LAYOUT[0], LAYOUT[-1]))
    refused()
    written(hostile, {**members, "latest.txt": b"x" * (1 << 21)})
    refused()
    # A size that the file does not have.
    content = path.read_bytes()
    hostile.write_bytes(content[:18] + struct.pack("<II", 2**32 - 1, 2**32 - 1) + content[26:])
    refused()
    with zipfile.ZipFile(hostile, "w") as archive:
        archive.writestr("a", b"")
    refused()
    hostile.write_bytes(b"")
    assert "no bundle" in refused()


async def test_a_chain_that_was_edited_is_not_exported(office, checkpointer, owner_url):
    await append(office, 6)
    await checkpointer.sign(office.organisation)
    await behind_the_wall(
        owner_url, office, "UPDATE evidence SET mac = sha256(mac) WHERE organisation_id = $1 AND sequence = 4"
    )
    with pytest.raises(MunimentError, match="verify the chain") as refused:
        await export(office, checkpointer)
    assert refused.value.code is Code.CONFLICT
    assert list(office.home.glob("*bundle*")) == list(office.home.glob(".bundle*")) == []
    path, _ = await export(office, checkpointer, last=3)
    assert path.exists()


async def test_an_empty_chain_has_no_bundle(office, checkpointer):
    with pytest.raises(MunimentError) as refused:
        await export(office, checkpointer)
    assert refused.value.code is Code.NOT_FOUND


async def test_the_verifier_works_alone_in_an_empty_folder(office, checkpointer, public, tmp_path):
    await append(office, 5)
    path, _ = await export(office, checkpointer)
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    shutil.copy(path, folder / "bundle.zip")
    shutil.copy(bundle_verifier.__file__, folder)

    def run(*arguments):
        return subprocess.run(
            [sys.executable, "-I", "bundle_verifier.py", *arguments],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    import base64

    key = base64.b64encode(public).decode()
    good = run("bundle.zip", key)
    assert (good.returncode, good.stdout.splitlines()[0]) == (0, "VALID")
    (folder / "key.txt").write_text(contents(path)["README.txt"].decode().split("take it:\n\n    ")[1].split("\n")[0])
    assert run("bundle.zip", "key.txt").returncode == 0
    content = bytearray((folder / "bundle.zip").read_bytes())
    content[len(content) // 3] ^= 1
    (folder / "bundle.zip").write_bytes(content)
    bad = run("bundle.zip", key)
    assert (bad.returncode, bad.stdout.splitlines()[0]) == (1, "INVALID")
    assert run("bundle.zip").returncode == run("bundle.zip", "AAAA").returncode == run("none.zip", key).returncode == 2


def test_the_verifier_imports_nothing_of_ours():
    source = Path(bundle_verifier.__file__).read_text()
    imported = {line.split()[1].split(".")[0] for line in source.splitlines() if line.startswith(("import ", "from "))}
    assert imported - set(sys.stdlib_module_names) == {"cryptography"}
    assert "__import__" not in source


def test_a_public_key_may_be_written_in_several_ways(tmp_path):
    import base64

    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    from app.domain.checkpoint import verifier_key

    key = SigningKeys.load_or_create(tmp_path / "keys" / "signing.json").signer.public_key
    pem = Ed25519PublicKey.from_public_bytes(key).public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    plain, url = base64.b64encode(key).decode(), base64.urlsafe_b64encode(key).decode()
    for text in (plain, f"{plain}\n", url, url.rstrip("="), pem.decode(), verifier_key("muniment/x", key)):
        assert read_key(text) == key
    for text in ("", "x", plain[:-4], "-----BEGIN NONSENSE-----"):
        with pytest.raises(ValueError, match=r"."):
            read_key(text)
