"""Where each delivered item went, and what was erased: derived from the records, to be looked up by item."""

from sqlalchemy import BigInteger, Column, Index, LargeBinary, Table, Uuid

from app.storage.tables.base import instant, metadata, organisation

delivered_items = Table(
    "delivered_items",
    metadata,
    organisation(),
    Column("item_id", Uuid, primary_key=True, comment="a chunk, or a version of a memory"),
    Column("attribution_id", Uuid, primary_key=True),
    Column("whole_id", Uuid, nullable=False, comment="its document, or the memory"),
    Column("source_id", Uuid, comment="NULL for a memory"),
    Column("sha256", LargeBinary, nullable=False, comment="of the text that was delivered"),
    Column("user_id", Uuid),
    Column("space_id", Uuid),
    instant("valid_at"),
    Index("delivered_items_whole_idx", "organisation_id", "whole_id", "attribution_id"),
    Index("delivered_items_sha256_idx", "organisation_id", "sha256", "attribution_id"),
)

#: Up to which sequence the items of the chain's records are in `delivered_items`.
delivered_progress = Table(
    "delivered_progress",
    metadata,
    organisation(),
    Column("sequence", BigInteger, nullable=False),
)

#: Rows that are gone for good, by id only: who was given them must be told.
erased_items = Table(
    "erased_items",
    metadata,
    organisation(),
    Column("item_id", Uuid, primary_key=True),
    Column("whole_id", Uuid, nullable=False),
    instant("erased_at"),
    Index("erased_items_erased_idx", "organisation_id", "erased_at"),
)
