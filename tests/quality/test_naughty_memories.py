"""The big list of naughty strings as what is remembered and as whom it is about: given as written, never an error."""

import json
import os
from pathlib import Path

import pytest

from app.memory.people import MAX_NAME
from app.memory.reading import list_memories
from app.memory.resolve import Named
from app.memory.revision import Changes
from tests.fixtures.store import World

ROOT = Path(__file__).parents[2]
STRINGS = Path(os.environ.get("MUNIMENT_TEST_DATA", ROOT.parent / "shared" / "data")) / "text" / "blns.json"

pytestmark = pytest.mark.skipif(
    not STRINGS.exists(), reason=f"the evaluation data is absent: {STRINGS} (see MUNIMENT_TEST_DATA)"
)


async def test_any_string_is_remembered_of_any_subject(world: World) -> None:
    strings: list[str] = list(dict.fromkeys(json.loads(STRINGS.read_text(encoding="utf-8"))))
    tried = 0
    for said in strings:
        # A memory says something, and a subject has a name that is not too long.
        text, name = said if said.strip() else f"blank {said!r}", said[:MAX_NAME]
        if not name or name in {other[:MAX_NAME] for other in strings[: strings.index(said)]}:
            continue
        changes = Changes(text=text, tags=(name,))
        named = Named(subject_id=name, space_key="project")
        made = await world.parts.memory.remember(
            world.principal, named, changes, since=None, until=None, from_now=False
        )
        answer = await world.ask(None, subject_id=name)
        assert [item.text.text for item in answer.memories] == [text]
        assert [item.text.tags for item in answer.memories] == [[name]]
        assert made.facts.text == text
        tried += 1
        if tried % 10 == 0:
            [listed] = await list_memories(world.parts.database, world.principal, named, None, None, limit=9)
            assert listed == made
    assert tried > 500
