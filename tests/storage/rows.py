"""A row for any table, made from its columns: tests that must hold for every table cannot forget one."""

import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from uuid import UUID, uuid4

import sqlalchemy as sa
from pgvector.sqlalchemy import HALFVEC, SPARSEVEC

from app.storage.tables import DIMENSIONS, metadata

MOMENT = datetime(2026, 1, 1, tzinfo=UTC)

#: Columns whose values a constraint of the table chooses.
CHOSEN = {
    ("sources", "kind"): "docs",
    ("sources", "classification"): "internal",
    ("principals", "kind"): "person",
    "epistemic_status": "observed",
    "transform_type": "ingest",
    "weight": Decimal("1.0000"),
    "confidence": Decimal("0.500"),
    "importance": Decimal("0.500"),
    "valid_from": MOMENT,
    "valid_to": MOMENT + timedelta(days=2),
    "system_from": MOMENT,
    "system_to": None,
}


def value(table: sa.Table, column: sa.Column, organisation: UUID):
    """Something that the column takes; other than in any other row where it has to be."""
    if column.name == "organisation_id":
        return organisation
    for name in ((table.name, column.name), column.name):
        if name in CHOSEN:
            return CHOSEN[name]
    if column.name == "payload":
        return json.dumps({"category": "test", "requestId": uuid4().hex}).encode()
    if column.nullable:
        return None
    match column.type:
        case HALFVEC():
            return sa.text("'[0.6,0.8]'::halfvec")
        case SPARSEVEC():
            return sa.text(f"'{{1:0.5}}/{DIMENSIONS}'::sparsevec")
        case sa.ARRAY():
            return sa.text("'{}'")
        case sa.Uuid():
            return uuid4()
        case sa.LargeBinary():
            return uuid4().bytes
        case sa.DateTime():
            return MOMENT
        case sa.Boolean():
            return column.name != "live"
        case sa.SmallInteger():
            return uuid4().int % 2**15
        case sa.Integer() | sa.BigInteger():
            return uuid4().int % 2**31
        case sa.Numeric():
            return Decimal("0.5")
        case sa.Text():
            return _allowed(table, column) or uuid4().hex
        case other:
            if other.__class__.__name__ in {"JSONB", "JSON"}:
                return {}
            raise NotImplementedError(f"{table.name}.{column.name}: {other!r}")


def _allowed(table: sa.Table, column: sa.Column) -> str | None:
    """The first word of a constraint `column IN ('…', …)`."""
    for constraint in table.constraints:
        condition = str(getattr(constraint, "sqltext", ""))
        if condition.startswith(f"{column.name} IN ("):
            return condition.split("'")[1]
    return None


def row(table: sa.Table, organisation: UUID, **given):
    """Values of every column that takes one."""
    return {
        column.name: value(table, column, organisation)
        for column in table.columns
        if column.computed is None and column.identity is None and column.name not in given
    } | given


def insert(table_name: str, organisation: UUID, **given) -> sa.Insert:
    table = metadata.tables[table_name]
    return sa.insert(table).values(row(table, organisation, **given))
