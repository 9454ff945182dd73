"""Constraints of the two clocks: no two versions of one fact at one point of both, and no other open end than NULL."""

import random
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool

from app.domain.temporal import Period, Version
from app.storage.tables import metadata
from tests.storage.rows import insert

START = datetime(2026, 5, 1, tzinfo=UTC)
TICK = timedelta(microseconds=1)


def day(number):
    return None if number is None else START + timedelta(days=number)


@asynccontextmanager
async def rolled_back(owner_url):
    engine = create_async_engine(owner_url, poolclass=NullPool)
    try:
        async with engine.connect() as opened:
            yield opened
            await opened.rollback()
    finally:
        await engine.dispose()


async def admitted(opened, statement):
    """Whether the row is taken; the transaction goes on either way."""
    try:
        async with opened.begin_nested():
            await opened.execute(statement)
    except IntegrityError as refused:
        assert "no_overlap" in str(refused)  # noqa: PT017 (which constraint it was)
        return False
    return True


def version(organisation, document, valid, system):
    return insert(
        "document_versions",
        organisation,
        document_id=document,
        valid_from=valid[0],
        valid_to=valid[1],
        system_from=system[0],
        system_to=system[1],
    )


BASE = ((day(2), day(4)), (day(2), day(4)))


@pytest.mark.parametrize(
    ("valid", "system", "taken"),
    [
        ((day(2), day(4)), (day(2), day(4)), False),
        ((day(3), day(5)), (day(3), day(5)), False),
        ((None, None), (day(0), None), False),
        ((day(4) - TICK, None), (day(0), None), False),
        ((None, day(2) + TICK), (day(3), None), False),
        ((None, None), (day(4) - TICK, None), False),
        ((None, None), (day(0), day(2) + TICK), False),
        ((day(4), None), (day(0), None), True),
        ((None, day(2)), (day(0), None), True),
        ((None, None), (day(4), None), True),
        ((None, None), (day(0), day(2)), True),
    ],
)
async def test_overlap_on_both_clocks_is_refused_and_contact_is_not(owner_url, valid, system, taken):
    organisation, document = uuid4(), uuid4()
    async with rolled_back(owner_url) as opened:
        assert await admitted(opened, version(organisation, document, *BASE))
        assert await admitted(opened, version(organisation, uuid4(), valid, system)), "another document"
        assert await admitted(opened, version(organisation, document, valid, system)) == taken


@pytest.mark.parametrize("seed", range(3))
async def test_exactly_what_overlaps_in_the_model_is_refused(owner_url, seed):
    chance = random.Random(seed)
    organisation, document = uuid4(), uuid4()
    held, refused = [], 0

    def period(openness):
        first, last = sorted(chance.sample(range(8), 2))
        return (
            None if openness and chance.random() < 0.2 else day(first),
            None if chance.random() < 0.3 else day(last),
        )

    async with rolled_back(owner_url) as opened:
        for _ in range(80):
            valid, system = period(True), period(False)
            new = Version(Period(*valid), Period(*system), None)
            free = not any(new.valid.overlaps(old.valid) and new.system.overlaps(old.system) for old in held)
            assert await admitted(opened, version(organisation, document, valid, system)) == free
            if free:
                held.append(new)
            refused += not free
    assert held
    assert refused


@pytest.mark.parametrize(
    ("table", "fact"),
    [("grants", ("principal_id", "space_id", "permission")), ("spaces", ("id",)), ("sources", ("id",))],
)
async def test_other_facts_have_one_version_at_a_time(owner_url, table, fact):
    organisation = uuid4()
    same = {name: "search" if name == "permission" else uuid4() for name in fact}

    def believed(start, end):
        return insert(table, organisation, **same, system_from=start, system_to=end)

    async with rolled_back(owner_url) as opened:
        assert await admitted(opened, believed(day(1), day(3)))
        assert not await admitted(opened, believed(day(2), None))
        assert not await admitted(opened, believed(day(0), day(1) + TICK))
        assert await admitted(opened, believed(day(3), None))
        assert await admitted(opened, believed(day(0), day(1)))


CLOCKS = ("valid", "system")
CLOCK_COLUMNS = sorted(
    (table.name, f"{clock}_{side}")
    for table in metadata.tables.values()
    for clock in CLOCKS
    for side in ("from", "to")
    if f"{clock}_to" in table.columns
)


@pytest.mark.parametrize(("table", "column"), CLOCK_COLUMNS)
@pytest.mark.parametrize("infinite", ["infinity", "-infinity"])
async def test_infinity_is_no_instant(owner_url, table, column, infinite):
    async with rolled_back(owner_url) as opened:
        with pytest.raises(IntegrityError, match="finite"):
            await opened.execute(insert(table, uuid4(), **{column: sa.text(f"'{infinite}'::timestamptz")}))


PERIODS = sorted({(table, column.rsplit("_", 1)[0]) for table, column in CLOCK_COLUMNS if column.endswith("_to")})


@pytest.mark.parametrize(("table", "clock"), PERIODS)
async def test_a_period_is_neither_empty_nor_reversed_and_null_is_its_open_end(owner_url, table, clock):
    start, end = f"{clock}_from", f"{clock}_to"
    async with rolled_back(owner_url) as opened:
        for last in (day(1), day(1) - TICK):
            with pytest.raises(IntegrityError, match=f"{clock}_period"):
                async with opened.begin_nested():
                    await opened.execute(insert(table, uuid4(), **{start: day(1), end: last}))
        organisation = uuid4()
        await opened.execute(insert(table, organisation, **{start: day(1), end: None}))
        held = metadata.tables[table]
        found = (await opened.execute(sa.select(held.c[end]).where(held.c.organisation_id == organisation))).one()
        assert found[0] is None
