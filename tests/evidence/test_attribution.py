"""Who may look up a record, what they find, and linking responses to it."""

import asyncio
from dataclasses import replace
from uuid import UUID, uuid4

import pytest

from app.domain.chain import Outcome
from app.domain.errors import Code, MunimentError
from app.domain.principal import Client, Level, Permission
from app.evidence.attribution import LINK_CATEGORY, find, find_all, link_response
from app.storage import tenancy
from tests.evidence.support import chain_of, found, queue_of
from tests.fixtures.store import make_world

MALFORMED = ["", " ", "nope", "1", "\0", "\ud800", "0" * 31, "0" * 33, "٠" * 32, "a" * 10_000, "' OR true --"]


async def refusal(call) -> tuple:
    """All that the caller is told."""
    with pytest.raises(MunimentError) as raised:
        await call
    return raised.value.code, raised.value.message, raised.value.field, raised.value.retryable


@pytest.fixture
async def answer(world, instant):
    await world.write("a.md", ("# Refunds\n\nRefunds are authorised by tier two agents.", instant, None))
    await world.settle()
    return await world.ask("refunds")


# What is found


async def test_queued_then_chained(world, answer):
    database = world.parts.database
    queued = await find(database, world.principal, str(answer.attribution_id))
    assert (queued.id, queued.sequence) == (answer.attribution_id, None)
    assert queued.request_id == str(answer.contract.request_id)
    assert await world.parts.sequencer.turn(world.organisation) == 1
    chained = await find(database, world.principal, str(answer.attribution_id))
    assert chained == replace(queued, sequence=1)
    assert chained.record["userId"] == str(world.principal.id)
    assert chained.record["spaceId"] == str(world.project)
    assert chained.queued_at.utcoffset() is not None


async def test_all_records_of_a_request(world, answer):
    """The retrieval and its links, in chain order, those that wait last."""
    database, id = world.parts.database, str(answer.attribution_id)
    request = str(answer.contract.request_id)
    await link_response(database, world.principal, id, "first")
    await world.parts.sequencer.turn(world.organisation)
    await link_response(database, world.principal, id, "second")
    await world.ask("another question")
    records = await find_all(database, world.principal, request)
    assert [record.sequence for record in records] == [1, 2, None]
    assert [record.record["category"] for record in records] == ["context_attribution", LINK_CATEGORY, LINK_CATEGORY]
    assert [record.record.get("responseId") for record in records] == [None, "first", "second"]
    assert {record.request_id for record in records} == {request}


@pytest.mark.parametrize("request_id", [*MALFORMED, "x" * 128])
async def test_an_unknown_request_has_no_records(world, answer, request_id):
    assert await find_all(world.parts.database, world.principal, request_id) == []


# Who may


async def sees(world, principal, id: UUID, request: str) -> bool:
    """Both look-ups agree."""
    listed = [record.id for record in await find_all(world.parts.database, principal, request)]
    if id in listed:
        return (await find(world.parts.database, principal, str(id))).id == id
    assert (await refusal(find(world.parts.database, principal, str(id))))[0] is Code.ATTRIBUTION_NOT_FOUND
    return False


async def test_who_may_look_a_record_up(world):
    """Retrieved in department/team: who retrieved, administrators there and above, auditors; nobody else."""
    department = await world.add_space("department", Level.DEPARTMENT)
    team = await world.add_space("department/team", Level.TEAM, "department")
    below = await world.add_space("department/team/project", Level.PROJECT, "department/team")
    beside = await world.add_space("department/other", Level.TEAM, "department")
    reader = await world.add_person("reader", (department, Permission.SEARCH))
    answer = await world.ask("anything", by=reader, space_key="department/team")
    seen = {
        "who retrieved": (reader, True),
        "who may do everything": (world.principal, True),
        "admin of the space": (await world.add_person("a", (team, Permission.ADMIN)), True),
        "admin above": (await world.add_person("b", (department, Permission.ADMIN)), True),
        "admin at the root": (await world.add_person("c", (world.root, Permission.ADMIN)), True),
        "admin below": (await world.add_person("d", (below, Permission.ADMIN)), False),
        "admin beside": (await world.add_person("e", (beside, Permission.ADMIN)), False),
        "admin of another project": (await world.add_person("f", (world.project, Permission.ADMIN)), False),
        "auditor": (await world.add_person("g", (world.root, Permission.AUDIT_READ)), True),
        "auditor of the space": (await world.add_person("h", (team, Permission.AUDIT_READ)), True),
        "auditor of another project": (await world.add_person("i", (world.project, Permission.AUDIT_READ)), False),
        "who may search and read there": (
            await world.add_person("j", (team, Permission.SEARCH), (team, Permission.READ), (team, Permission.WRITE)),
            False,
        ),
        "organisation administrator": (await world.add_person("k", (world.root, Permission.ORG_ADMIN)), False),
        "who holds nothing": (await world.add_person("l"), False),
        "a stranger": (replace(reader, id=uuid4()), False),
        "a group's administrator": (replace(reader, id=uuid4(), groups=(uuid4(),)), False),
    }
    for chained in (False, True):
        if chained:
            await world.parts.sequencer.turn(world.organisation)
        told = {
            who: await sees(world, principal, answer.attribution_id, str(answer.contract.request_id))
            for who, (principal, _) in seen.items()
        }
        assert told == {who: expected for who, (_, expected) in seen.items()}


async def test_in_a_personal_space(world):
    """No administrator can read it, so its records are its owner's and the auditors'."""
    owner = await world.add_person("owner")
    async with world.parts.database.write(world.organisation) as session:
        root = await tenancy.find_space(session, "/")
        await tenancy.create_space(
            session, id=uuid4(), parent=root, key_path="~owner", level=Level.PERSONAL, name="Mine", owner_id=owner.id
        )
    answer = await world.ask("anything", by=owner, space_key="~owner")
    ids = answer.attribution_id, str(answer.contract.request_id)
    assert await sees(world, owner, *ids)
    assert not await sees(world, await world.add_person("admin", (world.root, Permission.ADMIN)), *ids)
    assert await sees(world, await world.add_person("auditor", (world.root, Permission.AUDIT_READ)), *ids)


async def test_a_group_s_grant_counts_for_its_members(world, answer):
    group = await world.add_person("group", (world.project, Permission.ADMIN))
    member = await world.add_person("member")
    ids = answer.attribution_id, str(answer.contract.request_id)
    assert not await sees(world, member, *ids)
    assert await sees(world, replace(member, groups=(group.id,)), *ids)


async def test_another_organisation_sees_nothing_whatever_it_may(world, answer):
    stranger = (await make_world(world.parts)).principal
    assert not await sees(world, stranger, answer.attribution_id, str(answer.contract.request_id))
    twin = replace(world.principal, organisation=stranger.organisation)
    assert not await sees(world, twin, answer.attribution_id, str(answer.contract.request_id))


async def test_all_that_is_not_found_is_told_alike(world, answer):
    """Unknown, malformed, and somebody else's: one answer, which names the argument."""
    nobody = await world.add_person("nobody")
    database = world.parts.database
    await world.parts.sequencer.turn(world.organisation)
    told = {await refusal(find(database, nobody, str(answer.attribution_id)))}
    told |= {await refusal(find(database, nobody, str(uuid4())))}
    told |= {await refusal(find(database, nobody, id)) for id in MALFORMED}
    links = [str(answer.attribution_id), *MALFORMED, str(uuid4())]
    linking = {await refusal(link_response(database, nobody, id, "r")) for id in links}
    for (code, _, field, retryable), named in ((*told, "id"), (*linking, "attributionId")):
        assert (code, field, retryable) == (Code.ATTRIBUTION_NOT_FOUND, named, False)


# Links


async def test_twenty_identical_calls_make_one_link(world, answer):
    database, id = world.parts.database, str(answer.attribution_id)
    async with asyncio.TaskGroup() as group:
        for _ in range(20):
            group.create_task(link_response(database, world.principal, id, "chat-1"))
    await link_response(database, world.principal, id, "chat-1")
    await world.parts.sequencer.turn(world.organisation)
    await link_response(database, world.principal, id, "chat-1")
    assert await queue_of(database, world.organisation) == []
    records = await find_all(database, world.principal, str(answer.contract.request_id))
    assert [record.record["category"] for record in records] == ["context_attribution", LINK_CATEGORY]
    assert len(await chain_of(database, world.organisation)) == 2
    assert await found(world.parts, world.organisation) == (Outcome.VALID, None)


async def test_different_responses_and_retrievals_are_different_links(world, answer):
    database, other = world.parts.database, await world.ask("refunds")
    for id in (answer.attribution_id, other.attribution_id):
        for response in ("a", "A", "a "):
            await link_response(database, world.principal, str(id), response)
    for one in (answer, other):
        records = await find_all(database, world.principal, str(one.contract.request_id))
        assert [record.record.get("responseId") for record in records] == [None, "a", "A", "a "]


async def test_what_a_link_records(world, answer):
    """Whose retrieval, and who linked it with which program; clients are declared or verified as for a retrieval."""
    auditor = await world.add_person("auditor", (world.root, Permission.AUDIT_READ))
    auditor = replace(auditor, client=Client("verified", "editor", "1.4.2"))
    await link_response(world.parts.database, auditor, str(answer.attribution_id), "chat-1")
    (_, link) = await find_all(world.parts.database, world.principal, str(answer.contract.request_id))
    record = dict(link.record)
    assert record.pop("issuedAt").endswith("Z")
    assert record.pop("id") == str(link.id)
    assert record == {
        "category": LINK_CATEGORY,
        "attributionId": str(answer.attribution_id),
        "requestId": str(answer.contract.request_id),
        "organisationId": str(world.organisation),
        "userId": str(world.principal.id),
        "spaceId": str(world.project),
        "linkedBy": str(auditor.id),
        "client": {"id": "verified", "name": "editor", "version": "1.4.2"},
        "responseId": "chat-1",
    }


async def test_a_link_cannot_be_linked(world, answer):
    database, id = world.parts.database, str(answer.attribution_id)
    await link_response(database, world.principal, id, "chat-1")
    (_, link) = await find_all(database, world.principal, str(answer.contract.request_id))
    assert (await refusal(link_response(database, world.principal, str(link.id), "r")))[0] is (
        Code.ATTRIBUTION_NOT_FOUND
    )


@pytest.mark.parametrize("response", ["x", "x" * 256, "日" * 256, "\U0001f600" * 256, "'; --", "\n", " "])
async def test_response_ids_that_are_kept_as_they_are(world, answer, response):
    await link_response(world.parts.database, world.principal, str(answer.attribution_id), response)
    (_, link) = await find_all(world.parts.database, world.principal, str(answer.contract.request_id))
    assert link.record["responseId"] == response


@pytest.mark.parametrize("response", ["", "x" * 257, "日" * 257, "a\0b", "\ud800", "a\udfff"])
async def test_response_ids_that_are_refused(world, answer, response):
    code, _, field, _ = await refusal(
        link_response(world.parts.database, world.principal, str(answer.attribution_id), response)
    )
    assert (code, field) == (Code.BAD_USER_INPUT, "responseId")
    assert len(await find_all(world.parts.database, world.principal, str(answer.contract.request_id))) == 1
