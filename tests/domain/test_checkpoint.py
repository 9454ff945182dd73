"""Signed notes by the rules of C2SP: `signed-note`, `tlog-checkpoint`."""

import base64
import hashlib

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from app.domain.checkpoint import (
    Checkpoint,
    NoteError,
    NoteSignature,
    check_name,
    key_hash,
    open_note,
    parse_checkpoint,
    parse_note,
    signed_note,
    verifier_key,
)
from app.providers.signing import genuine

KEY = Ed25519PrivateKey.from_private_bytes(hashlib.sha256(b"a key of this test").digest())
PUBLIC = KEY.public_key().public_bytes_raw()
NAME = "example.com/log"
TEXT = f"{NAME}\n20852163\n{base64.b64encode(bytes(range(32))).decode()}\n"

# The examples of the two specifications, byte for byte.
VERSE = (
    "Ognuno sta solo sul cuor della terra\ntrafitto da un raggio di sole:\n\ned è subito sera.\n\n"
    "— quasimodo.example/salvatore NnugSzTjtVAewIS+Z/iJhUPeFDkO/5QQ2i5ddnGITLlC+EhfLW9oJKONrMouFSQU0xMcXxj99ihAQwaqP3"
    "ZekRwNtIc=\n"
).encode()
SOFA = (
    "example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n\n"
    "— example.com/behind-the-sofa Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xe"
    "McTOAYQ8=\n"
).encode()


def line(text=TEXT, name=NAME, key=KEY):
    public = key.public_key().public_bytes_raw()
    return NoteSignature(name, key_hash(name, public), key.sign(text.encode()))


def known(name=NAME, public=PUBLIC):
    return {(name, key_hash(name, public)): public}


def test_the_examples_of_the_specifications_are_read():
    note = parse_note(VERSE)
    assert note.text.endswith("\n\ned è subito sera.\n")
    (signature,) = note.signatures
    assert (signature.name, len(signature.key_hash), len(signature.signature)) == ("quasimodo.example/salvatore", 4, 64)
    assert signed_note(note.text, note.signatures) == VERSE
    checkpoint = parse_checkpoint(parse_note(SOFA).text)
    assert (checkpoint.origin, checkpoint.size) == ("example.com/behind-the-sofa", 20852163)
    assert checkpoint.text == parse_note(SOFA).text


def test_the_key_hash_is_that_of_the_specification():
    # The key of Go's package `note`, PeterNeumann+c74f20a3+…, from its documentation.
    public = base64.b64decode("ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW")
    assert public[:1] == b"\1"
    assert key_hash("PeterNeumann", public[1:]).hex() == "c74f20a3"
    assert (
        verifier_key("PeterNeumann", public[1:]) == "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
    )


def test_a_note_of_go_is_genuine():
    """The signed note in the documentation of Go's package `note`."""
    text = "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n"
    note = (
        f"{text}\n— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyB"
        "wJnAM=\n"
    ).encode()
    public = base64.b64decode("ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW")[1:]
    assert open_note(note, known("PeterNeumann", public), genuine).text == text
    with pytest.raises(NoteError, match="does not fit"):
        open_note(note.replace(b"cryptography", b"cryptogrophy"), known("PeterNeumann", public), genuine)


def test_what_was_signed_is_believed_and_nothing_else():
    note = signed_note(TEXT, [line()])
    assert open_note(note, known(), genuine).text == TEXT
    for edited in (note.replace(b"20852163", b"20852164"), note.replace(b"com/log\n2", b"com/lag\n2")):
        with pytest.raises(NoteError):
            open_note(edited, known(), genuine)
    with pytest.raises(NoteError, match="no known key"):
        open_note(note, {}, genuine)
    with pytest.raises(NoteError, match="no known key"):
        open_note(note, known("another"), genuine)


def test_signatures_of_unknown_keys_are_ignored_and_bad_ones_of_known_keys_are_not():
    stranger = Ed25519PrivateKey.generate()
    bad = NoteSignature(NAME, key_hash(NAME, PUBLIC), bytes(64))
    other = NoteSignature("witness", b"abcd", b"anything at all")
    assert open_note(signed_note(TEXT, [line(key=stranger), line(), other]), known(), genuine).text == TEXT
    assert len(parse_note(signed_note(TEXT, [line()] * 16)).signatures) == 16
    with pytest.raises(NoteError, match="does not fit"):
        open_note(signed_note(TEXT, [line(), bad]), known(), genuine)
    with pytest.raises(NoteError, match="no known key"):
        open_note(signed_note(TEXT, [line(key=stranger)]), known(), genuine)


@pytest.mark.parametrize(
    "note",
    [
        b"",
        b"text\n",
        b"text\n\n",
        "text\n\n— name AAAAAAA=".encode(),
        "\n\n— name AAAAAAA=\n".encode(),
        "text\n— name AAAAAAA=\n".encode(),
        b"text\n\n- name AAAAAAA=\n",
        "text\n\n—name AAAAAAA=\n".encode(),
        "text\n\n— name\n".encode(),
        "text\n\n— name AAAA\n".encode(),
        "text\n\n— name AAAAA!==\n".encode(),
        "text\n\n— name AAAAAAB=\n".encode(),
        "text\n\n—  AAAAAAA=\n".encode(),
        "text\n\n— na+me AAAAAAA=\n".encode(),
        "text\n\n— na\u2003me AAAAAAA=\n".encode(),
        "te\txt\n\n— name AAAAAAA=\n".encode(),
        "te\rxt\n\n— name AAAAAAA=\n".encode(),
        "te\0xt\n\n— name AAAAAAA=\n".encode(),
        b"te\xffxt\n\n" + "— name AAAAAAA=\n".encode(),
        "text\n\n— name AAAAAAA=\nmore\n".encode(),
    ],
)
def test_what_is_no_note_is_refused(note):
    with pytest.raises(NoteError):
        parse_note(note)


def test_a_note_is_bounded():
    with pytest.raises(NoteError, match="bytes"):
        parse_note(b"a" * (1 << 21))
    with pytest.raises(NoteError, match="signatures"):
        signed_note(TEXT, [line()] * 65)


ROOT = base64.b64encode(bytes(32)).decode()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "origin\n",
        "origin\n1\n",
        f"origin\n1\n{ROOT}",
        f"\n1\n{ROOT}\n",
        f"origin\n01\n{ROOT}\n",
        f"origin\n-1\n{ROOT}\n",
        f"origin\n+1\n{ROOT}\n",
        f"origin\n１\n{ROOT}\n",
        f"origin\n1 \n{ROOT}\n",
        f"origin\n1\n{ROOT[:-4]}\n",
        f"origin\n1\n{ROOT}\n\n",
        f"origin\n1\n{ROOT}\n\nmore\n",
        f"origin\n99999999999999999999\n{ROOT}\n",
    ],
)
def test_what_is_no_checkpoint_is_refused(text):
    with pytest.raises(NoteError):
        parse_checkpoint(text)


def test_extensions_are_allowed_and_an_empty_tree_has_size_0():
    assert parse_checkpoint(f"o\n0\n{ROOT}\n") == Checkpoint("o", 0, bytes(32))
    assert parse_checkpoint(f"o\n7\n{ROOT}\nmore\nand more\n").size == 7


@given(st.text(min_size=1, max_size=20), st.integers(0, 2**62), st.binary(min_size=32, max_size=32))
def test_what_is_written_is_read_again(name, size, root):
    try:
        checked = check_name(name)
    except NoteError:
        with pytest.raises(NoteError):
            key_hash(name, PUBLIC)
        return
    checkpoint = Checkpoint(checked, size, root)
    if "\ud800" <= min(name) <= "\udfff":
        return
    note = signed_note(checkpoint.text, [line(checkpoint.text, checked)])
    assert parse_checkpoint(open_note(note, known(checked), genuine).text) == checkpoint


@given(st.binary(max_size=200))
def test_no_bytes_do_more_than_be_refused(data):
    for note in (data, TEXT.encode() + b"\n" + data, data + SOFA):
        try:
            parse_checkpoint(parse_note(note).text)
        except NoteError:
            continue
