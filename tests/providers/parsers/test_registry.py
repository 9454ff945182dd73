import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.providers.parsers.blocks import Unsupported
from app.providers.parsers.registry import clean, decode, parse, supported
from tests.providers.parsers.test_blocks import assert_whole


@pytest.mark.parametrize(
    ("name", "mime", "language"),
    [
        ("a.md", "text/markdown", None),
        ("docs/A.MARKDOWN", "text/markdown", None),
        ("a.html", "text/html", None),
        ("a.py", "text/x-python", "python"),
        ("a.txt", "text/plain", None),
        ("a.rst", "text/x-rst", None),
        ("a.go", "text/x-go", "go"),
        ("a.tsx", "text/x-typescript", "typescript"),
        ("pyproject.toml", "application/toml", "toml"),
        ("Makefile", "text/x-makefile", "make"),
        ("some/LICENSE", "text/plain", None),
    ],
)
def test_the_name_chooses_the_parser(name: str, mime: str, language: str | None) -> None:
    parsed = parse(name, b"x = 1\n")
    assert supported(name)
    assert (parsed.mime, parsed.language, parsed.problems) == (mime, language, ())


@pytest.mark.parametrize("name", ["a.png", "a.bin", "a", ".env", "a.md.gz", "", "md", ".md.exe"])
def test_other_names_are_not_supported(name: str) -> None:
    assert not supported(name)
    with pytest.raises(Unsupported, match="no parser"):
        parse(name, b"text")


@pytest.mark.parametrize(
    "data", [b"\x89PNG\r\n\x1a\n", b"%PDF-1.7", b"PK\x03\x04rest", b"\x1f\x8b\x08", b"\x7fELF", bytes(range(1, 32)) * 9]
)
def test_binary_data_under_a_text_name_is_not_supported(data: bytes) -> None:
    with pytest.raises(Unsupported, match="binary"):
        parse("a.md", data)


@pytest.mark.parametrize(
    ("data", "text", "problems"),
    [
        ("żółw 亀".encode(), "żółw 亀", ()),
        (b"\xef\xbb\xbfa", "a", ()),
        ("aé亀".encode("utf-16"), "aé亀", ()),
        (b"\xfe\xff" + "aé亀".encode("utf-16-be"), "aé亀", ()),
        ("aé亀".encode("utf-32"), "aé亀", ()),
        ("café “x”".encode("cp1252"), "café “x”", ("Not UTF-8; read as Windows-1252.",)),
        (b"caf\xe9 \x81", "café \x81", ("Not UTF-8; read as Latin-1.",)),
        ("文書の一部".encode()[:-1], "文書の一\ufffd", ("Bytes that are not UTF-8 replaced: 1.",)),
        (b"\xff\xfea\x00b", "a\ufffd", ("Bytes that are not UTF-16-LE replaced: 1.",)),
        (b"a\x00b\x00", "ab", ("NUL characters removed: 2.",)),
        (b"a\xed\xa0\x80b", "a\ufffdb", ("Lone surrogates replaced: 1.",)),
        (b"one\r\ntwo\rthree\n", "one\r\ntwo\rthree\n", ()),
        ("e\u0301".encode(), "e\u0301", ()),
        (b"", "", ()),
    ],
)
def test_bytes_become_text_and_repairs_are_told(data: bytes, text: str, problems: tuple[str, ...]) -> None:
    assert decode(data) == (text, problems)


@given(st.binary())
def test_any_bytes_become_text_that_can_be_stored(data: bytes) -> None:
    text, _ = decode(data)
    assert "\0" not in text
    text.encode()


@given(st.text(alphabet=st.characters()) | st.text(alphabet="a\0\ud800\udfff"))
def test_cleaning_touches_nothing_else(text: str) -> None:
    cleaned, problems = clean(text)
    assert clean(cleaned) == (cleaned, ())
    assert (cleaned == text) == (not problems)
    cleaned.encode()


@pytest.mark.parametrize("name", ["a.md", "a.html", "a.py", "a.txt"])
def test_nul_and_surrogates_in_any_format_are_cleaned_and_told(name: str) -> None:
    parsed = parse(name, b"word a\x00b \xed\xb0\x80 end")
    assert parsed.text.split() == ["word", "ab", "\ufffd", "end"]
    assert parsed.problems[:2] == ("NUL characters removed: 1.", "Lone surrogates replaced: 1.")


@given(st.sampled_from(["a.md", "a.html", "a.py", "a.js", "a.rst"]), st.text(max_size=100))
def test_any_text_under_any_name_is_whole(name: str, text: str) -> None:
    try:
        parsed = parse(name, text.encode())
    except Unsupported:
        return
    assert_whole(parsed)
    assert "\0" not in parsed.text
