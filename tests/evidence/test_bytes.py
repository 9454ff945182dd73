"""What was hashed is what is stored, and what is looked up is computed from it."""

import hashlib
import json
from uuid import UUID, uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from app.domain.canonical import canonical
from app.domain.chain import mac
from app.domain.errors import Code, MunimentError
from app.providers.ids import new_id
from app.storage import queue
from app.storage.record_fields import columns
from tests.evidence.support import chain_of, make_event, queue_of

NAMES = ("category", "request_id", "attribution_id", "user_id", "space_id", "subject_pseudonym", "client_id")
FIELDS = f"SELECT r.id, {columns('r', *NAMES)} FROM {{}} r WHERE r.organisation_id = :organisation"

#: What PostgreSQL's jsonb rewrites: key order, white space, escapes, numbers; and texts of every kind.
AWKWARD = [
    {"b": 1, "a": "1.0", "aa": "1e20"},
    {"a": 2**53 - 1, "b": -(2**53) + 1, "c": str(2**64)},
    {"n": "1e-7", "z": "-0.0", "deep": {"b": [1, {"y": None, "x": True}], "a": []}},
    {"é": "é", "e\u0301": "e\u0301", "\U0001f600": "\ue000", "\ue000": "\U0001f600"},
    {"quotes": '"\\/\b\f\n\r\t\x01\x7f\u2028', "": "empty name", "ü" * 300: "x" * 5000},
    {"text": "'; DROP TABLE evidence; --", "percent": "%s %(x)s :y $1", "brace": "{}"},
]


async def put(database, organisation, id, payload) -> None:
    async with database.unstamped(organisation) as session:
        await queue.store(session, id, payload)


async def test_bytes_go_in_and_come_out_the_same(office):
    events = [make_event(office.organisation, **record) for record in AWKWARD]
    for event in events:
        await put(office.database, office.organisation, *event)
    assert await queue_of(office.database, office.organisation) == events
    await office.drain()
    rows = await chain_of(office.database, office.organisation)
    assert [(row.id, row.payload) for row in rows] == events
    for row in rows:
        key = office.keys.organisation_key(office.organisation, row.key_id)
        assert row.mac == mac(
            key, office.organisation, row.sequence, row.key_id, previous_mac=row.previous_mac, payload=row.payload
        )


TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(record=st.dictionaries(TEXT, VALUES, max_size=5))
async def test_any_canonical_record_is_kept_byte_for_byte(database, record):
    organisation = uuid4()
    event = make_event(organisation, **{f"x{name}": value for name, value in record.items()})
    await put(database, organisation, *event)
    ((_, stored),) = await queue_of(database, organisation)
    assert stored == event.payload
    async with database.unstamped(organisation) as session:
        await session.run(text("DELETE FROM attribution_queue WHERE organisation_id = :o"), {"o": organisation})


async def test_columns_are_computed_from_the_bytes(office):
    """In the queue and in the chain; absent and null fields are NULL."""
    full = make_event(office.organisation, subjectPseudonym="p", client={"id": "c", "name": None, "version": None})
    spaceless = make_event(office.organisation, spaceId=None)
    other = uuid4()
    link = (
        new_id(),
        canonical({"category": "context_attribution_link", "attributionId": str(other), "requestId": "r"}),
    )
    expected = {}
    for id, payload in (full, spaceless, link):
        record = json.loads(payload)
        expected[id] = (
            record["category"],
            record["requestId"],
            *(
                None if (value := record.get(name)) is None else UUID(value)
                for name in ("attributionId", "userId", "spaceId")
            ),
            record.get("subjectPseudonym"),
            record.get("client", {}).get("id"),
        )
        await put(office.database, office.organisation, id, payload)

    async def columns(table):
        async with office.database.snapshot(office.organisation) as session:
            rows = await session.rows(text(FIELDS.format(table)), {"organisation": office.organisation})
            return {row[0]: tuple(row[1:]) for row in rows}

    assert await columns("attribution_queue") == expected
    await office.drain()
    assert await columns("evidence") == expected


async def test_the_hashes_of_a_retrieval_are_those_of_what_was_delivered(world, instant):
    await world.write(
        "a.md", ("# Refunds\n\nRefunds are authorised by tier two agents — naïve Ünïcode 退款.", instant, None)
    )
    await world.settle()
    answer = await world.ask("refunds")
    await world.parts.sequencer.turn(world.organisation)
    (row,) = await chain_of(world.parts.database, world.organisation)
    record = json.loads(row.payload)
    assert row.id == answer.attribution_id
    assert canonical(record) == row.payload
    assert [chunk["sha256"] for chunk in record["chunks"]] == [
        hashlib.sha256(item.passage.text.encode()).hexdigest() for item in answer.passages
    ]
    assert len(record["chunks"]) == 1
    assert "退款".encode() not in row.payload


@pytest.mark.parametrize("payload", [b"", b"no json", b"\xff", b'{"userId":"nobody"}', b'{"a":"\\u0000"}'])
async def test_bytes_that_are_no_record_are_refused_at_the_door(database, payload):
    """Nothing that the chain could not take later is ever acknowledged."""
    organisation = uuid4()
    with pytest.raises(MunimentError) as refused:
        await put(database, organisation, new_id(), payload)
    assert refused.value.code is Code.ATTRIBUTION_FAILED
    assert refused.value.retryable
    assert await queue_of(database, organisation) == []


async def test_one_id_is_queued_once(database):
    organisation = uuid4()
    event = make_event(organisation)
    await put(database, organisation, *event)
    with pytest.raises(MunimentError) as refused:
        await put(database, organisation, *event)
    assert refused.value.code is Code.ATTRIBUTION_FAILED
    assert await queue_of(database, organisation) == [event]
