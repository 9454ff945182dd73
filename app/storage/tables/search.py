"""What the legs of a search read: postings for text, embeddings for vectors, and the statistics behind BM25.

Both carry the clocks of their chunk, so that a leg decides on time, space and source before its LIMIT, without a join.
A row is *live* while it is open on both clocks. Only live rows stand in the indexes that a question about now uses, so
history does not slow the present.
"""

from pgvector.sqlalchemy import HALFVEC, SPARSEVEC
from sqlalchemy import ARRAY, BigInteger, Boolean, Column, Identity, Index, Integer, Table, Text, Uuid

from app.storage.tables.base import both_clocks, instant, metadata, organisation, system_period

#: Dimensions of a sparse term vector: lexemes are hashed into 1 … DIMENSIONS.
DIMENSIONS = 1_000_000_000

#: No text, and read under no row policy: under one the array overlap would lose its index (it is not leakproof). The
#: tenant is part of every hashed key and of every statement that reads (`scope.py`). What is written has its policies.
postings = Table(
    "postings",
    metadata,
    organisation(),
    Column("chunk_id", Uuid, primary_key=True),
    Column("space_id", Uuid, nullable=False),
    Column("source_id", Uuid, nullable=False),
    Column("keys", ARRAY(BigInteger), nullable=False, comment="64-bit hashes of (space, lexeme)"),
    Column("terms", SPARSEVEC(DIMENSIONS), nullable=False, comment="saturated term weights of BM25"),
    *both_clocks(),
    Index(
        "postings_live_idx",
        "keys",
        postgresql_using="gin",
        postgresql_where="system_to IS NULL AND valid_to IS NULL",
        postgresql_with={"fastupdate": "off"},
    ),
    Index(
        "postings_ended_idx",
        "keys",
        postgresql_using="gin",
        postgresql_where="system_to IS NULL AND valid_to IS NOT NULL",
        postgresql_with={"fastupdate": "off"},
    ),
    Index(
        "postings_closed_idx",
        "keys",
        postgresql_using="gin",
        postgresql_where="system_to IS NOT NULL",
        postgresql_with={"fastupdate": "off"},
    ),
    Index(
        "postings_ending_idx",
        "source_id",
        "valid_to",
        postgresql_where="system_to IS NULL AND valid_to IS NOT NULL",
    ),
    Index(
        "postings_beginning_idx",
        "source_id",
        "valid_from",
        postgresql_where="system_to IS NULL AND valid_to IS NULL AND valid_from IS NOT NULL",
    ),
)

embeddings = Table(
    "embeddings",
    metadata,
    organisation(),
    Column("live", Boolean, primary_key=True, comment="open on both clocks"),
    Column("chunk_id", Uuid, primary_key=True),
    Column("model", Text, primary_key=True),
    Column("space_id", Uuid, nullable=False),
    Column("source_id", Uuid, nullable=False),
    Column("vector", HALFVEC, nullable=False, comment="unit length"),
    *both_clocks(),
    Index("embeddings_source_idx", "organisation_id", "source_id"),
    Index(
        "embeddings_ending_idx",
        "organisation_id",
        "source_id",
        "valid_to",
        postgresql_where="system_to IS NULL AND valid_to IS NOT NULL",
    ),
    postgresql_partition_by="LIST (live)",
)

lexeme_frequencies = Table(
    "lexeme_frequencies",
    metadata,
    organisation(),
    Column("key", BigInteger, primary_key=True),
    Column("source_id", Uuid, primary_key=True),
    instant("system_from", primary_key=True),
    *system_period()[1:],
    Column("space_id", Uuid, nullable=False),
    Column("frequency", Integer, nullable=False, comment="chunks of the source that hold the lexeme"),
    Index("lexeme_frequencies_space_idx", "organisation_id", "space_id", postgresql_where="system_to IS NULL"),
)

lexical_statistics = Table(
    "lexical_statistics",
    metadata,
    organisation(),
    Column("space_id", Uuid, primary_key=True),
    Column("source_id", Uuid, primary_key=True),
    instant("system_from", primary_key=True),
    *system_period()[1:],
    Column("chunk_count", Integer, nullable=False),
)

#: Chunks that wait for their embedding. Who claims a row has it for a while; the claim of a killed worker lapses.
embedding_queue = Table(
    "embedding_queue",
    metadata,
    organisation(),
    Column("chunk_id", Uuid, primary_key=True),
    Column("position", BigInteger, Identity(always=True), nullable=False),
    instant("claimed_until", nullable=True),
    Index("embedding_queue_position_idx", "organisation_id", "position"),
)
