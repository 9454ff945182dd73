"""The big list of naughty strings, as documents and as questions: stored, found, returned as written."""

import hashlib
import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from app.domain.document import DocumentFacts
from app.domain.temporal import ALWAYS, Portion
from app.evidence.attribution import find
from app.ingestion.reconcile import cut_of
from app.ingestion.store import Wanted, write_batch
from app.providers.parsers.plain import parse_plain
from tests.fixtures.store import make_world

ROOT = Path(__file__).parents[2]
STRINGS = Path(os.environ.get("MUNIMENT_TEST_DATA", ROOT.parent / "shared" / "data")) / "text" / "blns.json"

pytestmark = pytest.mark.skipif(
    not STRINGS.exists(), reason=f"the evaluation data is absent: {STRINGS} (see MUNIMENT_TEST_DATA)"
)

WIDE = {"top_k": 50, "max_per_level": 50, "max_passages_per_document": 50, "token_budget": None}


def naughty() -> list[str]:
    return json.loads(STRINGS.read_text(encoding="utf-8"))


def name(number: int) -> str:
    """All have one title, which is searched too."""
    return f"{number}/naughty.txt"


@pytest.fixture(scope="module")
async def stored(parts):
    """Each string as a document of its own, all in one write."""
    world = await make_world(parts)
    wanted, contents = [], {}
    for number, said in enumerate(naughty()):
        content = parts.preparer.content(name(number), parse_plain(said), "english")
        facts = DocumentFacts(content.sha256, name(number), content.title, content.mime)
        wanted.append(Wanted(name(number), (Portion(ALWAYS, facts),)))
        contents[cut_of(facts)] = content
    written = await write_batch(parts.database, world.organisation, world.source, wanted, contents, embed=True)
    assert written.documents == len(wanted)
    await world.settle()
    return world


async def test_each_string_is_kept_to_the_byte(stored, owner):
    rows = await owner.fetch(
        "SELECT v.external_id, c.text FROM document_versions v "
        "JOIN contents c ON c.organisation_id = v.organisation_id AND c.sha256 = v.content_sha256 "
        "WHERE v.organisation_id = $1",
        stored.organisation,
    )
    assert {row["external_id"]: row["text"] for row in rows} == {
        name(number): said for number, said in enumerate(naughty())
    }


async def test_each_string_with_words_is_found_by_them_and_no_string_is_an_error(stored):
    retriever = replace(stored.parts.retriever, embedder=None)
    asked = replace(stored, parts=replace(stored.parts, retriever=retriever))
    analyser = retriever.analyser("english")
    found, crowded = 0, []
    for said in naughty():
        answer = await asked.ask(said, **WIDE)
        passages = {item.passage.text: item for item in answer.passages}
        wanted = set(analyser.query_terms(said))
        # Of equal texts one is delivered, whosever it is.
        mine = passages.get(said.strip())
        if not wanted:
            assert not passages
        elif mine is None:
            # `1` and its like: as many as can be delivered say all of it too, and more often.
            assert len(passages) == WIDE["top_k"]
            assert all(wanted <= set(analyser.lexemes(item.passage.text)) for item in passages.values())
            crowded.append(said)
        else:
            assert mine.content_sha256 == hashlib.sha256(said.strip().encode()).hexdigest()
            found += 1
    assert found > 400
    assert len(crowded) < 10, crowded


async def test_each_string_can_be_asked_of_both_legs(stored):
    strings = [said for said in naughty() if said.strip()]
    vectors = await stored.parts.retriever.embedder.embed_documents(strings)
    assert np.isfinite(vectors).all()
    for said in strings[::10]:
        answer = await stored.ask(said, **WIDE)
        assert said.strip() in [item.passage.text for item in answer.passages]
    record = (await find(stored.parts.database, stored.principal, str(answer.attribution_id))).record
    assert record["querySha256"] == hashlib.sha256(said.encode()).hexdigest()
