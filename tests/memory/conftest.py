"""Memory through the API, in words of its own."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest

from app.domain.principal import Permission
from tests.fixtures.store import World
from tests.schema.conftest import Api, connect, token_of

FIELDS = """id versionId text tokens importance confidence epistemicStatus transformType tags revision spaceId
    validFrom validTo systemFrom systemTo"""
REMEMBER = f"mutation($i: RememberInput!) {{ remember(input: $i) {{ {FIELDS} }} }}"
CORRECT = f"""mutation($id: ID!, $c: MemoryChanges!, $from: Instant, $to: Instant, $e: Instant, $k: String) {{
    correctMemory(id: $id, changes: $c, validFrom: $from, validTo: $to, expectedSystemFrom: $e, clientKey: $k)
    {{ {FIELDS} }} }}"""
CHANGE = f"""mutation($id: ID!, $c: MemoryChanges!, $from: Instant, $e: Instant, $k: String) {{
    changeMemory(id: $id, changes: $c, validFrom: $from, expectedSystemFrom: $e, clientKey: $k) {{ {FIELDS} }} }}"""
RETRACT = """mutation($id: ID!, $from: Instant, $to: Instant, $e: Instant, $k: String) {
    retractMemory(id: $id, validFrom: $from, validTo: $to, expectedSystemFrom: $e, clientKey: $k) }"""
MEMORY = f"query($id: ID!, $v: Instant, $k: Instant) {{ memory(id: $id, asOf: $v, knownAt: $k) {{ {FIELDS} }} }}"
MEMORIES = f"""query($subjectId: ID, $groupKey: String, $spaceId: ID, $spaceKey: String, $asOf: Instant,
    $knownAt: Instant, $first: Int, $after: String) {{ memories(subjectId: $subjectId, groupKey: $groupKey,
    spaceId: $spaceId, spaceKey: $spaceKey, asOf: $asOf, knownAt: $knownAt, first: $first, after: $after) {{
    edges {{ cursor node {{ {FIELDS} }} }} pageInfo {{ hasNextPage endCursor }} }} }}"""
HISTORY = """query($id: ID!, $k: Instant, $first: Int, $after: String) {
    history(id: $id, knownAt: $k, first: $first, after: $after) {
    edges { cursor node { id kind validFrom validTo systemFrom systemTo value } }
    pageInfo { hasNextPage endCursor } } }"""
PROPOSE = """mutation($c: MemoryChanges!, $id: ID, $group: String, $space: String, $k: String) {
    proposeMemory(changes: $c, memoryId: $id, groupKey: $group, spaceKey: $space, clientKey: $k)
    { memoryId revision } }"""
ACCEPT = f"""mutation($id: ID!, $r: Int!, $k: String) {{
    acceptMemory(memoryId: $id, revision: $r, clientKey: $k) {{ {FIELDS} }} }}"""
SUBJECT = """mutation($id: ID!, $space: String, $k: String) {
    createSubject(subjectId: $id, spaceKey: $space, clientKey: $k) { subjectId } }"""
GROUP = """mutation($key: String!, $name: String, $space: String, $k: String) {
    createGroup(key: $key, name: $name, spaceKey: $space, clientKey: $k) { id key name spaceId } }"""
MEMBER = """mutation($g: String!, $s: ID!, $v: Boolean!, $m: Boolean!, $from: Instant, $to: Instant, $k: String) {
    setGroupMembership(groupKey: $g, subjectId: $s, verified: $v, member: $m, validFrom: $from, validTo: $to,
    clientKey: $k) { id groupKey subjectId verified member } }"""
FORGET = """mutation($id: ID!, $space: String, $k: String) {
    forgetSubject(subjectId: $id, spaceKey: $space, clientKey: $k) { subjectId erasedMemories } }"""
RETRIEVE = """query($i: RetrieveInput!) { retrieve(input: $i) {
    attributionId tokensTotal droppedCount contract { validAt knownAt }
    passages { text chunkId }
    memories { ...Given } groupMemories { ...Given } exclusions { type stage provider count }
    limitations { code message count } searchMeta { candidates } } }
    fragment Given on Passage { text score tokens memoryId revision justification spaceId spaceKey validFrom validTo
    systemFrom confidence epistemicStatus transformType tags contentSha256
    scores { vector text levelWeight similarity recency importance frequency } }"""
LINK = "mutation($a: ID!, $r: String!) { linkResponse(attributionId: $a, responseId: $r) { responseId } }"


@dataclass
class Memories:
    """The operations on memory, as the organisation's tester or as somebody else."""

    api: Api

    @property
    def world(self) -> World:
        return self.api.world

    async def data(self, query: str, variables: dict[str, Any], by: str | None) -> Any:
        token = None if by is None else token_of(self.world, by)
        [found] = (await self.api.data(query, variables, token=token)).values()
        return found

    async def refusal(self, query: str, variables: dict[str, Any], by: str | None = None) -> tuple[str, str | None]:
        """(code, field) of the one error."""
        token = None if by is None else token_of(self.world, by)
        extensions = (await self.api.error(query, variables, token=token))["extensions"]
        return extensions["code"], extensions.get("field")

    async def remember(self, text: str, by: str | None = None, **given: Any) -> dict[str, Any]:
        if not given.keys() & {"groupKey", "spaceId", "spaceKey"}:
            given["spaceKey"] = "project"
        found: dict[str, Any] = await self.data(REMEMBER, {"i": {"text": text, **given}}, by)
        return found

    async def correct(self, id: str, by: str | None = None, *, during: tuple[Any, Any] = (None, None), **changes: Any):
        return await self.data(CORRECT, {"id": id, "c": changes, "from": during[0], "to": during[1]}, by)

    async def change(self, id: str, since: str | None = None, by: str | None = None, **changes: Any) -> Any:
        return await self.data(CHANGE, {"id": id, "c": changes, "from": since}, by)

    async def retract(self, id: str, since: str | None = None, until: str | None = None, by: str | None = None) -> Any:
        return await self.data(RETRACT, {"id": id, "from": since, "to": until}, by)

    async def memory(
        self, id: str, as_of: str | None = None, known_at: str | None = None, by: str | None = None
    ) -> Any:
        return await self.data(MEMORY, {"id": id, "v": as_of, "k": known_at}, by)

    async def text(self, id: str, as_of: str | None = None, known_at: str | None = None) -> str | None:
        found = await self.memory(id, as_of, known_at)
        return None if found is None else str(found["text"])

    async def listed(self, by: str | None = None, **named: Any) -> list[dict[str, Any]]:
        found = await self.data(MEMORIES, {"first": 100, **named}, by)
        return [edge["node"] for edge in found["edges"]]

    async def history(self, id: str, known_at: str | None = None, by: str | None = None) -> list[dict[str, Any]]:
        found = await self.data(HISTORY, {"id": id, "k": known_at, "first": 100}, by)
        return [edge["node"] for edge in found["edges"]]

    async def retrieve(self, by: str | None = None, **given: Any) -> Any:
        return await self.data(RETRIEVE, {"i": {"spaceKey": "project", "maxMemories": 50, **given}}, by)

    async def given(self, **asked: Any) -> set[str]:
        """The texts of the memories that a retrieval gives."""
        answer = await self.retrieve(**asked)
        return {item["text"] for item in (*answer["memories"], *answer["groupMemories"])}

    async def group(self, key: str, space: str = "project") -> Any:
        return await self.data(GROUP, {"key": key, "space": space}, None)

    async def member(
        self,
        group: str,
        subject: str,
        *,
        verified: bool = True,
        member: bool = True,
        since: str | None = None,
        until: str | None = None,
    ) -> Any:
        named = {"g": group, "s": subject, "v": verified, "m": member, "from": since, "to": until}
        return await self.data(MEMBER, named, None)

    async def forget(self, subject: str, by: str | None = None) -> Any:
        return await self.data(FORGET, {"id": subject}, by)

    async def link(self, answer: dict[str, Any], response: str) -> None:
        await self.data(LINK, {"a": answer["attributionId"], "r": response}, None)

    async def person(self, name: str, space: str, *permissions: Permission) -> str:
        """Somebody who may do only this, in one space and below."""
        ids = {"project": self.world.project, "/": self.world.root}
        await self.world.add_person(name, *((ids[space], permission) for permission in permissions))
        return name


@pytest.fixture
async def memory(world: World) -> AsyncIterator[Memories]:
    async with connect(world.parts) as http:
        yield Memories(Api(world, http))
