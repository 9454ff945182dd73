"""The subjects and groups of a space, and the documents of a source."""

from datetime import UTC, datetime
from typing import Any

from app.domain.instant import format_instant
from app.domain.principal import Level, Permission
from tests.memory.conftest import GROUP, SUBJECT
from tests.schema.conftest import Api, token_of

_PAGE = "pageInfo { hasNextPage endCursor }"
SUBJECTS = f"""query($key: String, $first: Int, $after: String) {{
    subjects(spaceKey: $key, first: $first, after: $after) {{
    edges {{ node {{ id subjectId spaceId }} }} {_PAGE} }} }}"""
SUBJECT_ID = """mutation($id: ID!, $space: String) {
    createSubject(subjectId: $id, spaceKey: $space) { id subjectId spaceId } }"""
GROUPS = f"""query($key: String, $first: Int, $after: String) {{
    groups(spaceKey: $key, first: $first, after: $after) {{ edges {{ node {{ key name spaceId }} }} {_PAGE} }} }}"""
DOCUMENTS = f"""query($id: ID!, $asOf: Instant, $knownAt: Instant, $first: Int, $after: String) {{
    documents(sourceId: $id, asOf: $asOf, knownAt: $knownAt, first: $first, after: $after) {{
    edges {{ node {{ id externalId title contentSha256 validFrom validTo }} }} {_PAGE} }} }}"""
MOMENT = datetime(2026, 3, 1, tzinfo=UTC)


async def pages(api: Api, query: str, field: str, name: str, **variables: Any) -> list[str]:
    """All items, two a page."""
    found: list[str] = []
    after = None
    while True:
        page = (await api.data(query, {**variables, "first": 2, "after": after}))[field]
        assert len(page["edges"]) <= 2
        found += [edge["node"][name] for edge in page["edges"]]
        after = page["pageInfo"]["endCursor"]
        if not page["pageInfo"]["hasNextPage"]:
            return found


async def refusal(api: Api, query: str, variables: dict[str, Any], by: str) -> str:
    error = await api.error(query, variables, token=token_of(api.world, by))
    code: str = error["extensions"]["code"]
    return code


async def test_subjects_and_groups_of_a_space(api: Api) -> None:
    await api.world.add_space("other", Level.PROJECT)
    names = ["ann", "Bob", "zoë", "ärger", "日本", "ann:1"]
    for name in names:
        await api.data(SUBJECT, {"id": name, "space": "project"})
        await api.data(GROUP, {"key": name, "space": "project"})
    await api.data(SUBJECT, {"id": "elsewhere", "space": "other"})
    await api.data(GROUP, {"key": "elsewhere", "space": "other"})
    in_order = sorted(names, key=str.encode)
    assert await pages(api, SUBJECTS, "subjects", "subjectId", key="project") == in_order
    assert await pages(api, GROUPS, "groups", "key", key="project") == in_order
    assert await pages(api, SUBJECTS, "subjects", "subjectId") == []
    assert await pages(api, SUBJECTS, "subjects", "spaceId", key="project") == [str(api.world.project)] * len(names)
    again = (await api.data(SUBJECT_ID, {"id": "ann", "space": "project"}))["createSubject"]
    assert again["id"] in await pages(api, SUBJECTS, "subjects", "id", key="project")
    assert again["spaceId"] == str(api.world.project)
    assert len(set(await pages(api, SUBJECTS, "subjects", "id", key="project"))) == len(names)
    await api.world.add_person("reader", (api.world.project, Permission.READ))
    assert await refusal(api, SUBJECTS, {"key": "project"}, "reader") == "FORBIDDEN"
    assert await refusal(api, GROUPS, {"key": "other"}, "reader") == "SPACE_NOT_FOUND"
    await api.world.add_person("searcher", (api.world.project, Permission.SEARCH))
    assert await refusal(api, GROUPS, {"key": "project"}, "searcher") == "FORBIDDEN"


async def test_documents_of_a_source_at_a_point_of_both_clocks(api: Api) -> None:
    world = api.world
    other = await world.add_source("other")
    for number in range(5):
        await world.write(f"{number}.md", (f"# Page {number}\n\nText.", None, None))
    await world.write("old.md", ("Old.", None, MOMENT))
    await world.write("other.md", ("Other.", None, None), source=other)
    id = str(world.source.id)
    names = await pages(api, DOCUMENTS, "documents", "externalId", id=id)
    assert sorted(names) == [f"{number}.md" for number in range(5)]
    before = format_instant(MOMENT.replace(year=2025))
    assert "old.md" in await pages(api, DOCUMENTS, "documents", "externalId", id=id, asOf=before)
    assert await pages(api, DOCUMENTS, "documents", "externalId", id=id, knownAt=before) == []
    await world.add_person("searcher", (world.project, Permission.SEARCH))
    assert await refusal(api, DOCUMENTS, {"id": id}, "searcher") == "FORBIDDEN"
    for unknown in (str(world.project), "x", ""):
        assert await refusal(api, DOCUMENTS, {"id": unknown}, "searcher") == "NOT_FOUND"
    assert await refusal(api, DOCUMENTS, {"id": id}, "stranger") == "NOT_FOUND"
