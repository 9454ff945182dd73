import math
import unicodedata
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain import lexical
from app.domain.lexical import MAX_LEXEME, STOP_WORD_WEIGHT, Analyser

STOP_WORDS = ("the", "and", "of", "don", "can", "will", "who", "is", "are", "a")
analyser = Analyser(str, STOP_WORDS)
lexemes = analyser.lexemes
terms = analyser.query_terms
any_text = st.text(st.characters(exclude_categories=()))


def matches(query, text):
    return not set(terms(query)).isdisjoint(lexemes(text))


@pytest.mark.parametrize("word", ["getFileName", "get_file_name", "GetFileName", "get__fileName", "GET_FILE_NAME"])
def test_an_identifier_yields_its_parts_and_the_whole(word):
    assert lexemes(word) == ["get", "file", "name", "getfilename"]


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("HTTPServer2", ["http", "server", "2", "httpserver2"]),
        ("IL6", ["il", "6", "il6"]),
        ("os.path.join", ["os", "path", "join"]),
        ("__init__", ["init"]),
        ("Panthers", ["panthers"]),
        ("USA", ["usa"]),
        ("ÜberGröße", ["über", "grösse", "übergrösse"]),
    ],
)
def test_identifiers_of_other_shapes(word, expected):
    assert lexemes(word) == expected


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("テスト", "日本語のテスト"),
        ("测试", "这是一个测试"),
        ("部署", "go 部署 deployment"),
        ("部署", "go部署deployment"),
        ("deployment", "go部署deployment"),
        ("本", "日本語"),
        ("ｶﾞｲﾄﾞ", "ガイド"),
        ("사용자", "사용자가 로그인"),
        ("ไทย", "ภาษาไทย"),
        ("ພາສາ", "ພາສາລາວ"),
        ("ខ្មែរ", "ភាសាខ្មែរ"),
        ("မြန်မာ", "မြန်မာဘာသာ"),
        ("हिन्दी", "यह हिन्दी है"),
        ("المستخدم", "دليل المستخدم"),
        ("STRASSE", "straße"),
        ("o'brien", "O’Brien"),
        ("Alice", "Alice's"),
        ("homme", "l’homme"),
        ("filename", "file_name"),
        ("١٢", "رقم ١٢"),
        ("🎉", "done🎉"),
        ("!@#$%^&*()`~", "they said !@#$%^&*()`~ twice"),
        ("co\u00adoperate", "cooperate"),
    ],
)
def test_what_a_person_would_call_a_match_matches(query, text):
    assert matches(query, text)


def test_bigrams_need_neighbours():
    assert "語テ" not in lexemes("日本語 テスト")
    assert lexemes("日本語") == ["日", "本", "語", "日本", "本語"]


@given(st.text())
def test_composed_and_decomposed_text_is_the_same_text(text):
    assert lexemes(unicodedata.normalize("NFC", text)) == lexemes(unicodedata.normalize("NFD", text))


def test_accents_tell_words_apart():
    assert lexemes("café") == lexemes("cafe\u0301") != lexemes("cafe")


@given(any_text)
def test_no_text_fails_and_no_lexeme_is_empty_or_long(text):
    for lexeme in lexemes(text):
        assert 0 < len(lexeme) <= 2 * MAX_LEXEME
        assert 0 <= lexical.lexeme_id(lexeme) < 2**63
    assert set(terms(text)) <= set(lexemes(text))


@given(any_text, any_text)
def test_lines_do_not_change_each_others_lexemes(first, second):
    assert lexemes(f"{first}\n{second}") == lexemes(first) + lexemes(second)


@given(st.text(st.characters(max_codepoint=127)))
def test_text_in_ascii_is_analysed_like_any_other(text):
    assert lexemes(f"{text}\né") == [*lexemes(text), "é"]


@pytest.mark.parametrize("unit", ["a", "_", "-", "a'", "aB", "中", "e\u0301", "\u0301", "a1", "🎉", "'", "\u00ad"])
def test_a_hundred_thousand_characters_without_a_blank_stay_small_keys(unit):
    assert all(len(lexeme) <= MAX_LEXEME for lexeme in lexemes(unit * 100_000))


@pytest.mark.parametrize("query", ["team:foobar", "alice::bob", "'abs", ":", "foo &", "a  b", "'\":*", "", " ", "\0"])
def test_no_sign_is_syntax(query):
    assert all(weight > 0 for weight in terms(query).values())


def test_a_question_of_stop_words_only_searches_for_nothing_unless_they_are_names():
    assert terms("the and of") == {}
    assert terms("Who are the") == {}
    assert terms("a") == terms("A") == {}
    assert terms("Don") == {"don": 1.0}
    assert terms("Can Will") == {"can": 1.0, "will": 1.0}
    assert terms("Who is Will") == {"will": 1.0}
    assert terms("WHO is the") == {"who": 1.0}


def test_stop_words_count_half_beside_other_words_and_repeated_words_count_again():
    assert terms("who is the owner of the owner") == {
        "who": STOP_WORD_WEIGHT,
        "is": STOP_WORD_WEIGHT,
        "the": 2 * STOP_WORD_WEIGHT,
        "owner": 2.0,
        "of": STOP_WORD_WEIGHT,
    }


def test_signs_are_searched_for_only_where_there_are_no_words():
    assert terms("budget - plan ?") == {"budget": 1.0, "plan": 1.0}
    assert terms("- ?") == {"-": 1.0, "?": 1.0}


def test_words_are_matched_by_any_of_them():
    query = "how are refunds authorised in the emea region"
    assert matches(query, "refunds are authorised by tier two agents")


def test_stems_are_the_callers():
    assert Analyser(lambda word: word[:4]).lexemes("Refunding refunds") == ["refu", "refu"]


def test_numbers_of_lexemes_and_keys_are_fixed():
    space = UUID("01890a5d-ac96-774b-bcce-b302099a8057")
    number = lexical.lexeme_id("refund")
    assert number == 4122621226790999788
    assert lexical.key(space, number) == 6437891471786541646
    assert lexical.dimension(number) == 790999789


@given(st.uuids(), st.lists(st.integers(0, 2**63 - 1)))
def test_many_keys_are_the_single_keys(space, numbers):
    assert lexical.keys(space, numbers) == [lexical.key(space, number) for number in numbers]


@given(st.uuids(), st.uuids(), st.integers(0, 2**63 - 1))
def test_keys_tell_spaces_apart_and_fit_a_bigint(space, other, number):
    assert -(2**63) <= lexical.key(space, number) < 2**63
    assert space == other or lexical.key(space, number) != lexical.key(other, number)


@given(st.integers(0, 2**63 - 1))
def test_dimensions_fit_a_sparse_vector(number):
    assert 1 <= lexical.dimension(number) <= lexical.DIMENSIONS


def test_weights_saturate_and_shrink_with_length():
    weights = lexical.document_weights(["a", "b", "b", "b"])
    once, often = weights[lexical.lexeme_id("a")], weights[lexical.lexeme_id("b")]
    k = 1.2 * (0.25 + 0.75 * 4 / 128)
    assert once == pytest.approx(1 / (1 + k))
    assert often == pytest.approx(3 / (3 + k))
    longer = lexical.document_weights(["a", *"c" * 400])
    assert longer[lexical.lexeme_id("a")] < once
    assert lexical.document_weights([]) == {}


def test_a_sparse_vector_never_holds_too_many_weights():
    weights = lexical.document_weights([*(f"w{i}" for i in range(lexical.MAX_NONZERO + 5)), "kept", "kept"])
    assert len(weights) == lexical.MAX_NONZERO
    assert lexical.lexeme_id("kept") in weights


@given(st.integers(0, 10**9), st.integers(0, 10**9), st.integers(0, 10**9))
def test_rarer_lexemes_weigh_more_and_all_weigh_something(frequency, other, chunks):
    low, high = sorted((frequency, other))
    assert lexical.idf(low, chunks) >= lexical.idf(high, chunks) > 0
    assert math.isfinite(lexical.idf(low, chunks))


# Which lexemes choose what is scored


def test_stop_words_score_and_do_not_choose():
    found = analyser.question("who are the refunds of can authorised by")
    assert found.content == {"refunds", "authorised", "by"}
    assert set(found.weights) == found.content | {"who", "are", "the", "of", "can"}


@given(st.text(max_size=80))
def test_a_question_that_has_words_has_one_that_chooses(text):
    found = analyser.question(text)
    assert found.content <= set(found.weights)
    assert bool(found.content) == bool(found.weights)


@given(st.lists(st.integers(0, 1000)).map(sorted), st.integers(0, 3000))
def test_the_rarest_are_taken_as_far_as_the_budget_goes(frequencies, budget):
    taken = lexical.rarest(frequencies, budget)
    chosen, rest = frequencies[:taken], frequencies[taken:]
    assert sum(chosen) <= max(budget, max(chosen, default=0))
    assert any(chosen) or not any(frequencies)
    assert not rest or sum(chosen) + rest[0] > budget
