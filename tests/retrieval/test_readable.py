"""A question that the model cannot read is searched by its words alone, and the answer says so."""

from dataclasses import dataclass, replace

import pytest

from app.ingestion.sources import Provider, ensure_source
from app.providers.embedder.hashing import HashingEmbedder
from app.retrieval.question import Question


class Narrow(HashingEmbedder):
    """A model for English that reads Latin letters."""

    languages: frozenset[str] | None = frozenset({"english"})

    def reads(self, text: str) -> bool:
        return text.isascii()


@pytest.fixture
def narrow(world):
    retriever = replace(world.parts.retriever, embedder=Narrow())
    return replace(world, parts=replace(world.parts, retriever=retriever))


def how(answer):
    return answer.search.vector_mode, {item.code for item in answer.limitations} & {"TEXT_ONLY"}


async def test_a_question_in_a_script_that_the_model_does_not_know(narrow):
    await narrow.write("plan.txt", ("部署 在 星期五", None, None))
    await narrow.settle()
    assert how(await narrow.ask("Friday deployment")) == ("exact", set())
    answer = await narrow.ask("部署")
    assert how(answer) == ("off", {"TEXT_ONLY"})
    assert [item.candidate.scores.vector for item in answer.passages] == [None]


async def test_a_question_whose_words_stand_only_in_texts_of_another_language(narrow):
    german = await ensure_source(
        narrow.parts.database,
        narrow.organisation,
        narrow.project,
        Provider.FILESYSTEM,
        name="handbuch",
        kind="docs",
        language="german",
    )
    await narrow.write("plan.txt", ("Der Umzug ist im Mai.", None, None), source=german)
    await narrow.write("plan.md", ("The office moves in May, said Umzugsfirma Meyer.", None, None))
    await narrow.settle()
    assert how(await narrow.ask("wann ist der Umzug")) == ("off", {"TEXT_ONLY"})
    assert how(await narrow.ask("wann ist der Umzug der Umzugsfirma")) == ("exact", set())
    assert how(await narrow.ask("nothing of it anywhere")) == ("exact", set())
    assert how(await narrow.ask("when does the office move")) == ("exact", set())


@dataclass
class Case:
    languages: set
    kept: bool


@pytest.mark.parametrize(
    "case",
    [
        Case({"english"}, True),
        Case({"english", "german"}, True),
        Case({"simple"}, True),
        Case({"german", "simple"}, True),
        Case({"german"}, False),
        Case({"german", "french"}, False),
        Case(set(), True),
    ],
)
def test_which_languages_are_compared(case):
    question = Question("x", HashingEmbedder().embed(["x"])[0], "m", languages=frozenset({"english"}))
    assert (question.compared_with(case.languages).vector is not None) == case.kept
    assert replace(question, languages=None).compared_with(case.languages).vector is not None
    assert replace(question, readable=False).compared_with(case.languages).vector is None
