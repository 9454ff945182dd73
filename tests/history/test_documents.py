"""A document as of any point of both clocks; and corrected or retracted by hand, beside an ingestion that goes on."""

import asyncio
from collections.abc import Awaitable
from datetime import timedelta
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from app.domain.errors import Code, MunimentError
from app.domain.instant import format_instant, parse_instant
from app.domain.principal import Level, Permission
from app.storage import documents
from tests.fixtures.ingestion import Intake
from tests.memory.conftest import HISTORY, Memories

DOCUMENT = """query($id: ID!, $v: Instant, $k: Instant) { document(id: $id, asOf: $v, knownAt: $k) {
    id versionId sourceId spaceId externalId title text contentSha256 tags transformType validFrom validTo systemFrom
    systemTo } }"""
CORRECT = """mutation($id: ID!, $text: String!, $title: String, $from: Instant, $to: Instant, $e: Instant, $k: String) {
    correctDocument(id: $id, text: $text, title: $title, validFrom: $from, validTo: $to, expectedSystemFrom: $e,
    clientKey: $k) { id text title transformType validFrom validTo systemFrom } }"""
RETRACT = """mutation($id: ID!, $from: Instant, $to: Instant, $e: Instant, $k: String) {
    retractDocument(id: $id, validFrom: $from, validTo: $to, expectedSystemFrom: $e, clientKey: $k) }"""
JUNE = "2026-06-01T00:00:00.000000Z"
JULY = "2026-07-01T00:00:00.000000Z"


def before(instant: str) -> str:
    return format_instant(parse_instant(instant) - timedelta(microseconds=1))


async def written(memory: Memories, *revisions: tuple[str, str | None, str | None], name: str = "guide.md") -> str:
    """The id of the document."""
    await memory.world.write(
        name,
        *((text, start and parse_instant(start), end and parse_instant(end)) for text, start, end in revisions),
    )
    async with memory.world.parts.database.snapshot(memory.world.organisation) as session:
        return str((await documents.believed(session, memory.world.source.id, [name]))[name].id)


async def text(memory: Memories, id: str, as_of: str | None = None, known_at: str | None = None) -> str | None:
    found = await memory.data(DOCUMENT, {"id": id, "v": as_of, "k": known_at}, None)
    return None if found is None else found["text"]


async def found(memory: Memories, query: str, **asked: Any) -> list[str]:
    answer = await memory.retrieve(query=query, topK=50, maxPerLevel=50, maxPassagesPerDocument=50, **asked)
    return sorted(item["text"] for item in answer["passages"])


async def test_a_document_as_of_both_clocks(memory: Memories) -> None:
    id = await written(memory, ("Old.", None, JUNE), ("New.", JUNE, None))
    first = (await memory.data(DOCUMENT, {"id": id}, None))["systemFrom"]
    await written(memory, ("Old.", None, JUNE), ("Newer.", JUNE, JULY))
    assert [await text(memory, id, at) for at in (before(JUNE), JUNE, before(JULY), JULY, None)] == [
        "Old.",
        "Newer.",
        "Newer.",
        None,
        None,
    ]
    assert [await text(memory, id, at, first) for at in (before(JUNE), JUNE, JULY)] == ["Old.", "New.", "New."]
    assert await text(memory, id, JUNE, before(first)) is None
    shown = await memory.data(DOCUMENT, {"id": id, "v": JUNE}, None)
    assert (shown["id"], shown["externalId"], shown["validFrom"], shown["validTo"]) == (id, "guide.md", JUNE, JULY)
    assert (shown["sourceId"], shown["spaceId"]) == (str(memory.world.source.id), str(memory.world.project))


async def test_a_correction_is_found_and_the_old_belief_stays_readable(memory: Memories) -> None:
    id = await written(memory, ("# Refunds\n\nRefunds take five days.", JUNE, None))
    await memory.world.settle()
    first = (await memory.data(DOCUMENT, {"id": id}, None))["systemFrom"]
    corrected = await memory.data(CORRECT, {"id": id, "text": "# Refunds\n\nRefunds take nine days."}, None)
    assert (corrected["transformType"], corrected["validFrom"], corrected["validTo"]) == ("manual", JUNE, None)
    assert corrected["systemFrom"] > first
    assert await found(memory, "refunds") == ["# Refunds\n\nRefunds take nine days."]
    assert await found(memory, "refunds", knownAt=first) == ["# Refunds\n\nRefunds take five days."]
    assert await text(memory, id, known_at=first) == "# Refunds\n\nRefunds take five days."
    await memory.world.settle()
    answer = await memory.retrieve(query="refunds")
    assert answer["passages"][0]["chunkId"] not in {None, first}


async def test_a_correction_of_a_part_answers_with_that_part(memory: Memories) -> None:
    """Also where it does not reach to today."""
    id = await written(memory, ("Always.", None, None))
    corrected = await memory.data(CORRECT, {"id": id, "text": "In June.", "from": JUNE, "to": JULY}, None)
    assert (corrected["text"], corrected["validFrom"], corrected["validTo"]) == ("In June.", JUNE, JULY)
    assert [await text(memory, id, at) for at in (before(JUNE), JUNE, JULY, None)] == [
        "Always.",
        "In June.",
        "Always.",
        "Always.",
    ]
    await memory.data(RETRACT, {"id": id, "from": JULY}, None)
    corrected = await memory.data(CORRECT, {"id": id, "text": "Before.", "to": JUNE}, None)
    assert (corrected["text"], corrected["validFrom"], corrected["validTo"]) == ("Before.", None, JUNE)
    assert (await memory.refusal(CORRECT, {"id": id, "text": "x", "from": JULY}))[0] == "CONFLICT"
    assert await text(memory, id) is None


async def test_who_may_write_but_not_read_is_answered_with_what_they_wrote(memory: Memories) -> None:
    id = await written(memory, ("One.", None, None))
    await memory.person("writer", "project", Permission.WRITE)
    corrected = await memory.data(CORRECT, {"id": id, "text": "Two.", "title": "Second"}, "writer")
    assert (corrected["text"], corrected["title"]) == ("Two.", "Second")
    assert (await memory.refusal(DOCUMENT, {"id": id}, "writer"))[0] == "FORBIDDEN"


async def test_a_retraction_takes_it_from_search_and_not_from_the_past(memory: Memories) -> None:
    id = await written(memory, ("Refunds take five days.", None, None))
    await memory.world.settle()
    first = (await memory.data(DOCUMENT, {"id": id}, None))["systemFrom"]
    assert await memory.data(RETRACT, {"id": id, "from": JUNE, "to": JULY}, None) == id
    assert await found(memory, "refunds", asOf=JUNE) == []
    assert await found(memory, "refunds", asOf=JULY) == ["Refunds take five days."]
    await memory.data(RETRACT, {"id": id}, None)
    assert await found(memory, "refunds") == []
    assert await found(memory, "refunds", knownAt=first) == ["Refunds take five days."]
    assert await text(memory, id) is None
    assert await text(memory, id, known_at=first) == "Refunds take five days."
    rows = await memory.history(id)
    await memory.data(RETRACT, {"id": id}, None)
    assert await memory.history(id) == rows


async def test_the_same_text_again_changes_nothing(memory: Memories) -> None:
    id = await written(memory, ("One.", None, None))
    once = await memory.data(CORRECT, {"id": id, "text": "Two."}, None)
    assert await memory.data(CORRECT, {"id": id, "text": "Two."}, None) == once
    assert len(await memory.history(id)) == 2


async def test_a_clients_key_makes_a_call_count_once(memory: Memories) -> None:
    id = await written(memory, ("One.", None, None))
    first = (await memory.data(DOCUMENT, {"id": id}, None))["systemFrom"]
    call = {"id": id, "text": "Two.", "e": first, "k": "correct"}
    once, *others = await asyncio.gather(*(memory.data(CORRECT, call, None) for _ in range(10)))
    assert all(other == once for other in others)
    retraction = {"id": id, "from": JULY, "k": "retract"}
    await memory.data(CORRECT, {"id": id, "text": "Three."}, None)
    await memory.data(RETRACT, retraction, None)
    rows = await memory.history(id)
    assert [row["value"]["contentSha256"] for row in rows] == [
        sha256(said.encode()).hexdigest() for said in ("One.", "Two.", "Three.", "Three.")
    ]
    # Again, though others have moved on: answered with what it did, and nothing done.
    assert await memory.data(CORRECT, call, None) == once
    assert await memory.data(RETRACT, retraction, None) == id
    assert await memory.history(id) == rows
    for query, other in (
        (CORRECT, {**call, "text": "Four."}),
        (CORRECT, {**call, "from": JUNE}),
        (RETRACT, {"id": id, "k": "correct"}),
        (RETRACT, {**retraction, "from": JUNE}),
    ):
        assert await memory.refusal(query, other) == ("CONFLICT", "clientKey")
    assert await memory.refusal(RETRACT, {"id": id, "k": ""}) == ("BAD_USER_INPUT", "clientKey")


async def test_an_older_last_change_is_a_conflict(memory: Memories) -> None:
    id = await written(memory, ("One.", None, None))
    first = (await memory.data(DOCUMENT, {"id": id}, None))["systemFrom"]
    second = (await memory.data(CORRECT, {"id": id, "text": "Two.", "e": first}, None))["systemFrom"]
    for query, variables in ((CORRECT, {"id": id, "text": "Three.", "e": first}), (RETRACT, {"id": id, "e": first})):
        assert await memory.refusal(query, variables) == ("CONFLICT", "expectedSystemFrom")
    assert await text(memory, id) == "Two."
    await memory.data(RETRACT, {"id": id, "from": JUNE, "e": second}, None)
    # The past was not touched by that.
    await memory.data(
        CORRECT, {"id": id, "text": "Three.", "to": JUNE, "e": (await memory.history(id))[-1]["systemFrom"]}, None
    )


async def test_many_corrections_at_once_lose_none(memory: Memories) -> None:
    id = await written(memory, ("Start.", None, None))
    said = [f"Correction {number}." for number in range(12)]
    done = await asyncio.gather(*(memory.api.ask(CORRECT, {"id": id, "text": item}) for item in said))
    stored = [item["data"]["correctDocument"]["text"] for item in done if "errors" not in item]
    refused = [item["errors"][0]["extensions"] for item in done if "errors" in item]
    assert {item["code"] for item in refused} <= {"CONFLICT"}
    assert stored
    rows = await memory.history(id)
    assert len(rows) == 1 + len(stored)
    assert [row["systemTo"] for row in rows[:-1]] == [row["systemFrom"] for row in rows[1:]]
    # One account of the chunks too: only the last text is found.
    await memory.world.settle()
    assert await found(memory, "correction start") == [await text(memory, id)]


async def overtaken(reading: Awaitable[object]) -> bool:
    """Whether others were faster so often that the reading says to try again."""
    try:
        await reading
    except MunimentError as error:
        if error.code is not Code.CONFLICT:
            raise
        return True
    return False


async def test_corrections_beside_an_ingestion_leave_one_account(
    memory: Memories, intake: Intake, tmp_path: Path
) -> None:
    """The source says what it says at each reading, people say otherwise in between: the last one holds, and slices and
    versions agree (the ingestion's own check looks at every row)."""
    folder = tmp_path / "guides"
    folder.mkdir()
    for number in range(4):
        (folder / f"g{number}.md").write_text(f"# Guide {number}\n\nRefunds take {number} days.\n\n# Steady\n\nAlways.")
    await intake.read(folder)
    source = await intake.source(folder)
    async with memory.world.parts.database.snapshot(memory.world.organisation) as session:
        names = [f"g{number}.md" for number in range(4)]
        ids = [str(item.id) for item in (await documents.believed(session, source.id, names)).values()]
    assert len(ids) == 4

    async def people(turn: int) -> list[Any]:
        return await asyncio.gather(
            *(
                memory.api.ask(
                    CORRECT, {"id": id, "text": f"# Guide\n\nBy hand {turn} {number}.\n\n# Steady\n\nAlways."}
                )
                for number, id in enumerate(ids)
            )
        )

    async def readings() -> None:
        for turn in range(3):
            for number in range(4):
                (folder / f"g{number}.md").write_text(f"# Guide {number}\n\nRead {turn}.\n\n# Steady\n\nAlways.")
            while await overtaken(intake.read_unchecked(folder)):
                pass

    results = await asyncio.gather(readings(), *(people(turn) for turn in range(4)))
    refused = [item["errors"][0]["extensions"]["code"] for done in results[1:] for item in done if "errors" in item]
    assert set(refused) <= {"CONFLICT"}
    await intake.audit.check(source)
    for id in ids:
        rows = await memory.history(id)
        believed = [row for row in rows if row["systemTo"] is None]
        assert believed
        assert all(one["validTo"] == other["validFrom"] for one, other in pairwise(believed))
    await intake.embed()
    await intake.read(folder)
    said = await found(memory, "guide refunds read hand")
    assert [item for item in said if "Read 2" in item] == [f"# Guide {number}\n\nRead 2." for number in range(4)]
    assert not [item for item in said if "By hand" in item]


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"text": "a\u0000b"}, "text"),
        ({"text": "x", "title": "a\u0000b"}, "title"),
        ({"text": "x", "title": "t" * 1001}, "title"),
        ({"text": "x", "from": JULY, "to": JUNE}, "validTo"),
        ({"text": "x", "from": "2026-06-01"}, "from"),
    ],
)
async def test_what_cannot_be_kept_is_refused(memory: Memories, given: dict[str, str], field: str | None) -> None:
    id = await written(memory, ("One.", None, None))
    assert await memory.refusal(CORRECT, {"id": id, **given}) == ("BAD_USER_INPUT", field)
    assert len(await memory.history(id)) == 1


async def test_an_unseen_document_is_one_that_does_not_exist(memory: Memories) -> None:
    await memory.world.add_space("beside", Level.TEAM)
    id = await written(memory, ("One.", None, None))
    await memory.world.add_person("stranger")
    by = {"reader": (Permission.READ,), "writer": (Permission.WRITE,), "searcher": (Permission.SEARCH,)}
    for name, permissions in by.items():
        await memory.person(name, "project", *permissions)
    operations = [
        (Permission.READ, DOCUMENT, {}),
        (Permission.READ, HISTORY, {}),
        (Permission.WRITE, CORRECT, {"text": "Two."}),
        (Permission.WRITE, RETRACT, {}),
    ]
    for need, query, more in operations:
        unknown = await memory.refusal(query, {"id": "01a22bc3-a3a0-706e-9efe-64d20d60ceb0", **more})
        assert unknown[0] == "NOT_FOUND"
        for other in (id, "", "x"):
            assert await memory.refusal(query, {"id": other, **more}, "stranger") == unknown
        for name, permissions in by.items():
            if need in permissions:
                assert await memory.data(query, {"id": id, **more}, name) is not None
            else:
                assert (await memory.refusal(query, {"id": id, **more}, name))[0] == "FORBIDDEN"
