"""The statements of the code graph and of links read few rows by their own indexes, whatever else there is."""

import pytest

from app.storage import code_graph, links
from app.storage.code_graph import Wanted
from tests.fixtures.owner import connection
from tests.storage.test_plans import WHEN, assert_small

#: Definitions and calls of a document; so many names are shared out, each by some fifty documents of an organisation.
DEFINITIONS, CALLS, NAMES = 3, 10, 300

GRAPHS = f"""
    INSERT INTO code_definitions (organisation_id, content_sha256, number, name, qualified_name, kind, start_offset,
        end_offset, is_test)
    SELECT v.organisation_id, v.content_sha256, n, 'name' || abs(hashtext(v.id::text || n)) % {NAMES},
        'name' || abs(hashtext(v.id::text || n)) % {NAMES}, 'function', n * 100, n * 100 + 90, false
    FROM document_versions v, generate_series(0, {DEFINITIONS - 1}) n;
    INSERT INTO code_references (organisation_id, content_sha256, number, name, target, within, start_offset)
    SELECT v.organisation_id, v.content_sha256, n, 'name' || abs(hashtext(v.id::text || 'call' || n)) % {NAMES},
        NULL, n % {DEFINITIONS}, n * 30 + 5
    FROM document_versions v, generate_series(0, {CALLS - 1}) n;
    INSERT INTO document_links (organisation_id, content_sha256, number, target)
    SELECT v.organisation_id, v.content_sha256, n, 'page' || n || '.md'
    FROM document_versions v, generate_series(0, 3) n
"""


@pytest.fixture(scope="module")
async def graphs(loaded):
    async with connection(loaded.owner_url) as owner:
        await owner.execute(GRAPHS)
        for table in ("code_definitions", "code_references", "document_links", "document_versions"):
            await owner.execute(f"VACUUM ANALYZE {table}")
    return loaded


VERSIONS = ["document_versions_content_idx", "document_versions_content_closed_idx", "document_versions_current_idx"]
OF_DOCUMENT = ["document_versions_document_idx", "chunks_document_idx", "chunks_document_closed_idx", "chunks_pkey"]
CODE = ["code_definitions_name_idx", "code_definitions_pkey", "code_references_name_idx", "code_references_pkey"]


@pytest.mark.parametrize("when", WHEN)
async def test_around_three_chunks(graphs, when):
    async with graphs.explained() as session:
        found = await code_graph.surroundings(session, graphs.scope(when), graphs.tenant.chunks[:3])
        (plan,) = session.plans
    assert found.held
    assert found.inside
    assert found.definitions
    assert found.towards
    # Each name is looked up with all that has it, in any source and at any time; each of these with its versions.
    names = {item.name for item in (*found.held, *found.inside)}
    around = len(names) * 14_000 // 5 * DEFINITIONS // NAMES
    assert_small(plan, 12 * around, *VERSIONS, *OF_DOCUMENT, *CODE)


@pytest.mark.parametrize("when", WHEN)
async def test_the_chunks_of_places(graphs, when):
    async with graphs.explained() as session:
        scope = graphs.scope(when)
        around = await code_graph.surroundings(session, scope, graphs.tenant.chunks[:3])
        wanted = [Wanted(item.document_id, item.name, item.qualified_name) for item in around.definitions[:12]]
        session.plans.clear()
        found = await code_graph.places(session, scope, wanted)
        (plan,) = session.plans
    assert len(found) == len(wanted) == 12
    assert_small(plan, 12 * 5 * 4, *OF_DOCUMENT, *CODE)


@pytest.mark.parametrize("when", WHEN)
async def test_links_and_what_they_name(graphs, when):
    async with graphs.explained() as session:
        scope = graphs.scope(when)
        found = await links.links_of(session, scope, graphs.tenant.chunks[:3])
        source = graphs.tenant.sources[0]
        names = [(source, f"{id.hex}.md") for id in graphs.documents[:20]]
        chunks = await links.chunks_of(session, scope, names)
        first, second = session.plans
    assert len(found) == 3 * 4
    assert chunks
    assert_small(first, 60, *VERSIONS, *OF_DOCUMENT, "document_links_pkey")
    assert_small(second, 20 * 12, "document_versions_name_idx", "document_versions_name_closed_idx", *OF_DOCUMENT)
