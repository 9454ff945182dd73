"""What the two legs find, on the real store: any text of any script, other tenants, missing embeddings."""

import unicodedata
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as bounded
from hypothesis import strategies as st

from app.domain.contract import LimitationCode
from app.domain.errors import Code, MunimentError
from app.domain.locality import Locality
from app.providers.embedder.base import Vector, Vectors
from app.retrieval.request import make_request
from app.retrieval.words import BUDGET
from tests.fixtures.store import make_world

C = LimitationCode
WIDE = {"top_k": 50, "max_per_level": 50, "max_passages_per_document": 50, "token_budget": None}


def codes(answer):
    return {item.code for item in answer.limitations}


def names(answer):
    return [item.passage.external_id for item in answer.passages]


def textual(world):
    """The same world, asked by text alone."""
    return replace(world, parts=replace(world.parts, retriever=replace(world.parts.retriever, embedder=None)))


async def shelve(world, **texts):
    """Each text as a document of its name; the world that asks by text alone."""
    for name, text in texts.items():
        await world.write(f"{name}.txt", (text, None, None))
    await world.settle()
    return textual(world)


# Other tenants


@dataclass(frozen=True)
class Pointing:
    """An embedder that sees one direction in every question."""

    direction: tuple[float, ...]
    model: str = "pointing"
    locality: Locality = "in_deployment"
    in_process: bool = True
    languages: frozenset[str] | None = None

    def reads(self, text: str) -> bool:
        return True

    @property
    def dimensions(self) -> int:
        return len(self.direction)

    def embed(self, texts) -> Vectors:
        return np.tile(np.asarray(self.direction, dtype=np.float32), (len(texts), 1))

    async def embed_query(self, text: str) -> Vector:
        return np.asarray(self.direction, dtype=np.float32)

    async def embed_documents(self, texts) -> Vectors:
        return self.embed(texts)


VECTORS = """
    INSERT INTO embeddings (organisation_id, live, chunk_id, model, space_id, source_id, vector, system_from)
    SELECT $1::uuid, true, {chunk}, 'pointing', $2::uuid, $3::uuid, {vector}::halfvec, now() - interval '1 day'
    FROM {rows}
"""


async def test_twenty_thousand_nearer_vectors_of_another_organisation_hide_nothing(world, parts, owner):
    """CASE 1: 200 of one's own, all far from the question, ten asked for."""
    crowd = await make_world(parts)
    sections = "\n\n".join(f"# Part {n}\n\nThe only text number {n}." for n in range(200))
    await world.write("own.md", (sections, None, None), embed=False)
    await owner.execute(
        VECTORS.format(
            chunk="gen_random_uuid()",
            vector="('[1,' || (n % 97) * 1e-4 || ',0]')",
            rows="generate_series(1, 20000) AS n",
        ),
        crowd.organisation,
        crowd.project,
        crowd.source.id,
    )
    await owner.execute(
        VECTORS.format(
            chunk="c.id",
            vector="('[' || c.ordinal * 1e-4 || ',1,0]')",
            rows="chunks c WHERE c.organisation_id = $1::uuid",
        ),
        world.organisation,
        world.project,
        world.source.id,
    )
    try:
        retriever = replace(parts.retriever, embedder=Pointing((1.0, 0.0, 0.0)))
        request = make_request(world.principal, query="zzz", space_key="project", **{**WIDE, "top_k": 10})
        answer = await retriever.retrieve(request)
        assert [item.passage.ordinal for item in answer.passages] == list(range(199, 189, -1))
        assert answer.search.vector_mode == "exact"
        again = await retriever.retrieve(replace(request, parameters=replace(request.parameters, top_k=50)))
        assert len(again.passages) == 50
    finally:
        await owner.execute("DELETE FROM embeddings WHERE organisation_id = $1", crowd.organisation)


async def test_a_row_of_another_organisation_is_refused_even_if_a_leg_should_name_it(world, parts, owner):
    """Row security and the tenant predicate stand before this; here both are given wrong postings."""
    other = await make_world(parts)
    await other.write("theirs.txt", ("Refunds are theirs.", None, None))
    await world.write("ours.txt", ("Refunds are ours.", None, None))
    theirs = await owner.fetchrow("SELECT * FROM postings WHERE organisation_id = $1", other.organisation)
    await owner.execute(
        "INSERT INTO postings SELECT $1, $2, space_id, source_id, keys, terms, valid_from, valid_to, system_from "
        "FROM postings WHERE organisation_id = $1",
        world.organisation,
        theirs["chunk_id"],
    )
    assert names(await textual(world).ask("refunds")) == ["ours.txt"]


# Text


@pytest.mark.parametrize(
    "query",
    ["team:foobar", "alice::bob", "'abs", ":", "foo &", "a  b", "'\":*", "!!", "a | !b", "(((", "\\", "%", "_", "<->"],
)
async def test_signs_are_text_and_no_syntax(world, query):
    asked = await shelve(world, plain="Nothing of the kind is written here.")
    assert (await asked.ask(query)).passages == ()
    await world.write("signs.txt", (f"Somebody typed {query} and left.", None, None))
    found = names(await asked.ask(query))
    assert found[:1] == ["signs.txt"]


@bounded(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(query=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=60))
async def test_no_question_fails_and_none_finds_what_shares_nothing_with_it(shelf, query):
    answer = await shelf.ask(query, **WIDE)
    analyser = shelf.parts.retriever.analyser("english")
    wanted = set(analyser.query_terms(query))
    for item in answer.passages:
        assert wanted & set(analyser.lexemes(f"{item.passage.title} {item.passage.text}"))
    assert (C.TEXT_QUERY_EMPTY in codes(answer)) == (bool(query.strip()) and not wanted)


@pytest.fixture(scope="module")
async def shelf(parts):
    return await shelve(
        await make_world(parts), a="The cat and the dog; 日本 and Ångström.", b="x ⅻ ß ﬁ 3", c="! ?", d="Ω ǅ"
    )


@pytest.mark.parametrize("query", ["the and of", "The and of", "is it", "to be or not to be"])
async def test_words_that_say_nothing_match_nothing(world, query):
    asked = await shelve(world, a="The cat and the dog of the house.", b="What is it to be, or not to be?")
    answer = await asked.ask(query)
    assert (answer.passages, answer.search.candidates) == ((), 0)
    assert codes(answer) == {C.SCOPE_APPLIED, C.NO_CONTEXT, C.TEXT_ONLY, C.TEXT_QUERY_EMPTY}


@pytest.mark.parametrize("query", ["Don", "Can Will", "May", "Will"])
async def test_names_that_are_stop_words_still_match(world, query):
    asked = await shelve(world, hit=f"It was signed by {query} yesterday.", other="Somebody else signed nothing.")
    assert names(await asked.ask(query)) == ["hit.txt"]


async def test_terms_are_joined_by_or_and_ranked_by_coverage(world):
    asked = await shelve(
        world,
        hit="Refunds are authorised by tier two agents.",
        region="The EMEA region has three offices.",
        none="Lunch is at noon.",
    )
    found = names(await asked.ask("how are refunds authorised in the emea region", **WIDE))
    assert found[:2] in (["hit.txt", "region.txt"], ["region.txt", "hit.txt"])
    await world.write("all.txt", ("Refunds of the EMEA region are authorised by tier two agents.", None, None))
    assert names(await asked.ask("how are refunds authorised in the emea region", **WIDE))[0] == "all.txt"


@pytest.mark.parametrize(
    ("document", "query"),
    [
        ("日本語のテスト", "テスト"),
        ("这是一个测试", "测试"),
        ("go 部署 deployment", "部署"),
        ("go部署deployment", "部署"),
        ("환불은 누가 승인합니까", "환불"),
        ("ใครอนุมัติการคืนเงิน", "คืนเงิน"),
        ("東京都に住んでいます", "東京"),
        ("𠮷野家で食べる", "𠮷野"),
        ("Die Rückerstattungen genehmigt die Straße", "strasse"),
        ("ГОСТ 2.105 описывает документы", "гост"),
        ("συμβόλαια και όροι", "ΣΥΜΒΌΛΑΙΑ"),
        ("call getFileName() first", "file name"),
        ("see get_file_name", "getFileName"),
        ("we shipped 🚀 today", "🚀"),
    ],
)
async def test_every_script_is_found_by_what_is_written_in_it(world, document, query):
    asked = await shelve(world, hit=document, other="Something in plain English.")
    assert names(await asked.ask(query)) == ["hit.txt"]


@pytest.mark.parametrize("word", ["café", "Ångström", "naïve", "Việt", "각하", "が", "ẛ̣"])
async def test_composed_and_decomposed_text_are_one(world, word):
    forms = {unicodedata.normalize(form, f"before {word} after") for form in ("NFC", "NFD")}
    asked = await shelve(world, **{f"d{number}": form for number, form in enumerate(sorted(forms))})
    for form in ("NFC", "NFD"):
        found = await asked.ask(unicodedata.normalize(form, word))
        assert sorted(names(found)) == [f"d{number}.txt" for number in range(len(forms))]
        # Stored as it was written.
        assert {item.passage.text for item in found.passages} == forms


async def test_a_question_with_nul_or_a_lone_surrogate_is_the_callers_error(world):
    for query in ("a\x00b", "\x00", "a\ud800b"):
        with pytest.raises(MunimentError) as caught:
            await world.ask(query)
        assert (caught.value.code, caught.value.field) == (Code.BAD_USER_INPUT, "query")


@pytest.mark.parametrize("special", ["<|endoftext|>", "<|fim_prefix|>", "<|im_start|>system", "<|endofprompt|>"])
async def test_the_tokenizers_own_markers_are_ordinary_text(world, special):
    asked = await shelve(world, hit=f"A text with {special} inside it.")
    for question in (special, f"what is {special}"):
        answer = await asked.ask(question)
        assert names(answer) == ["hit.txt"]
        assert special in answer.passages[0].passage.text
        assert answer.tokens_total > 8


# Which legs ran, and on what


async def test_text_alone_is_told(world):
    asked = await shelve(world, a="Refunds are authorised.")
    answer = await asked.ask("refunds")
    assert names(answer) == ["a.txt"]
    assert codes(answer) == {C.SCOPE_APPLIED, C.TEXT_ONLY, C.MISSING_SYNC_TIMESTAMP}
    assert (answer.search.vector_mode, answer.contract.indexes) == ("off", ("text:bm25",))
    (item,) = answer.passages
    assert item.candidate.scores.vector is None
    assert 0 < item.candidate.scores.text <= 1
    assert item.candidate.score == pytest.approx(0.3 * item.candidate.scores.text * 1.2)


async def test_a_text_is_found_before_its_embedding_exists_and_the_missing_ones_are_counted(world):
    for number in range(3):
        await world.write(f"early-{number}.txt", (f"Refunds, note {number}.", None, None))
    before = await world.ask("refunds")
    assert len(before.passages) == 3
    stale = {item.code: item.count for item in before.limitations}
    assert stale[C.STALE_EMBEDDINGS] == 3
    compared = {item.passage.external_id: item.candidate.scores.vector for item in before.passages}
    await world.settle()
    after = {item.passage.external_id: item.candidate.scores.vector for item in (await world.ask("refunds")).passages}
    assert compared == pytest.approx(after, abs=2e-3)
    await world.write("late.txt", ("Refunds, a late note.", None, None))
    mixed = await world.ask("refunds")
    assert {item.code: item.count for item in mixed.limitations}[C.STALE_EMBEDDINGS] == 1
    await world.settle()
    after = await world.ask("refunds")
    assert sorted(names(mixed)) == sorted(names(after))
    assert C.STALE_EMBEDDINGS not in codes(after)
    assert all(item.candidate.scores.vector > 0 for item in after.passages)


async def test_another_models_embeddings_are_not_compared(world):
    asked = await shelve(world, a="Refunds are authorised.")
    other = replace(world.parts.retriever, embedder=Pointing((0.0, 1.0)))
    answer = await other.retrieve(make_request(world.principal, query="refunds", space_key="project"))
    assert names(answer) == names(await asked.ask("refunds")) == ["a.txt"]
    assert {item.code: item.count for item in answer.limitations}[C.STALE_EMBEDDINGS] == 1


async def test_each_leg_finds_what_the_other_misses_and_each_candidate_has_both_true_signals(world):
    await shelve(world, near="zebra zebra zebra", far="zebra among many other words that are about nothing at all")
    answer = await world.ask("zebra")
    alone = await textual(world).ask("zebra")
    assert names(answer)[0] == "near.txt"
    assert {item.candidate.id: item.candidate.scores.text for item in answer.passages} == {
        item.candidate.id: item.candidate.scores.text for item in alone.passages
    }
    embedder = world.parts.retriever.embedder
    question = await embedder.embed_query("zebra")
    for item in answer.passages:
        stored = embedder.embed([f"{item.passage.title}\n{item.passage.text}"])[0]
        assert item.candidate.scores.vector == pytest.approx(max(0.0, float(question @ stored)), abs=2e-3)


async def test_common_words_choose_rows_when_rare_ones_find_too_few(world):
    """More chunks than a leg looks at first, all with the same words; one holds a rare word too."""
    sections = [f"# S{n}\n\nalpha beta gamma delta{' quagga' if n == 7 else ''}" for n in range(BUDGET + 30)]
    await world.write("many.md", ("\n\n".join(sections), None, None), embed=False)
    await world.settle()
    answer = await textual(world).ask("alpha beta gamma delta quagga", **WIDE)
    assert len(answer.passages) == 50
    assert "quagga" in answer.passages[0].passage.text


async def test_a_question_of_any_number_of_words_is_answered(world):
    await world.write("a.txt", ("Refunds are authorised.", None, None))
    await world.settle()
    for query in ("".join(chr(0x4E00 + number) for number in range(20_000)), " ".join(f"w{n}x" for n in range(3_000))):
        assert (await world.ask(query[:20_000], near_misses=True)).search.candidates >= 0
    assert (await world.ask("refunds " + " ".join(f"w{n}x" for n in range(2_000)))).passages
