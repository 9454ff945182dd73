"""What people set up for their questions: lenses, and the space that is theirs when they name none."""

from sqlalchemy import ARRAY, Column, Index, Table, Text, Uuid

from app.storage.tables.base import instant, metadata, organisation, system_period

lenses = Table(
    "lenses",
    metadata,
    organisation(),
    Column("id", Uuid, primary_key=True),
    Column("space_id", Uuid, nullable=False, comment="whoever may see this space may use the lens"),
    Column("name", Text, nullable=False),
    Column("space_ids", ARRAY(Uuid), comment="NULL: no filter, as in the columns that follow"),
    Column("source_kinds", ARRAY(Text)),
    Column("providers", ARRAY(Text)),
    Column("tags", ARRAY(Text)),
    instant("system_from", primary_key=True),
    *system_period()[1:],
    Index("lenses_space_idx", "organisation_id", "space_id", "id", postgresql_where="system_to IS NULL"),
)

active_spaces = Table(
    "active_spaces",
    metadata,
    organisation(),
    Column("principal_id", Uuid, primary_key=True),
    Column("space_id", Uuid, nullable=False),
    instant("system_from", primary_key=True),
    *system_period()[1:],
)
