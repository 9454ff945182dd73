"""Verification of chains from 10,000 to 1,000,000 records: its rate beside a bare fetch of the same rows, and the
memory that it takes.

`python -m tests.benchmarks.evidence_scale [--records 10000 1000000]` prints a line a chain, and ends with 1 when memory
grows by more than a quarter. Chains are put into the table with real MACs; each is verified in a process of its own,
whose peak of resident memory is what the kernel says.
"""

import argparse
import asyncio
import json
import resource
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any
from uuid import UUID, uuid4

from app.assembly.installation import Installation
from app.assembly.services import Services, services
from app.domain.canonical import canonical
from app.domain.chain import EMPTY, Entry, Head, Outcome, append
from app.evidence.verification import verify_chain
from app.providers.ids import new_id
from app.settings import Settings
from tests.benchmarks.evidence import record
from tests.benchmarks.floor import connect
from tests.fixtures.own import own_store_of
from tests.fixtures.server import ROOT

RECORDS = (10_000, 100_000, 1_000_000)
BATCH = 10_000
ROUNDS = 3
GROWTH = 1.25
_COLUMNS = ("organisation_id", "sequence", "id", "payload", "previous_mac", "mac", "key_id", "queued_at")
_FETCH = (
    "SELECT sequence, key_id, previous_mac, mac, payload FROM evidence WHERE organisation_id = $1 ORDER BY sequence"
)


def _payloads(organisation: UUID, count: int) -> list[tuple[UUID, bytes]]:
    """Records of the size of a retrieval's, all different."""
    template = canonical(record(organisation, 0))
    place = template.index(b'"id":"') + 6
    ids = [new_id() for _ in range(count)]
    return [(id, template[:place] + str(id).encode() + template[place + 36 :]) for id in ids]


async def fill(parts: Services, connection: Any, count: int) -> UUID:
    """An organisation with a chain of so many records, written with COPY."""
    organisation, key_id, when = uuid4(), parts.keys.current_id, datetime.now(UTC)
    key = parts.keys.organisation_key(organisation, key_id)
    assert key is not None
    head = EMPTY
    for start in range(0, count, BATCH):
        made = _payloads(organisation, min(BATCH, count - start))
        entries = append(organisation, head, [payload for _, payload in made], key, key_id)
        head = Head(entries[-1].sequence, entries[-1].mac)
        await connection.copy_records_to_table(
            "evidence", columns=_COLUMNS, records=list(_rows(organisation, made, entries, when))
        )
    parts.heads.advance(organisation, head, key_id)
    await connection.execute("VACUUM ANALYZE evidence")
    return organisation


def _rows(organisation: UUID, made: Sequence[tuple[UUID, bytes]], entries: Sequence[Entry], when: datetime) -> Any:
    for (id, _), entry in zip(made, entries, strict=True):
        yield organisation, entry.sequence, id, entry.payload, entry.previous_mac, entry.mac, entry.key_id, when


async def bare(connection: Any, organisation: UUID) -> float:
    """Seconds that the rows take to come, through a cursor and into nothing."""
    started = perf_counter()
    async with connection.transaction():
        cursor = await connection.cursor(_FETCH, organisation)
        while await cursor.fetch(2000):
            pass
    return perf_counter() - started


async def child(settings: Settings, url: str, organisation: UUID) -> None:
    """Verify when told to, and say how long it took and the most memory that there ever was."""
    async with services(settings, Installation(url, None)) as parts:
        async for _ in _lines():
            started = perf_counter()
            verdict = await verify_chain(parts.database, parts.keys, parts.heads, organisation)
            seconds = perf_counter() - started
            assert verdict.verdict is Outcome.VALID, verdict
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            print(json.dumps({"seconds": seconds, "records": verdict.checked_records, "peak": peak}), flush=True)


async def _lines() -> AsyncIterator[str]:
    while line := await asyncio.to_thread(sys.stdin.readline):
        yield line


async def measure(parts: Services, url: str, connection: Any, organisation: UUID, count: int) -> tuple[str, float]:
    """The line of one chain, and the peak in MB. Both works take turns; the best of each counts."""
    command = [sys.executable, "-m", "tests.benchmarks.evidence_scale", "--child", str(parts.settings.home)]
    pipe = subprocess.PIPE
    process = subprocess.Popen([*command, url, str(organisation)], stdin=pipe, stdout=pipe, text=True, cwd=ROOT)
    assert process.stdin is not None
    assert process.stdout is not None
    ours, hand, peak = [], [], 0.0
    try:
        for _ in range(ROUNDS):
            hand.append(await bare(connection, organisation))
            process.stdin.write("go\n")
            process.stdin.flush()
            told = json.loads(await asyncio.to_thread(process.stdout.readline))
            assert told["records"] == count
            ours.append(told["seconds"])
            peak = told["peak"]
    finally:
        process.stdin.close()
        process.wait(30)
    rate, floor = count / min(ours), count / min(hand)
    return f"{count:>9} records  {rate:>9.0f}/s  floor {floor:>9.0f}/s  {rate / floor:.2f}  peak {peak:.1f} MB", peak


async def run(sizes: Sequence[int]) -> bool:
    async with own_store_of(embedder="none") as (parts, installation):
        assert installation.embedded is not None
        connection = await connect(installation.embedded.owner_url)
        peaks = []
        try:
            for count in sizes:
                started = perf_counter()
                organisation = await fill(parts, connection, count)
                print(f"[{perf_counter() - started:.0f} s to fill]", file=sys.stderr, flush=True)
                line, peak = await measure(parts, installation.url, connection, organisation, count)
                peaks.append(peak)
                print(line, flush=True)
        finally:
            await connection.close()
    print(f"memory: {peaks[-1] / peaks[0]:.2f} times that of the smallest chain", flush=True)
    return peaks[-1] <= GROWTH * peaks[0]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.evidence_scale", description=__doc__)
    parser.add_argument("--records", type=int, nargs="+", default=list(RECORDS))
    parser.add_argument("--child", nargs=3, metavar=("HOME", "URL", "ORGANISATION"), help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.child is not None:
        home, url, organisation = given.child
        asyncio.run(child(Settings(home=Path(home), embedder="none", pool_size=4), url, UUID(organisation)))
        return 0
    return 0 if asyncio.run(run(given.records)) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
