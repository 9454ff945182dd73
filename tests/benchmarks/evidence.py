"""The chain: appending, verifying, and how long an event waits for its place."""

from time import perf_counter
from uuid import UUID

from app.assembly.services import Services
from app.domain.canonical import canonical
from app.domain.chain import EMPTY, Outcome, append
from app.evidence.sequencer import BATCH
from app.evidence.verification import verify_chain
from app.providers.ids import new_id
from tests.benchmarks.floor import connect
from tests.benchmarks.measure import Row, median
from tests.benchmarks.store import Organisation

RECORDS = 40_000
_BARE = """
CREATE SCHEMA IF NOT EXISTS floor;
CREATE TABLE floor.chain (sequence bigint PRIMARY KEY, id uuid NOT NULL, payload bytea NOT NULL,
    previous_mac bytea NOT NULL, mac bytea NOT NULL, key_id text NOT NULL);
"""
_COLUMNS = ("sequence", "id", "payload", "previous_mac", "mac", "key_id")
_ENQUEUE = (
    "INSERT INTO attribution_queue (organisation_id, id, payload) SELECT $1, * FROM unnest($2::uuid[], $3::bytea[])"
)
_FETCH = (
    "SELECT sequence, key_id, previous_mac, mac, payload FROM evidence WHERE organisation_id = $1 ORDER BY sequence"
)
_LAG = (
    "SELECT extract(epoch FROM appended_at - queued_at)::float8 * 1000 AS lag FROM evidence "
    "WHERE organisation_id = $1 ORDER BY lag"
)


def record(organisation: UUID, number: int) -> dict[str, object]:
    """A record of the size and shape of a retrieval's."""
    return {
        "category": "context_attribution",
        "id": str(new_id()),
        "requestId": str(new_id()),
        "organisationId": str(organisation),
        "userId": str(new_id()),
        "spaceId": str(new_id()),
        "parameters": {"topK": 8, "maxPerLevel": 5, "number": number},
        "chunks": [
            {"chunkId": str(new_id()), "documentId": str(new_id()), "sha256": "0" * 64, "indexVersion": 1}
            for _ in range(8)
        ],
    }


async def chain(parts: Services, owner_url: str, organisation: Organisation) -> list[Row]:
    """evidence_append and evidence_verify, on an organisation whose chain is still empty."""
    id = organisation.id
    records = [record(id, number) for number in range(RECORDS)]
    payloads = [canonical(item) for item in records]
    connection = await connect(owner_url)
    try:
        await connection.execute(_BARE)
        await connection.execute(_ENQUEUE, id, [UUID(str(item["id"])) for item in records], payloads)
        await connection.execute("ANALYZE attribution_queue")
        key_id = parts.keys.current_id
        key = parts.keys.organisation_key(id, key_id)
        assert key is not None
        ours = hand = 0.0
        head = EMPTY
        for start in range(0, RECORDS, BATCH):
            started = perf_counter()
            appended = await parts.sequencer.turn(id)
            ours += perf_counter() - started
            assert appended == min(BATCH, RECORDS - start)
            started = perf_counter()
            entries = append(id, head, payloads[start : start + BATCH], key, key_id)
            rows = [(item.sequence, new_id(), item.payload, item.previous_mac, item.mac, key_id) for item in entries]
            await connection.copy_records_to_table("chain", schema_name="floor", columns=_COLUMNS, records=rows)
            hand += perf_counter() - started
            head = type(head)(entries[-1].sequence, entries[-1].mac)
        append_row = Row("evidence_append", RECORDS / ours, "records/s", RECORDS / hand)
        return [append_row, await _verify(parts, connection, organisation)]
    finally:
        await connection.close()


async def _verify(parts: Services, connection: object, organisation: Organisation) -> Row:
    ours, hand = [], []
    for _ in range(4):
        started = perf_counter()
        verdict = await verify_chain(parts.database, parts.keys, parts.heads, organisation.id)
        ours.append(perf_counter() - started)
        assert verdict.verdict is Outcome.VALID
        assert verdict.checked_records == RECORDS
        started = perf_counter()
        rows = await connection.fetch(_FETCH, organisation.id)  # type: ignore[attr-defined]
        hand.append(perf_counter() - started)
        assert len(rows) == RECORDS
    return Row("evidence_verify", RECORDS / median(ours[1:]), "records/s", RECORDS / median(hand[1:]))


async def queue_lag(owner_url: str, organisation: Organisation) -> Row:
    """From the durable event to its place in the chain, over every retrieval that was asked of the server."""
    connection = await connect(owner_url)
    try:
        lags = [row["lag"] for row in await connection.fetch(_LAG, organisation.id)]
    finally:
        await connection.close()
    return Row("queue_lag_p99", lags[int(0.99 * len(lags))], "ms")
