"""Whom a name means in a retrieval: every layout of who goes by it where, against the rule in plain words."""

from itertools import combinations

import pytest

from app.domain.errors import Code, MunimentError
from app.domain.principal import Level, Permission
from app.memory.people import create_subject
from app.memory.resolve import Named
from app.memory.revision import Changes
from tests.fixtures.store import World

SPACES = ("/", "project", "project/part", "beside")
ABOVE = {
    "/": ("/",),
    "project": ("project", "/"),
    "project/part": ("project/part", "project", "/"),
    "beside": ("beside", "/"),
}
GRANTS = [(), ("/",), ("project",), ("beside",), ("project", "beside"), ("project/part",)]


def subsets() -> list[tuple[str, ...]]:
    return [chosen for size in range(len(SPACES) + 1) for chosen in combinations(SPACES, size)]


async def answer(world: World, by: object, name: str, space: str) -> set[str] | Code:
    try:
        given = await world.ask(None, by=by, subject_id=name, space_key=space, max_memories=50)  # type: ignore[arg-type]
    except MunimentError as error:
        return error.code
    return {item.text.text for item in (*given.memories, *given.group_memories)}


@pytest.mark.parametrize("grants", GRANTS, ids=lambda grants: "+".join(grants) or "nothing")
async def test_nearest_first_else_the_only_one_and_never_what_is_hidden(world: World, grants: tuple[str, ...]) -> None:
    ids = {"/": world.root, "project": world.project}
    ids["project/part"] = await world.add_space("project/part", Level.SUBPROJECT, "project")
    ids["beside"] = await world.add_space("beside", Level.TEAM)
    for number, holders in enumerate(subsets()):
        for space in holders:
            await create_subject(world.parts.database, world.principal, f"name{number}", space_key=space)
            named = Named(subject_id=f"name{number}", space_key=space)
            changes = Changes(text=f"{number} in {space}.")
            await world.parts.memory.remember(world.principal, named, changes, since=None, until=None, from_now=False)
    person = await world.add_person("reader", *((ids[space], Permission.SEARCH) for space in grants))
    seen = {space for space in SPACES if set(ABOVE[space]) & set(grants)}
    for number, holders in enumerate(subsets()):
        for space in SPACES:
            visible = [holder for holder in holders if holder in seen]
            near = [above for above in ABOVE[space] if above in visible]
            expected: set[str] | Code
            if space not in seen:
                expected = Code.SPACE_NOT_FOUND
            elif near:
                expected = {f"{number} in {near[0]}."}
            elif len(visible) > 1:
                expected = Code.CONFLICT
            else:
                expected = {f"{number} in {holder}." for holder in visible}
            assert await answer(world, person, f"name{number}", space) == expected, (holders, space)
