"""A key that admits some providers, at every operation on sources and their jobs: others are not there for it."""

from collections.abc import Mapping
from typing import Any

import pytest

from app.domain.principal import Permission
from app.ingestion.jobs import JobKind
from app.providers.ids import new_id
from app.storage import catalogue, jobs
from tests.schema.conftest import Api
from tests.schema.test_api_keys import create, refused
from tests.schema.test_sources import made, take

TARGETS: Mapping[str, tuple[str, str]] = {
    "source": ("query($id: ID!) { source(id: $id) { id } }", "id"),
    "documents": ("query($id: ID!) { documents(sourceId: $id) { edges { cursor } } }", "id"),
    "jobs": ("query($id: ID!) { jobs(sourceId: $id) { edges { cursor } } }", "id"),
    "ingestDocuments": (
        'mutation($id: ID!) { ingestDocuments(sourceId: $id, documents: [{externalId: "b", text: "x"}]) { created } }',
        "id",
    ),
    "setSourceClassification": (
        "mutation($id: ID!) { setSourceClassification(id: $id, classification: PUBLIC) { id } }",
        "id",
    ),
    "reindexSource": ("mutation($id: ID!) { reindexSource(id: $id) { sourceId } }", "id"),
    "backfillEmbeddings": ("mutation($id: ID!) { backfillEmbeddings(sourceId: $id) { queued } }", "id"),
    "syncSource": ("mutation($id: ID!) { syncSource(id: $id) { id } }", "id"),
    "job": ("query($job: ID!) { job(id: $job) { id } }", "job"),
    "retryJob": ("mutation($job: ID!) { retryJob(id: $job) { id } }", "job"),
    "deleteSource": ("mutation($id: ID!) { deleteSource(id: $id) }", "id"),
}
EVERYTHING = [permission.name for permission in Permission]
LIST = "{ sources { edges { node { id } } } }"
FINDINGS = "{ dlpFindings { edges { node { sourceId } } } }"
FIND = "query($id: ID!) { dlpFindings(sourceId: $id) { edges { node { sourceId } } } }"


async def inhabited(api: Api) -> dict[str, Any]:
    """An `api` source with a document, a place, and a parked job."""
    source = await made(api)
    await take(api, source["id"], {"externalId": "a.md", "text": "Kettles."})
    async with api.world.parts.database.unstamped(api.world.organisation) as session:
        await catalogue.note_place(session, source["id"], "/nowhere")
        job = await jobs.add(session, new_id(), JobKind.SYNC_SOURCE, source["id"], api.world.principal.id)
        claimed = await jobs.claim(session, worker := new_id())
        assert claimed is not None
        await jobs.park(session, job.id, worker, "It failed.")
    return {"id": source["id"], "job": str(job.id)}


async def test_what_is_not_admitted_is_not_there(api: Api) -> None:
    names = await inhabited(api)
    narrow = (await create(api, actions=EVERYTHING, allowedProviders=["git"]))["secret"]
    for field, (query, name) in TARGETS.items():
        assert await refused(api, query, {name: names[name]}, narrow) == "NOT_FOUND", field
    assert (await api.data(LIST, token=narrow))["sources"]["edges"] == []
    for query, given in ((FINDINGS, {}), (FIND, {"id": names["id"]})):
        assert (await api.data(query, given, token=narrow))["dlpFindings"]["edges"] == []
    # Nothing was done by any of them, and who admits the provider does each.
    admitted = (await create(api, actions=EVERYTHING, allowedProviders=["api"]))["secret"]
    [edge] = (await api.data(LIST, token=admitted))["sources"]["edges"]
    assert edge["node"]["id"] == names["id"]
    [edge] = (await api.data(FINDINGS, token=admitted))["dlpFindings"]["edges"]
    assert edge["node"]["sourceId"] == names["id"]
    for field in TARGETS:
        if field == "syncSource":
            continue
        query, name = TARGETS[field]
        assert await api.data(query, {name: names[name]}, token=admitted), field


async def test_a_source_of_a_provider_that_is_not_admitted_is_not_made(api: Api) -> None:
    query = "mutation($i: CreateSourceInput!) { createSource(input: $i) { provider } }"
    narrow = (await create(api, actions=EVERYTHING, allowedProviders=["confluence"]))["secret"]
    given = {"name": "wiki", "kind": "DOCS", "spaceKey": "project"}
    assert await refused(api, query, {"i": given}, narrow) == "FORBIDDEN"
    answer = await api.data(query, {"i": {**given, "provider": "confluence"}}, token=narrow)
    assert answer["createSource"]["provider"] == "confluence"


@pytest.mark.parametrize("provider", ["git", "filesystem", " Git "])
async def test_the_providers_of_places_are_for_who_reads_them(api: Api, provider: str) -> None:
    query = "mutation($i: CreateSourceInput!) { createSource(input: $i) { provider } }"
    given = {"name": "wiki", "kind": "DOCS", "spaceKey": "project", "provider": provider}
    extensions = (await api.error(query, {"i": given}))["extensions"]
    assert (extensions["code"], extensions["field"]) == ("BAD_USER_INPUT", "provider")
