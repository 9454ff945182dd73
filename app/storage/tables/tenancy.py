"""Organisations with their clocks, the tree of spaces, and who may do what where."""

from sqlalchemy import ARRAY, CheckConstraint, Column, Computed, Index, Numeric, Table, Text, Uuid

from app.storage.tables.base import both_clocks, instant, metadata, organisation, system_period

organisations = Table(
    "organisations",
    metadata,
    organisation(),
    Column("key", Text, nullable=False, unique=True),
    Column("name", Text, nullable=False),
)

#: One row an organisation: the last system instant it gave out. A write locks it to commit; readers never wait.
organisation_clocks = Table("organisation_clocks", metadata, organisation(), instant("system_at"))

spaces = Table(
    "spaces",
    metadata,
    organisation(),
    Column("id", Uuid, primary_key=True),
    Column("parent_id", Uuid),
    Column("path", ARRAY(Uuid), nullable=False, comment="ids from the root to this space, both included"),
    Column("key_path", Text, nullable=False, comment="keys below the root joined by '/'; the root is '/'"),
    Column("level", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("owner_id", Uuid, comment="the one person whose personal space this is"),
    instant("system_from", primary_key=True),
    *system_period()[1:],
    Index(
        "spaces_key_path_idx",
        "organisation_id",
        "key_path",
        unique=True,
        postgresql_where="system_to IS NULL",
    ),
)

level_weights = Table(
    "level_weights",
    metadata,
    organisation(),
    Column("level", Text, primary_key=True),
    Column("weight", Numeric(6, 4), nullable=False),
    instant("system_from", primary_key=True),
    *system_period()[1:],
    CheckConstraint("weight > 0 AND weight <= 10", name="weight"),
)

principals = Table(
    "principals",
    metadata,
    organisation(),
    Column("id", Uuid, primary_key=True),
    Column("kind", Text, nullable=False, comment="person, group or key"),
    Column("external_id", Text, nullable=False, comment="the token's subject, the group's name, the key's id"),
    instant("system_from", primary_key=True),
    *system_period()[1:],
    CheckConstraint("kind IN ('person', 'group', 'key')", name="kind"),
)

grants = Table(
    "grants",
    metadata,
    organisation(),
    Column("id", Uuid, primary_key=True),
    Column("principal_id", Uuid, nullable=False),
    Column("space_id", Uuid, nullable=False, comment="the permission holds here and below"),
    Column("permission", Text, nullable=False),
    Column(
        "grant_id",
        Uuid,
        Computed("md5(principal_id::text || ' ' || space_id::text || ' ' || permission)::uuid", persisted=True),
        nullable=False,
        comment="the fact: this permission of this principal on this space",
    ),
    Column("granted_by", Uuid, comment="NULL: the operator"),
    *both_clocks(),
    Index("grants_principal_idx", "organisation_id", "principal_id", postgresql_where="system_to IS NULL"),
    Index("grants_fact_idx", "organisation_id", "grant_id"),
    Index("grants_space_idx", "organisation_id", "space_id", "id"),
)
