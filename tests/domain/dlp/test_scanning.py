"""What is found, what is not, where exactly, and how long it takes at worst."""

import itertools
import unicodedata
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.dlp.finding import Detector, Finding, merged, packed, unpacked, within
from app.domain.dlp.folding import fold
from app.domain.dlp.ignorable import ignorable
from app.domain.dlp.masking import blanked, masked, placeholder
from app.domain.dlp.policy import tag
from app.domain.dlp.scanning import Part, ScanFailed, Scanner
from app.providers.redaction.scanner import SCANNER

FOUND = [
    ("write to jane.doe+x@mail.example.org.", "jane.doe+x@mail.example.org", Detector.EMAIL),
    ("<mailto:a@b.co>", "a@b.co", Detector.EMAIL),
    ("email='o.brien@x.com'", "o.brien@x.com", Detector.EMAIL),
    ("grüße an jürgen@müller.de!", "jürgen@müller.de", Detector.EMAIL),
    ("from 203.0.113.7, port 80", "203.0.113.7", Detector.IP),
    ("host 2001:db8:0:1::17 is up", "2001:db8:0:1::17", Detector.IP),
    ("paid with 4111 1111 1111 1111.", "4111 1111 1111 1111", Detector.CARD),
    ("card=378282246310005", "378282246310005", Detector.CARD),
    ("5500-0055-5555-5559", "5500-0055-5555-5559", Detector.CARD),
    ("IBAN: DE89 3704 0044 0532 0130 00 BIC", "DE89 3704 0044 0532 0130 00", Detector.IBAN),
    ("GB29NWBK60161331926819", "GB29NWBK60161331926819", Detector.IBAN),
    ("call +49 (0) 30 901820 now", "+49 (0) 30 901820", Detector.PHONE),
    ("(415) 555-2671", "(415) 555-2671", Detector.PHONE),
    ("Tél. : 06 12 34 56 78", "06 12 34 56 78", Detector.PHONE),
    ("Telefon 030 1234567", "030 1234567", Detector.PHONE),
    ("her ssn is 536-22-8726", "536-22-8726", Detector.NATIONAL_ID),
    ("DNI 54362315K", "54362315K", Detector.NATIONAL_ID),
    ("codice fiscale RCCMNL83S18D969H", "RCCMNL83S18D969H", Detector.NATIONAL_ID),
    ("n° 2 95 10 99 126 111 93", "2 95 10 99 126 111 93", Detector.NATIONAL_ID),
    ("Steuer-ID: 36 574 261 809", "36 574 261 809", Detector.NATIONAL_ID),
    ("id AKIAIOSFODNN7EXAMPLE used", "AKIAIOSFODNN7EXAMPLE", Detector.SECRET),
    ("ghp_" + "aB3" * 12, "ghp_" + "aB3" * 12, Detector.SECRET),
    ("psql postgres://bob:s3cr3t-x@db/app", "s3cr3t-x", Detector.SECRET),
    ("Authorization: Bearer abcDEF1234567890xyz", "abcDEF1234567890xyz", Detector.SECRET),
    ("password: hunter2", "hunter2", Detector.SECRET),
    ('"password": "correcthorse"', "correcthorse", Detector.SECRET),
    ("Passwort ist Ge4heim!x", "Ge4heim!x", Detector.SECRET),
    ("API_KEY='9f8a7b6c5d4e3f2a'", "9f8a7b6c5d4e3f2a", Detector.SECRET),
    ("mot de passe : Soleil2024!", "Soleil2024!", Detector.SECRET),
]  # fmt: skip

CLEAN = [
    "git@github.com:org/repo.git", "icon@2x.png", "@decorator", "foo@bar", "version 1.2.3.4", "listen on 127.0.0.1",
    "mask 255.255.255.0", "std::vector<int>", "12:30:45", "dead::beef", "10.0.19041.1.5", "4111 1111 1111 1112",
    "0.4111111111111111", "1234567890123", "2024-11-30 10:22:33", "ISBN 978-3-16-148410-0",
    "DE89 3704 0044 0532 0130 01",
    "commit 9f8a7b6c5d4e3f2a1b0c9d8e7f6a5b4c3d2e1f0a", "550e8400-e29b-41d4-a716-446655440000",
    "password = get_password()",
    "password: str", "token = request.headers['x']", "secret = None", "password=<your password>", "token: Token | None",
    'password = "${DB_PASSWORD}"', "password = os.environ['PW']", "the password is required", "max_tokens = 4096",
    "_TOKENIZER_FILE = 'data/tokenizer-v2.json'", "Passwort vergessen?", "1 2 3 4 5 6 7 8 9 10 11 12", "12345678",
    "page 12-34, 56-78 and 90-12", "10 000 000 000", "temperature 0123456789",
]  # fmt: skip


@pytest.mark.parametrize(("text", "value", "detector"), FOUND)
def test_what_is_sensitive_is_found_whole_and_nothing_else(text, value, detector):
    (found,) = SCANNER.scan(text)
    assert text[found.start : found.end] == value
    assert found.detector is detector


@pytest.mark.parametrize("text", CLEAN)
def test_what_only_looks_alike_is_left_alone(text):
    assert SCANNER.scan(text) == ()


def test_detectors_that_overlap_leave_no_tail():
    text = "password: a@b.co:hunter2SuperSecret"
    assert SCANNER.redacted(text) == "password: [SECRET*****************]"
    assert SCANNER.scan(text) == (Finding(10, 35, Detector.SECRET),)


def test_a_private_key_goes_whole_and_its_lines_stay():
    text = "x\n-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc=\n-----END RSA PRIVATE KEY-----\ny"
    hidden = SCANNER.redacted(text)
    assert len(hidden) == len(text)
    assert [len(line) for line in hidden.split("\n")] == [len(line) for line in text.split("\n")]
    assert hidden.startswith("x\n[SECRET*")
    assert hidden.endswith("*]\ny")
    assert not {"MIIE", "abc="} & set(hidden.split("\n"))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("ｊａｎｅ＠ｅｘａｍｐｌｅ．ｃｏｍ です", "ｊａｎｅ＠ｅｘａｍｐｌｅ．ｃｏｍ"),
        ("Karte ４１１１ １１１１ １１１１ １１１１", "４１１１ １１１１ １１１１ １１１１"),
        ("tel +49\u00a030\u202f901820", "+49\u00a030\u202f901820"),
        ("a\u200b@b\u00ad.co", "a\u200b@b\u00ad.co"),
        ("ﬁnn@example.com und ﬁ", "ﬁnn@example.com"),
        ("한국\u1112\u1161\u11ab jane@x.org", "jane@x.org"),
    ],
)
def test_other_forms_of_the_same_characters_hide_nothing(text, value):
    (found,) = SCANNER.scan(text)
    assert text[found.start : found.end] == value


def test_every_character_that_nobody_sees_is_known():
    formats = {code for code in range(0x110000) if unicodedata.category(chr(code)) == "Cf"}
    selectors = {code for code in range(0x110000) if "VARIATION SELECTOR" in unicodedata.name(chr(code), "")}
    assert formats | selectors | {0x2065, 0xE0000, 0xFFF0, 0x115F, 0x3164, 0xFFA0} <= set(ignorable())


@pytest.mark.parametrize("text", ["jane.roe{}@corp-mail.com", "jane.roe@{}corp-mail.com", "jane.roe@corp-mail.c{}om",
                                  "AKIAABCDEF{}GHIJKLMNOP", "4111{}111111111111"])  # fmt: skip
def test_no_character_that_nobody_sees_hides_a_value(text):
    assert SCANNER.scan(text.format(""))
    hidden = {code: text.format(chr(code)) for code in ignorable()}
    missed = [hex(code) for code, value in hidden.items()
              if [(item.start, item.end) for item in SCANNER.scan(value)] != [(0, len(value))]]  # fmt: skip
    assert missed == []


@given(st.sampled_from(FOUND), st.data())
def test_such_characters_anywhere_in_a_value_are_masked_with_it(case, data):
    text, value, detector = case
    places = data.draw(st.lists(st.integers(1, len(value) - 1), min_size=1, max_size=4), label="places")
    hidden = value
    for place in sorted(places, reverse=True):
        signs = data.draw(st.text(st.sampled_from([chr(code) for code in ignorable()]), min_size=1, max_size=3))
        hidden = hidden[:place] + signs + hidden[place:]
    start = text.index(value)
    found = SCANNER.scan(text.replace(value, hidden, 1))
    assert [(item.start, item.end, item.detector) for item in found] == [(start, start + len(hidden), detector)]


@given(st.text())
def test_the_folded_text_is_nfkc(text):
    hidden = "".join(sign for sign in text if fold(sign).text != "" or unicodedata.normalize("NFKC", sign) == "")
    assert fold(text).text == unicodedata.normalize("NFKC", hidden)


@given(st.lists(st.sampled_from([*(text for text, _, _ in FOUND), *CLEAN, "ﬁ é\u0301 \u200b", "か\u3099"]), max_size=8))
def test_masking_keeps_length_and_says_nothing_twice(lines):
    text = "\n".join(lines)
    hidden = SCANNER.redacted(text)
    assert len(hidden) == len(text)
    for item in SCANNER.scan(text):
        assert text[item.start : item.end] not in hidden[item.start : item.end]


spans = st.builds(
    lambda start, size, kind: Finding(start, start + size, kind),
    st.integers(0, 40),
    st.integers(1, 12),
    st.sampled_from(Detector),
)


@given(st.lists(spans), st.integers(0, 40), st.integers(0, 40))
def test_merged_findings_cover_the_same_and_lie_apart(found, start, end):
    whole = merged(found)
    assert {n for item in whole for n in range(item.start, item.end)} == {
        n for item in found for n in range(item.start, item.end)
    }
    assert all(left.end <= right.start for left, right in itertools.pairwise(whole))
    assert unpacked(packed(whole)) == whole
    inside = within(whole, min(start, end), max(start, end))
    assert all(0 <= item.start < item.end <= max(start, end) - min(start, end) for item in inside)


def test_a_placeholder_is_as_long_as_what_it_hides():
    assert [placeholder(Detector.IP, length) for length in (1, 3, 4, 7)] == ["*", "***", "[IP]", "[IP***]"]
    found = (Finding(2, 8, Detector.EMAIL),)
    assert masked("a a@b.co b", found) == "a ****** b"
    assert blanked("a a@b.co b", found) == "a        b"


def test_a_part_keeps_what_was_found_around_it_and_a_stale_tag_is_scanned_anew():
    known = (Finding(0, 4, Detector.SECRET),)
    today = SCANNER.redacted_part(Part("abcd x@y.org", known, tag(masks=True)))
    assert today == "**** x@y.org"
    assert SCANNER.redacted_part(Part("abcd x@y.org", known, "0/masked")) == "**** [EMAIL]"


def test_the_strings_and_keys_of_a_json_value_are_masked():
    clean = {"mode": "space", "readers": ["staff", 3, None, {"deep": True}]}
    assert SCANNER.redacted_json(clean) is clean
    assert SCANNER.redacted_json({"a@b.example": 1, "c@d.example": ["x e@f.example", 2], "mode": "space"}) == {
        "[EMAIL****]": 1,
        "[EMAIL****]*": ["x [EMAIL****]", 2],
        "mode": "space",
    }
    nested: list = ["a@b.example"]
    for _ in range(2_000):
        nested = [nested]
    assert "a@b" not in str(SCANNER.redacted_json(nested))


def test_a_detector_that_breaks_stops_everything_and_tells_no_text():
    def broken(text):
        raise ValueError(text.folded)

    with pytest.raises(ScanFailed) as failed:
        Scanner(more=[broken]).redacted("my secret words")
    assert str(failed.value) == "ValueError"
    assert failed.value.__suppress_context__


HOSTILE = [
    "1", "@", "a@", "a.", "a@b.", ":", "::", "1:", "AB12", "1 ", "1.", "+1", "password:", "password", "-----BEGIN ",
    "-----BEGIN PRIVATE KEY-----\n", "eyJ", "sk-", "://", "://a:", "A", "ＡＢ", "é\u0301", "\u200b", "\ufe0f",
    "a\U000e0020", "'", "key=", "4111 ", "authorization", "token ", "DE89", "1-", "(", "0049 ",
]  # fmt: skip


@pytest.mark.parametrize("unit", HOSTILE)
def test_time_grows_with_the_text_and_no_faster(unit):
    """Four times the text takes about four times the work of the processor; sixteen times would be a square."""

    def cost(length):
        text = unit * (length // len(unit))
        started = process_time()
        SCANNER._scan(text)
        return process_time() - started

    cost(2_000)
    small = min(cost(20_000) for _ in range(3))
    large = min(cost(80_000) for _ in range(2))
    assert large < 9 * small + 0.05
