from concurrent.futures import ThreadPoolExecutor

import pytest

from app.providers.stemmer import LANGUAGES, SIMPLE, analyser


@pytest.mark.parametrize(
    ("language", "one", "other"),
    [
        ("english", "authorised refunds", "authorise refund"),
        ("german", "Häuser", "Haus"),
        ("french", "continuellement", "continuelle"),
        ("russian", "документы", "документ"),
        ("spanish", "documentos", "documento"),
    ],
)
def test_forms_of_a_word_share_a_lexeme(language, one, other):
    assert analyser(language).lexemes(one) == analyser(language).lexemes(other)


@pytest.mark.parametrize("language", sorted(LANGUAGES | {SIMPLE}))
def test_every_language_analyses_every_script(language):
    lexemes = analyser(language).lexemes("Getting the getFileName 部署 テスト ภาษาไทย данные café 42")
    assert {"部署", "テス", "42"} <= set(lexemes)
    assert analyser(language).query_terms("部署")


def test_languages_cover_those_that_postgresql_stems():
    postgresql = """arabic armenian basque catalan danish dutch english estonian finnish french german greek hindi
    hungarian indonesian irish italian lithuanian nepali norwegian portuguese romanian russian serbian spanish swedish
    tamil turkish yiddish"""
    assert set(postgresql.split()) <= LANGUAGES


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("english", "the and of"),
        ("english", "How do I"),
        ("english", "isn't it"),
        ("german", "und der die das"),
        ("french", "le la et"),
    ],
)
def test_stop_words_alone_search_for_nothing(language, text):
    assert analyser(language).query_terms(text) == {}


@pytest.mark.parametrize("word", ["computer", "file", "effect", "empty", "find", "bill", "fire"])
def test_english_words_with_a_meaning_are_no_stop_words(word):
    assert analyser("english").query_terms(word)


def test_names_that_look_like_stop_words_still_match():
    assert analyser("english").query_terms("Don") == {"don": 1.0}
    assert analyser("english").query_terms("Can Will") == {"can": 1.0, "will": 1.0}


def test_an_unknown_language_is_refused():
    with pytest.raises(ValueError, match="klingon"):
        analyser("klingon")


def test_threads_get_the_same_lexemes():
    words = " ".join(f"refunding{i} authorised{i}" for i in range(2000))
    english = analyser("english")
    with ThreadPoolExecutor(4) as pool:
        assert len({tuple(found) for found in pool.map(english.lexemes, [words] * 8)}) == 1
