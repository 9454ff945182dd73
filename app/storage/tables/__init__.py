"""Every table, one file a family. Importing this package fills `metadata`."""

from app.storage.tables.base import metadata
from app.storage.tables.code import (
    code_definitions,
    code_imports,
    code_references,
    content_graphs,
    document_links,
)
from app.storage.tables.credentials import api_keys, revoked_subjects, revoked_tokens
from app.storage.tables.delivered import delivered_items, delivered_progress, erased_items
from app.storage.tables.dlp import dlp_policies, reindex_queue
from app.storage.tables.documents import (
    chunks,
    contents,
    document_versions,
    documents,
    source_syncs,
    sources,
    texts,
)
from app.storage.tables.evidence import (
    attribution_queue,
    chain_verifications,
    evidence,
    response_links,
    verification_schedules,
)
from app.storage.tables.gateway import model_calls
from app.storage.tables.jobs import jobs, source_places
from app.storage.tables.lenses import active_spaces, lenses
from app.storage.tables.limits import rate_counts
from app.storage.tables.memory import (
    client_keys,
    groups,
    memberships,
    memories,
    memory_accesses,
    memory_embeddings,
    memory_proposals,
    memory_versions,
    subjects,
)
from app.storage.tables.merkle import checkpoints, merkle_nodes
from app.storage.tables.search import (
    DIMENSIONS,
    embedding_queue,
    embeddings,
    lexeme_frequencies,
    lexical_statistics,
    postings,
)
from app.storage.tables.tenancy import grants, level_weights, organisation_clocks, organisations, principals, spaces
from app.storage.tables.traces import retrieval_traces

__all__ = [
    "DIMENSIONS",
    "active_spaces",
    "api_keys",
    "attribution_queue",
    "chain_verifications",
    "checkpoints",
    "chunks",
    "client_keys",
    "code_definitions",
    "code_imports",
    "code_references",
    "content_graphs",
    "contents",
    "delivered_items",
    "delivered_progress",
    "dlp_policies",
    "document_links",
    "document_versions",
    "documents",
    "embedding_queue",
    "embeddings",
    "erased_items",
    "evidence",
    "grants",
    "groups",
    "jobs",
    "lenses",
    "level_weights",
    "lexeme_frequencies",
    "lexical_statistics",
    "memberships",
    "memories",
    "memory_accesses",
    "memory_embeddings",
    "memory_proposals",
    "memory_versions",
    "merkle_nodes",
    "metadata",
    "model_calls",
    "organisation_clocks",
    "organisations",
    "postings",
    "principals",
    "rate_counts",
    "reindex_queue",
    "response_links",
    "retrieval_traces",
    "revoked_subjects",
    "revoked_tokens",
    "source_places",
    "source_syncs",
    "sources",
    "spaces",
    "subjects",
    "texts",
    "verification_schedules",
]
