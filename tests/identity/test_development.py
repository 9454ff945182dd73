"""The development key: made once, private, and never taken over from somebody else."""

import threading
from datetime import timedelta
from pathlib import Path

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from app.domain.errors import MunimentError
from app.identity.development import ALGORITHM, ORGANISATION, SUBJECT, DevelopmentKey
from app.identity.tokens import TokenVerifier
from app.providers.private_file import PrivateFileError


def verifier(key: DevelopmentKey) -> TokenVerifier:
    return TokenVerifier.of(key.public_pem, ALGORITHM, "muniment", "muniment")


def test_it_is_made_once_and_is_private(tmp_path: Path) -> None:
    path = tmp_path / "keys" / "development.pem"
    first, again = DevelopmentKey.load_or_create(path), DevelopmentKey.load_or_create(path)
    assert first.public_pem == again.public_pem
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_two_starts_at_once_agree(tmp_path: Path) -> None:
    path, found, barrier = tmp_path / "keys" / "development.pem", [], threading.Barrier(8)

    def start() -> None:
        barrier.wait()
        found.append(DevelopmentKey.load_or_create(path).public_pem)

    threads = [threading.Thread(target=start) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len(set(found)) == 1


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644, 0o610, 0o777])
def test_a_key_that_others_may_read_is_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "development.pem"
    DevelopmentKey.load_or_create(path)
    path.chmod(mode)
    with pytest.raises(PrivateFileError, match="chmod 600"):
        DevelopmentKey.load_or_create(path)


@pytest.mark.parametrize("mode", [0o770, 0o777, 0o702])
def test_a_folder_that_others_may_write_is_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "keys" / "development.pem"
    DevelopmentKey.load_or_create(path)
    path.parent.chmod(mode)
    with pytest.raises(PrivateFileError, match="chmod 700"):
        DevelopmentKey.load_or_create(path)


@pytest.mark.parametrize("content", [b"", b"nonsense", b"x" * 5000])
def test_what_is_no_key_is_refused_and_kept(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "development.pem"
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(ValueError, match=r"development\.pem"):
        DevelopmentKey.load_or_create(path)
    assert path.read_bytes() == content


def test_a_key_of_another_kind_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "development.pem"
    other = rsa.generate_private_key(65537, 2048)
    path.write_bytes(other.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    path.chmod(0o600)
    with pytest.raises(ValueError, match="Ed25519"):
        DevelopmentKey.load_or_create(path)


def test_its_tokens_are_believed(tmp_path: Path) -> None:
    key = DevelopmentKey.load_or_create(tmp_path / "development.pem")
    principal = verifier(key).principal(key.token("muniment", "muniment"), {})
    assert (principal.organisation, principal.external_id) == (ORGANISATION, SUBJECT)
    assert principal.client.id == "muniment-development"
    header = jwt.get_unverified_header(key.token("muniment", "muniment"))
    assert header["alg"] == "EdDSA"


def test_its_tokens_end(tmp_path: Path) -> None:
    key = DevelopmentKey.load_or_create(tmp_path / "development.pem")
    ended = key.token("muniment", "muniment", lifetime=timedelta(minutes=-1))
    elsewhere = DevelopmentKey.load_or_create(tmp_path / "other.pem").token("muniment", "muniment")
    for given in (ended, elsewhere, key.token("other", "muniment"), key.token("muniment", "other")):
        with pytest.raises(MunimentError):
            verifier(key).principal(given, {})
