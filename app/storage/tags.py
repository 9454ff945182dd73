"""Documents by their tags: a leg keeps only chunks of documents whose version at the scope carries one of them.

Chunks, postings and embeddings carry no tags, and a slice outlives the version it came with: the version that holds at
the scope decides. A statement that filters begins with `with_tagged` and adds `tagged` or `tagged_all` to each of its
branches.
"""

from app.domain.lens import TagSets
from app.storage.scope import believed_now, tenant, visible

#: A request and its lens: more sets than these there are not.
MOST_SETS = 2


def parameters(tags: TagSets) -> dict[str, list[str] | None]:
    """What the fragments bind besides the scope and `:sources`; nothing without a filter."""
    if len(tags) > MOST_SETS:
        raise ValueError(f"at most {MOST_SETS} sets of tags")
    return {"tags": list(tags[0]), "lens_tags": list(tags[1]) if len(tags) > 1 else None} if tags else {}


def carries(alias: str) -> str:
    """A version that a filter admits."""
    return (
        f"{alias}.tags && CAST(:tags AS text[]) "
        f"AND (CAST(:lens_tags AS text[]) IS NULL OR {alias}.tags && CAST(:lens_tags AS text[]))"
    )


def with_tagged(present: bool) -> str:
    """`WITH tagged …`: the documents of `:sources` that a filter admits, read once for all branches."""
    # Versions have an index by source for today's belief only; the identities have one for every point.
    chosen = (
        "v.source_id = ANY(CAST(:sources AS uuid[]))"
        if present
        else "v.document_id IN (SELECT d.id FROM documents d "
        f"WHERE {tenant('d')} AND d.source_id = ANY(CAST(:sources AS uuid[])))"
    )
    return (
        f"WITH tagged AS MATERIALIZED (SELECT v.document_id FROM document_versions v WHERE {chosen} "
        f"AND {visible('v', present)} AND {carries('v')})"
    )


# A CASE keeps the planner from joining: it knows little of tags, and a loop where it should hash is quadratic. So each
# row is looked up in a hash of what the filter admits.
def tagged(alias: str) -> str:
    """`AND …` for rows with a `chunk_id`, which the row's own predicates have already put on both clocks."""
    return (
        f" AND CASE WHEN (SELECT c.document_id FROM chunks c WHERE {tenant('c')} AND c.id = {alias}.chunk_id) "
        "IN (SELECT t.document_id FROM tagged t) THEN true END"
    )


def tagged_all(alias: str, present: bool) -> str:
    """The same for a leg that looks at every row of its sources: it does not ask for the chunk of each, but hashes the
    chunks of the documents that are admitted. Those that are closed have no index by document."""
    if not present:
        return tagged(alias)
    return (
        f" AND CASE WHEN {alias}.chunk_id IN (SELECT c.id FROM tagged t JOIN chunks c ON {believed_now('c')} "
        "AND c.document_id = t.document_id) THEN true END"
    )
