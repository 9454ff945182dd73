"""What counts as quoted, and what holds a quotation."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.phrases import MOST_PHRASES, held, quoted, weight

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
WORD = st.text("abcdefgh", min_size=1, max_size=6)


@pytest.mark.parametrize(
    ("question", "phrases"),
    [
        ('who said "Exact Words" and when', [("exact", "words")]),
        ("“exact words”", [("exact", "words")]),
        ("„exakte Wörter“ und »andere«", [("exakte", "wörter"), ("andere",)]),
        ("«mots exacts»", [("mots", "exacts")]),
        ("「测试」と『全部』", [("测", "试"), ("全", "部")]),
        ('"one" "two" "one"', [("one",), ("two",)]),
        ('"one" and "two', [("one",)]),
        ('"unbalanced', []),
        ('it measures 5"', []),
        ('"" " " "!!"', []),
        ("nothing is quoted, it's plain", []),
    ],
)
def test_what_is_quoted(question, phrases):
    assert list(quoted(question)) == phrases


@pytest.mark.parametrize(
    ("phrase", "text", "holds"),
    [
        ('"exact words"', "The EXACT, words.", True),
        ('"exact words"', "words exact", False),
        ('"exact words"', "inexact words", False),
        ('"exact words"', "exact wordsmith", False),
        ('"测试"', "这是一个测试。", True),
        ('"测试"', "测量考试", False),
        ('"café au lait"', "un cafe\u0301 au lait", True),
        ('"get_file_name"', "call get_file_name()", True),
    ],
)
def test_what_holds_it(phrase, text, holds):
    assert held(quoted(phrase), [text]) == holds


def test_a_phrase_does_not_run_from_one_text_into_the_next():
    assert held(quoted('"first second"'), ["the first", "second one"]) == 0
    assert held(quoted('"first second" "one"'), ["the first", "second one"]) == 1


@given(TEXT)
def test_no_text_fails_and_what_has_no_mark_quotes_nothing(text):
    found = quoted(text)
    assert len(found) <= MOST_PHRASES
    assert all(found)
    assert held(found, [text]) == len(found)
    if not set(text) & set('"“„«»「『＂'):
        assert found == ()


@given(st.lists(WORD, max_size=5), st.lists(WORD, min_size=1, max_size=4), st.lists(WORD, max_size=5))
def test_words_are_held_where_they_stand_side_by_side(before, phrase, after):
    (only,) = quoted(f'"{" ".join(phrase)}"')
    assert held([only], [" ".join([*before, *phrase, *after])]) == 1
    assert held([only], [" ".join([*before, *phrase[:-1], "zz", *phrase[-1:], *after])]) in {0, 1}
    assert held([only], ["zz".join(["", *phrase, ""])]) == 0


@given(st.integers(0, 10**7))
def test_a_phrase_weighs_as_a_rare_word(chunks):
    assert 0 < weight(chunks) <= weight(chunks + 1)
