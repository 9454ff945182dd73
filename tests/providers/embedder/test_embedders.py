"""One suite for every embedder that runs in the process."""

import asyncio
import socket

import numpy as np
import pytest

from app.domain.errors import Code, MunimentError
from app.providers.embedder.hashing import HashingEmbedder
from app.providers.embedder.minilm import MAX_WORD_PIECES, MiniLM, load_tokenizer

TEXTS = [
    "refunds are authorised by tier two agents",
    "def get_file_name(path): ...",
    "日本語のテスト",
    "🎉",
    "!?",
    "the",
]


@pytest.fixture(scope="module", params=[HashingEmbedder, MiniLM], ids=["hash", "minilm"])
def embedder(request):
    made = request.param()
    yield made
    made.close()


@pytest.fixture(scope="module")
def minilm():
    made = MiniLM()
    yield made
    made.close()


def test_rows_are_unit_vectors_of_the_promised_shape(embedder):
    rows = embedder.embed(TEXTS)
    assert rows.shape == (len(TEXTS), embedder.dimensions)
    assert rows.dtype == np.float32
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)


async def test_a_text_has_the_same_bits_whatever_stands_beside_it(embedder):
    rows = embedder.embed(TEXTS)
    assert np.array_equal(rows, await embedder.embed_documents(TEXTS))
    for text, row in zip(reversed(TEXTS), embedder.embed(TEXTS[::-1]), strict=True):
        assert np.array_equal(row, await embedder.embed_query(text))
        assert np.array_equal(row, rows[TEXTS.index(text)])


async def test_many_callers_at_once_get_their_own_rows(embedder):
    expected = embedder.embed(TEXTS)
    answers = await asyncio.gather(*(embedder.embed_documents(TEXTS[i:]) for i in range(len(TEXTS))))
    for i, rows in enumerate(answers):
        assert np.array_equal(rows, expected[i:])


@pytest.mark.parametrize("blank", ["", " ", "\n\t\u3000"])
async def test_blanks_are_refused(embedder, blank):
    for attempt in (lambda: embedder.embed(["a", blank]), lambda: embedder.embed([blank])):
        with pytest.raises(MunimentError) as caught:
            attempt()
        assert caught.value.code is Code.BAD_USER_INPUT
    with pytest.raises(MunimentError):
        await embedder.embed_query(blank)
    with pytest.raises(MunimentError):
        await embedder.embed_documents(["a", blank])


async def test_no_texts_are_no_rows(embedder):
    assert embedder.embed([]).shape == (0, embedder.dimensions)
    assert (await embedder.embed_documents([])).shape == (0, embedder.dimensions)


@pytest.mark.parametrize("text", ["a" * 100_000, "\0", "\ufeff", "\u0301", "\u200b", "- - -", "word " * 5000])
def test_no_text_has_a_zero_or_broken_vector(embedder, text):
    (row,) = embedder.embed([text])
    assert np.isfinite(row).all()
    assert np.linalg.norm(row) == pytest.approx(1, abs=1e-5)


def test_the_same_words_are_nearer_than_other_words(embedder):
    question, near, far = embedder.embed(["refund authorised", "a refund is authorised", "galaxies collide slowly"])
    assert question @ near > question @ far


def test_nothing_leaves_the_deployment(embedder, monkeypatch):
    def refuse(*_):
        raise AssertionError("the network was used")

    monkeypatch.setattr(socket, "socket", refuse)
    assert embedder.locality == "in_deployment"
    assert type(embedder)().embed(["no network"]).shape == (1, embedder.dimensions)


def test_the_models_are_told_apart():
    assert (HashingEmbedder.model, HashingEmbedder.dimensions) == ("hash-128", 128)
    assert (MiniLM.model, MiniLM.dimensions) == ("all-MiniLM-L6-v2-int8", 384)


def test_minilm_knows_meaning(minilm):
    question, near, far = minilm.embed(["how do I get my money back", "refund policy", "the moons of Jupiter"])
    assert question @ near > question @ far + 0.2


def test_minilm_reads_256_word_pieces_with_its_markers(minilm):
    within, beyond = "tax " * (MAX_WORD_PIECES - 2), "tax " * (MAX_WORD_PIECES - 2) + "galaxy"
    assert np.array_equal(*minilm.embed([within, beyond]))
    assert len(load_tokenizer().encode(beyond).ids) == MAX_WORD_PIECES + 1


def test_signs_that_cancel_still_have_a_direction():
    embedder = HashingEmbedder()
    rows = embedder.embed([f"w{i} w{j}" for i in range(40) for j in range(i)])
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)


READ = [
    "What is the capital of this country?",
    "¿Cuál es la capital de este país y cuántos habitantes tiene?",
    "Überprüfung der Donaudampfschifffahrtsgesellschaft",
    "Bu ülkenin başkenti neresidir ve kaç kişi yaşıyor",
    "getFileNameFromPath os.path.join(x, y) snake_case_var",
    "C++",
    "0x7ffee4c0",
    "naïve 🎉 party",
]
UNREAD = [
    "Как называется столица этой страны",
    "ما هي عاصمة هذه الدولة",
    "Ποια είναι η πρωτεύουσα αυτής της χώρας",
    "เมืองหลวงของประเทศนี้คืออะไร",
    "इस देश की राजधानी क्या है",
    "この国の首都は何ですか",
    "이 나라의 수도는 어디입니까",
    "这个国家的首都是哪里",
    "🎉",
]


def test_the_packaged_model_knows_which_scripts_it_reads(minilm):
    assert [text for text in READ if not minilm.reads(text)] == []
    assert [text for text in UNREAD if minilm.reads(text)] == []
    assert minilm.languages == {"english"}
