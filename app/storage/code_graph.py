"""The graph of code around some chunks, as of a point of both clocks: what they hold, what that may mean and what may
mean them. Which candidate a call means is the domain's to say."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from uuid import UUID

from sqlalchemy import TextClause, text

from app.storage.engine import Session
from app.storage.scope import Scope, closed, ended, live, tenant, visible

#: Definitions of one name in one source that are looked at, and calls of one name: tests apart from others. What has
#: more of its name than this is told apart by nothing but the path that its callers import.
MAX_DEFINITIONS = 60
MAX_CALLS = 100


@dataclass(frozen=True, slots=True)
class Definition:
    """A definition in a document that holds at the scope; `chunk` where it was asked for as a part of one."""

    chunk: UUID | None
    source_id: UUID
    document_id: UUID
    external_id: str
    name: str
    qualified_name: str
    kind: str
    start: int
    end: int
    is_test: bool


@dataclass(frozen=True, slots=True)
class Call:
    """A call in a document that holds at the scope: inside `chunk`, or else anywhere of something of this name.
    `within` is the definition that it stands in, None at module level."""

    chunk: UUID | None
    source_id: UUID
    document_id: UUID
    external_id: str
    name: str
    qualifier: str | None
    target: str | None
    offset: int
    within: Definition | None


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Around some chunks: the definitions that overlap with them, the calls from there to the end of their functions,
    all definitions that have one of these names in the chunk's source, and the calls of what the chunks define."""

    held: tuple[Definition, ...]
    inside: tuple[Call, ...]
    definitions: tuple[Definition, ...]
    towards: tuple[Call, ...]


def _holders(content: str, source: str, present: bool) -> str:
    """The documents of a source that have a content at the scope. By their content: there is no index condition in the
    source, which may have many more. A content has few versions, so one look at all that are believed is enough."""
    parts = [visible("v", True)] if present else [live("v", False), ended("v", False), closed("v")]
    return " UNION ALL ".join(
        "SELECT v.document_id, v.external_id FROM document_versions v "
        f"WHERE v.content_sha256 = {content} AND v.source_id IS NOT DISTINCT FROM {source} AND {part}"
        for part in parts
    )


@cache
def _surroundings(present: bool) -> TextClause:
    return text(
        f"""
        WITH hit AS MATERIALIZED (
            SELECT c.id, c.source_id, c.document_id, v.external_id, c.content_sha256, c.start_offset, c.end_offset
            FROM chunks c CROSS JOIN LATERAL (SELECT v.external_id FROM document_versions v
                WHERE v.document_id = c.document_id AND {visible("v", present)}
                ORDER BY v.valid_from DESC NULLS LAST LIMIT 1) v
            WHERE c.id = ANY(CAST(:chunks AS uuid[])) AND {visible("c", present)}
        ), held AS MATERIALIZED (
            SELECT h.id AS chunk_id, h.source_id, h.document_id, h.external_id, d.name, d.qualified_name, d.kind,
                d.start_offset, d.end_offset, d.is_test
            FROM hit h JOIN code_definitions d ON {tenant("d")} AND d.content_sha256 = h.content_sha256
            WHERE d.start_offset < h.end_offset AND d.end_offset > h.start_offset
                AND (d.start_offset >= h.start_offset OR d.kind <> 'class')
        ), inside AS MATERIALIZED (
            SELECT h.id AS chunk_id, h.source_id, h.document_id, h.external_id, r.name, r.qualifier, r.target,
                r.start_offset
            FROM hit h JOIN code_references r ON {tenant("r")} AND r.content_sha256 = h.content_sha256
            WHERE r.start_offset >= h.start_offset AND r.start_offset < greatest(h.end_offset,
                (SELECT max(d.end_offset) FROM held d WHERE d.chunk_id = h.id AND d.kind <> 'class'))
        ), named AS MATERIALIZED (
            SELECT source_id, name FROM held UNION SELECT source_id, name FROM inside
        ), candidate AS (
            SELECT n.source_id, v.document_id, v.external_id, d.name, d.qualified_name, d.kind, d.start_offset,
                d.end_offset, d.is_test,
                row_number() OVER (PARTITION BY n.source_id, n.name ORDER BY v.external_id, d.number) AS place
            FROM named n JOIN code_definitions d ON {tenant("d")} AND d.name = n.name
            CROSS JOIN LATERAL ({_holders("d.content_sha256", "n.source_id", present)}) v
        ), towards AS (
            SELECT n.source_id, v.document_id, v.external_id, r.name, r.qualifier, r.target, r.start_offset,
                e.name AS within_name, e.qualified_name AS within, e.kind, e.start_offset AS within_start,
                e.end_offset AS within_end, e.is_test,
                row_number() OVER (PARTITION BY n.source_id, n.name, coalesce(e.is_test, false)
                    ORDER BY r.target IS NULL, v.external_id, r.number) AS place
            FROM (SELECT DISTINCT source_id, name FROM held) n
            JOIN code_references r ON {tenant("r")} AND r.name = n.name
            CROSS JOIN LATERAL ({_holders("r.content_sha256", "n.source_id", present)}) v
            LEFT JOIN code_definitions e
                ON {tenant("e")} AND e.content_sha256 = r.content_sha256 AND e.number = r.within
        )
        SELECT 'held', chunk_id, source_id, document_id, external_id, name, NULL, NULL, NULL, NULL, qualified_name,
            kind, start_offset, end_offset, is_test FROM held
        UNION ALL SELECT 'inside', chunk_id, source_id, document_id, external_id, name, qualifier, target,
            start_offset, NULL, NULL, NULL, NULL, NULL, NULL FROM inside
        UNION ALL SELECT 'candidate', NULL, source_id, document_id, external_id, name, NULL, NULL, NULL, NULL,
            qualified_name, kind, start_offset, end_offset, is_test FROM candidate WHERE place <= {MAX_DEFINITIONS}
        UNION ALL SELECT 'towards', NULL, source_id, document_id, external_id, name, qualifier, target, start_offset,
            within_name, within, kind, within_start, within_end, is_test FROM towards WHERE place <= {MAX_CALLS}
        """
    )


async def surroundings(session: Session, scope: Scope, chunks: Sequence[UUID]) -> Surroundings:
    """Everything that the relations of `chunks` follow from, in one statement and in no particular order."""
    definitions: dict[str, list[Definition]] = {"held": [], "candidate": []}
    calls: dict[str, list[Call]] = {"inside": [], "towards": []}
    for row in await session.fetch(_surroundings(scope.present), {**scope.parameters, "chunks": list(chunks)}):
        role, chunk, source, document, path, name, qualifier, target, offset, within, *rest = row
        if role in definitions:
            definitions[role].append(Definition(chunk, source, document, path, name, *rest))
        else:
            around = None if within is None else Definition(None, source, document, path, within, *rest)
            calls[role].append(Call(chunk, source, document, path, name, qualifier, target, offset, around))
    return Surroundings(
        tuple(definitions["held"]), tuple(calls["inside"]), tuple(definitions["candidate"]), tuple(calls["towards"])
    )


@dataclass(frozen=True, slots=True)
class Wanted:
    """A place to find the chunk of: where the definition begins, or with `qualified_name` None where something of
    this name is called at module level."""

    document_id: UUID
    name: str
    qualified_name: str | None


@dataclass(frozen=True, slots=True)
class Found:
    """The chunk of a wanted place, by the place's position among those asked for."""

    position: int
    organisation: UUID
    chunk_id: UUID
    document_id: UUID
    source_id: UUID
    space_id: UUID
    text_sha256: bytes
    index_version: int


@cache
def _places(present: bool) -> TextClause:
    # A chunk's offsets are those of the content that it was cut from, which an older version may have had: the place
    # is looked for by its name, in that content.
    parts = [live("c", present), ended("c", present), *([] if present else [closed("c")])]
    of_document = " UNION ALL ".join(
        f"SELECT c.* FROM chunks c WHERE c.document_id = n.document_id AND {part}" for part in parts
    )
    return text(
        f"""
        SELECT DISTINCT ON (n.position) n.position, c.organisation_id, c.id, c.document_id, c.source_id, c.space_id,
            c.text_sha256, c.index_version
        FROM unnest(CAST(:positions AS integer[]), CAST(:documents AS uuid[]), CAST(:names AS text[]),
            CAST(:qualified AS text[])) AS n(position, document_id, name, qualified_name)
        CROSS JOIN LATERAL ({of_document}) c
        WHERE CASE WHEN n.qualified_name IS NULL THEN EXISTS (SELECT FROM code_references r
            WHERE {tenant("r")} AND r.name = n.name AND r.content_sha256 = c.content_sha256 AND r.within IS NULL
                AND r.start_offset >= c.start_offset AND r.start_offset < c.end_offset)
        ELSE EXISTS (SELECT FROM code_definitions d
            WHERE {tenant("d")} AND d.name = n.name AND d.content_sha256 = c.content_sha256
                AND d.qualified_name = n.qualified_name
                AND d.start_offset >= c.start_offset AND d.start_offset < c.end_offset) END
        ORDER BY n.position, c.ordinal, c.id
        """
    )


async def places(session: Session, scope: Scope, wanted: Sequence[Wanted]) -> list[Found]:
    """The chunks that hold these places at the scope, in one statement."""
    rows = await session.fetch(
        _places(scope.present),
        {
            **scope.parameters,
            "positions": list(range(len(wanted))),
            "documents": [item.document_id for item in wanted],
            "names": [item.name for item in wanted],
            "qualified": [item.qualified_name for item in wanted],
        },
    )
    return [Found(*row) for row in rows]
