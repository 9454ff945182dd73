"""What every table shares: the metadata, the tenant column first in every key, and the two clocks."""

from typing import Any

from sqlalchemy import CheckConstraint, Column, DateTime, Index, MetaData, Uuid
from sqlalchemy.schema import SchemaItem

metadata = MetaData(
    naming_convention={
        "pk": "%(table_name)s_pkey",
        "uq": "%(table_name)s_%(column_0_N_name)s_key",
        "fk": "%(table_name)s_%(column_0_N_name)s_fkey",
        "ck": "%(table_name)s_%(constraint_name)s_check",
        "ix": "%(table_name)s_%(column_0_N_name)s_idx",
    }
)


def instant(name: str, *, nullable: bool = False, **options: Any) -> Column[Any]:
    """A point in time: UTC, microseconds."""
    return Column(name, DateTime(timezone=True), nullable=nullable, **options)


def organisation() -> Column[Any]:
    """The tenant: first column of every primary key, so that any tenant table shards by it."""
    return Column("organisation_id", Uuid, primary_key=True, nullable=False)


def system_period() -> list[SchemaItem]:
    """When this database held the row: `[system_from, system_to)`, open end NULL, stamped by the clock row."""
    return [
        instant("system_from"),
        instant("system_to", nullable=True),
        CheckConstraint("isfinite(system_from) AND (system_to IS NULL OR isfinite(system_to))", name="system_finite"),
        CheckConstraint("system_to IS NULL OR system_from < system_to", name="system_period"),
    ]


def valid_period() -> list[SchemaItem]:
    """When it is true in the world: `[valid_from, valid_to)`, open ends NULL."""
    return [
        instant("valid_from", nullable=True),
        instant("valid_to", nullable=True),
        CheckConstraint(
            "(valid_from IS NULL OR isfinite(valid_from)) AND (valid_to IS NULL OR isfinite(valid_to))",
            name="valid_finite",
        ),
        CheckConstraint("valid_from IS NULL OR valid_to IS NULL OR valid_from < valid_to", name="valid_period"),
    ]


def both_clocks() -> list[SchemaItem]:
    """A fact of the world, as believed over time."""
    return [*valid_period(), *system_period()]


def boundaries(table: str) -> list[SchemaItem]:
    """Indexes that find when a fact of the table next begins or ends in the world."""
    return [
        Index(
            f"{table}_{name}_idx",
            "organisation_id",
            column,
            postgresql_where=f"system_to IS NULL AND {column} IS NOT NULL",
        )
        for name, column in (("beginning", "valid_from"), ("ending", "valid_to"))
    ]
