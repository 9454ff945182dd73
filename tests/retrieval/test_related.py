"""R7 on the real store: what is delivered beside the first passages of code, and what never is."""

import ast
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import text

from app.assembly.installation import ROOT
from app.assembly.services import Services
from app.domain.principal import Level, Permission
from app.domain.selection import Relation
from app.ingestion.sources import Provider, ensure_source, ingest_place
from app.retrieval.authorise import Authorised, authorise
from app.retrieval.cache import SearchCache
from app.retrieval.gather import signals
from app.retrieval.question import Question
from app.retrieval.related import FIRST, relate
from app.retrieval.request import make_request
from app.storage import passages
from tests.fixtures.store import World, make_world
from tests.retrieval.test_statements import statements

CALLS, CALLED_BY, TESTED_BY = Relation.CALLS, Relation.CALLED_BY, Relation.TESTED_BY
WIDE = {"top_k": 50, "max_per_level": 50, "max_passages_per_document": 50, "token_budget": None}
#: Of this repository, what the known functions and their neighbours stand in.
TAKEN = ["app", "tests/domain", "tests/ingestion", "tests/providers"]


@dataclass
class Repository:
    """This repository as a source, and where its definitions are called, found without any graph."""

    world: World
    folder: Path

    async def beside(self, path: str, *heading: str) -> list[tuple[Relation, str, str]]:
        """What is related to the one chunk in which a definition begins: (relation, path, heading path)."""
        async with self.world.parts.database.snapshot(self.world.organisation) as session:
            request = make_request(self.world.principal, query="", space_key="project")
            authorised = await authorise(session, request)
            chunk = await session.value(
                text(
                    "SELECT c.id FROM chunks c JOIN document_versions v ON v.document_id = c.document_id "
                    "WHERE c.organisation_id = :organisation AND v.external_id = :path AND c.heading_path = :heading "
                    "ORDER BY c.ordinal LIMIT 1"
                ),
                {"organisation": self.world.organisation, "path": path, "heading": list(heading)},
            )
            selection, texts = await related_to(session, authorised, [chunk])
        return [
            (item.related.relation, texts[item.id].external_id, ".".join(texts[item.id].heading_path))
            for item in selection.kept
            if item.related is not None
        ]

    def callers(self, name: str) -> set[tuple[str, str]]:
        """(path, top-level definition or method) of everything that calls something of this name."""
        return {
            (str(path.relative_to(self.folder)), where)
            for path in self.folder.rglob("*.py")
            for where in _calling(ast.parse(path.read_text()), name, ())
        }


def _calling(node: ast.AST, name: str, path: tuple[str, ...]) -> Iterator[str]:
    for child in ast.iter_child_nodes(node):
        inner = path
        if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            inner = (*path, child.name)
        if isinstance(child, ast.Call):
            called = child.func
            if getattr(called, "id", getattr(called, "attr", None)) == name:
                yield ".".join(path)
        yield from _calling(child, name, inner)


async def related_to(session, authorised: Authorised, chunks, **parameters):
    found, _ = await signals(session, authorised, Question("", None, None), None, list(chunks))
    texts = await passages.passages(session, authorised.scope, list(chunks))
    request = make_request(None, query="", **parameters)
    return await relate(session, authorised, found, texts, request.parameters)


@pytest.fixture(scope="module")
async def repository(parts: Services, tmp_path_factory: pytest.TempPathFactory) -> Repository:
    folder = tmp_path_factory.mktemp("repository")
    for taken in TAKEN:
        shutil.copytree(ROOT / taken, folder / taken, ignore=shutil.ignore_patterns("__pycache__"))
    world = await make_world(parts)
    source = await ensure_source(
        parts.database, world.organisation, world.project, Provider.FILESYSTEM, name="code", kind="codebase"
    )
    await ingest_place(parts.database, world.organisation, source, folder, parts.preparer, embed=False)
    return Repository(world, folder)


# This repository, function by function


#: What they call of this repository, in the order of their texts, the first two. `clip` also intersects periods, but
#: so do sets, and nothing in its text tells which.
KNOWN = {
    ("app/domain/temporal.py", "clip"): ["union"],
    ("app/domain/temporal.py", "retract"): ["Portion", "Period.minus"],
    ("app/domain/document.py", "slice_identity"): [],
    ("app/domain/scoring.py", "rank_key"): ["_unit", "_finite"],
    ("app/domain/lexical.py", "idf"): [],
    ("app/domain/canonical.py", "canonical"): ["CanonicalError", "_sorted_keys"],
    ("app/ingestion/reconcile.py", "contents_needed"): ["changed", "cut_of"],
    ("app/ingestion/store.py", "write_in"): ["source_by_id", "MunimentError"],
    ("app/domain/contract.py", "age_hours"): [],
    ("app/identity/once.py", "once"): ["done", "store"],
    ("app/ingestion/prepare.py", "Preparer", "content"): ["Scanner.scan", "chunk"],
}


@pytest.mark.parametrize("known", KNOWN, ids=lambda known: known[-1])
async def test_a_known_function(repository, known):
    """What it calls as read by hand; who calls it as another parser finds by the name, which nothing else here has but
    other classes' `content`."""
    found = await repository.beside(*known)
    assert [where for relation, _, where in found if relation is CALLS] == KNOWN[known]
    callers = repository.callers(known[-1])
    tests = {(path, where) for path, where in callers if where.startswith("test_")}
    for relation, expected in ((TESTED_BY, tests), (CALLED_BY, callers - tests)):
        named = [(path, where) for what, path, where in found if what is relation]
        for path, where in named:
            assert any(path == place and f"{inner}.".startswith(f"{where}.") for place, inner in expected)
        if known[-1] != "content":
            assert len(named) == min(2, len(expected))


# A shop of a few files


TILL = """\
def count_coins(till):
    \"\"\"How many coins the till holds.\"\"\"
    return weigh(till) // 7


def weigh(till):
    return sum(till)
"""
DESK = """\
from shop.till import count_coins


def close_desk(desk):
    return count_coins(desk.till)
"""
TESTS = """\
from shop.till import count_coins


def test_seven_grams_are_a_coin():
    assert count_coins([7]) == 1
"""
#: The part of a chunk of a function that is about nothing else.
QUESTION = "how many coins the till holds"
BORN = datetime(2026, 1, 1, tzinfo=UTC)
NARROW = {"top_k": 1}


async def code_source(world, name="code", space=None):
    return await world.add_source(name, space, kind="codebase")


async def fill(world, source, **options):
    for name, said in (("shop/till.py", TILL), ("shop/desk.py", DESK), ("tests/test_till.py", TESTS)):
        await world.write(name, (said, None, None), source=source, **options)
    await world.settle()


@pytest.fixture
async def shop(world: World) -> World:
    await fill(world, await code_source(world))
    return world


def related(answer):
    return [
        (item.candidate.related.relation, item.passage.external_id, *item.passage.heading_path)
        for item in answer.passages
        if item.candidate.related is not None
    ]


ALL = [
    (CALLS, "shop/till.py", "weigh"),
    (CALLED_BY, "shop/desk.py", "close_desk"),
    (TESTED_BY, "tests/test_till.py", "test_seven_grams_are_a_coin"),
]


async def test_related_passages_stand_last_without_a_score(shop):
    answer = await shop.ask(QUESTION, **NARROW)
    first, *rest = answer.passages
    assert first.passage.heading_path == ["count_coins"]
    assert first.candidate.related is None
    assert related(answer) == ALL
    assert {item.candidate.score for item in rest} == {0.0}
    assert {item.candidate.related.to for item in rest} == {first.candidate.id}
    assert [item.index for item in answer.passages] == [1, 2, 3, 4]
    assert answer.tokens_total == sum(item.passage.tokens for item in answer.passages)


async def test_they_are_left_out_on_request(shop):
    answer = await shop.ask(QUESTION, exclude_related=True, **NARROW)
    assert related(answer) == []
    assert answer.contract.parameters.exclude_related


async def test_what_is_delivered_already_is_not_delivered_again(shop):
    answer = await shop.ask(QUESTION, **WIDE)
    ids = [item.candidate.id for item in answer.passages]
    assert len(ids) == len(set(ids)) == 5
    ranked = {tuple(item.passage.heading_path) for item in answer.passages if item.candidate.related is None}
    assert all(tuple(where) not in ranked for _, _, *where in related(answer))


async def test_the_same_text_is_not_delivered_again_from_another_place(shop):
    await shop.write("shop/copy.py", (TILL, None, None), source=shop.sources["code"])
    await shop.settle()
    answer = await shop.ask(QUESTION, **NARROW)
    texts = [item.content_sha256 for item in answer.passages]
    assert len(texts) == len(set(texts))


async def test_every_candidate_is_delivered_or_counted_once(shop):
    for options in (NARROW, WIDE, {}, {"token_budget": 60, **NARROW}, {"token_budget": 0}, {"max_per_level": 1}):
        answer = await shop.ask(QUESTION, **options)
        counted = sum(item.count for item in answer.exclusions if item.stage not in {"authorise", "gather"})
        assert counted + len(answer.passages) == answer.search.candidates


async def test_the_record_tells_the_relation(shop):
    answer = await shop.ask(QUESTION, **NARROW)
    async with shop.parts.database.snapshot(shop.organisation) as session:
        payload = await session.value(
            text("SELECT convert_from(payload, 'UTF8')::jsonb FROM attribution_queue WHERE id = :id"),
            {"id": answer.attribution_id},
        )
    first, *rest = payload["chunks"]
    assert "relation" not in first
    assert [(item["relatedTo"], item["relation"]) for item in rest] == [
        (first["chunkId"], "CALLS"),
        (first["chunkId"], "CALLED_BY"),
        (first["chunkId"], "TESTED_BY"),
    ]


# The budget


async def test_they_take_only_what_the_ranked_leave(shop):
    full = await shop.ask(QUESTION, **NARROW)
    ranked, *rest = [item.passage.tokens for item in full.passages]
    for budget in range(ranked, ranked + sum(rest) + 1):
        answer = await shop.ask(QUESTION, token_budget=budget, **NARROW)
        assert answer.passages[0].candidate.related is None
        assert answer.tokens_total <= budget
        room, expected = budget - ranked, []
        for tokens in rest:
            if tokens <= room:
                expected.append(tokens)
                room -= tokens
        assert [item.passage.tokens for item in answer.passages[1:]] == expected
        assert answer.dropped_count == 0
        dropped = [item for item in answer.exclusions if item.stage == "related"]
        assert sum(item.count for item in dropped) == len(rest) - len(expected)
        assert {item.type.value for item in dropped} <= {"TOKEN_BUDGET"}
        assert "BUDGET_TOO_SMALL" not in {item.code.value for item in answer.limitations}


async def test_they_go_with_the_passage_that_they_belong_to(shop):
    answer = await shop.ask(QUESTION, token_budget=1, **NARROW)
    assert answer.passages == ()
    assert answer.dropped_count == 1


# Both clocks


async def test_a_caller_that_was_deleted_is_related_then_and_not_now(world):
    source = await code_source(world)
    end = BORN + timedelta(days=10)
    await world.write("shop/till.py", (TILL, BORN, None), source=source)
    await world.write("shop/desk.py", (DESK, BORN, end), source=source)
    await world.settle()
    known = (await world.ask(QUESTION, **NARROW)).contract.known_at
    assert related(await world.ask(QUESTION, **NARROW)) == ALL[:1]
    before = await world.ask(QUESTION, as_of=end - timedelta(microseconds=1), **NARROW)
    assert related(before) == ALL[:2]
    assert related(await world.ask(QUESTION, as_of=end, **NARROW)) == ALL[:1]
    # It was never so: but this was believed.
    await world.write("shop/desk.py", source=source)
    assert related(await world.ask(QUESTION, as_of=BORN, **NARROW)) == ALL[:1]
    assert related(await world.ask(QUESTION, as_of=BORN, known_at=known, **NARROW)) == ALL[:2]


async def test_a_callee_that_moved_is_found_where_it_stood(world):
    """Chunks that stay keep their rows and the offsets of the content that they were cut from."""
    source = await code_source(world)
    first, second = BORN, BORN + timedelta(days=10)
    head = '"""The till."""\n\nimport os\n\n\ndef nothing():\n    return None\n\n\n'
    caller, weigh = TILL.split("\n\n\n")
    caller += "\n"
    await world.write("shop/desk.py", (DESK, BORN, None), source=source)
    await world.write(
        "shop/till.py", (TILL, first, second), (head + weigh + "\n\n" + caller, second, None), source=source
    )
    await world.settle()
    for as_of in (first, second, None):
        assert related(await world.ask(QUESTION, as_of=as_of, **NARROW)) == ALL[:2]


async def test_a_past_answer_is_given_again(shop):
    before = await shop.ask(QUESTION, **NARROW)
    clocks = {"as_of": before.contract.valid_at, "known_at": before.contract.known_at}
    more = DESK.replace("close_desk", "another").replace("import count_coins", "import count_coins  # again")
    await shop.write("a/another.py", (more, None, None), source=shop.sources["code"])
    await shop.write("shop/till.py", (TILL.replace("weigh", "measure"), None, None), source=shop.sources["code"])
    await shop.settle()
    again = await shop.ask(QUESTION, **clocks, **NARROW)
    assert [item.candidate for item in again.passages] == [item.candidate for item in before.passages]
    now = await shop.ask(QUESTION, **NARROW)
    assert related(now)[:2] == [(CALLS, "shop/till.py", "measure"), (CALLED_BY, "a/another.py", "another")]


# Whose code


async def test_no_other_source_contributes(world):
    """Neither one that the caller may not see nor another one that they may."""
    await world.write("shop/till.py", (TILL, None, None), source=await code_source(world))
    for name, space in (("beside", None), ("hidden", await world.add_space("hidden", Level.TEAM))):
        await fill_callers(world, await code_source(world, name, space))
    await world.settle()
    assert related(await world.ask(QUESTION, **NARROW)) == ALL[:1]
    person = await world.add_person("reader", (world.project, Permission.SEARCH))
    assert related(await world.ask(QUESTION, by=person, **NARROW)) == ALL[:1]


async def fill_callers(world, source):
    for name, said in (("shop/desk.py", DESK), ("tests/test_till.py", TESTS)):
        await world.write(name, (said, None, None), source=source)


async def test_no_other_organisation_contributes(world, parts):
    other = await make_world(parts)
    await fill(other, await code_source(other))
    source = await code_source(world)
    await world.write("shop/till.py", (TILL, None, None), source=source)
    await world.settle()
    answer = await world.ask(QUESTION, **NARROW)
    assert related(answer) == ALL[:1]
    assert {item.source.id for item in answer.passages} == {source.id}


# What it costs


async def test_without_code_nothing_is_asked(world):
    await world.write("till.md", ("How many coins the till holds.", None, None))
    await world.settle()
    with statements(world.parts.database) as seen:
        await world.ask(QUESTION)
    assert not [statement for statement in seen if "code_" in statement]


async def test_with_code_three_statements_more_whatever_is_found(shop):
    retriever = replace(shop.parts.retriever, cache=SearchCache(0))
    shop = replace(shop, parts=replace(shop.parts, retriever=retriever))
    counts = []
    for _ in range(2):
        for options in (NARROW, WIDE):
            with statements(shop.parts.database) as without:
                await shop.ask(QUESTION, exclude_related=True, **options)
            with statements(shop.parts.database) as seen:
                await shop.ask(QUESTION, **options)
            counts.append(len(seen) - len(without))
        callers = "\n\n".join(f"def desk_{n}(till):\n    return count_coins(till) + {n}\n" for n in range(150))
        await shop.write(
            "more.py", (f"from shop.till import count_coins\n\n\n{callers}", None, None), source=shop.sources["code"]
        )
        await shop.settle()
    assert max(counts) <= 3
    assert counts[0] == counts[2] == 3


async def test_only_the_first_passages_of_code_are_looked_around(world):
    source = await code_source(world)
    for number in range(6):
        said = f"def coins_{number}():\n    return till_{number}()\n\n\ndef till_{number}():\n    return {number}\n"
        await world.write(f"m{number}.py", (said, None, None), source=source)
    await world.settle()
    answer = await world.ask("coins", top_k=6, max_passages_per_document=1, max_per_level=6)
    assert len({item.candidate.related.to for item in answer.passages if item.candidate.related}) <= FIRST


async def test_code_corrected_by_hand_has_its_graph(shop):
    answer = await shop.ask(QUESTION, **NARROW)
    document = str(answer.passages[0].candidate.document_id)
    await shop.parts.editor.correct(shop.principal, document, TILL.replace("weigh", "measure"))
    assert related(await shop.ask(QUESTION, **NARROW))[0] == (CALLS, "shop/till.py", "measure")
