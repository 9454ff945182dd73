"""The graph of contents: what code defines, calls and imports, and what pages link to. Written once a content."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import TextClause, text

from app.domain.code import ContentGraph
from app.storage.engine import WriteSession

_NEW = text(
    "INSERT INTO content_graphs (organisation_id, content_sha256, reader) "
    "SELECT :organisation, n.sha256, n.reader FROM unnest(CAST(:sha256 AS bytea[]), CAST(:readers AS text[])) "
    "AS n(sha256, reader) ORDER BY n.sha256 ON CONFLICT DO NOTHING RETURNING content_sha256"
)

_Columns = dict[str, str]


def _insert(table: str, columns: _Columns) -> TextClause:
    """All rows of all contents of a batch, in one statement."""
    typed = {"content_sha256": "bytea", "number": "integer", **columns}
    names = ", ".join(typed)
    arrays = ", ".join(f"CAST(:{name} AS {kind}[])" for name, kind in typed.items())
    return text(
        f"INSERT INTO {table} (organisation_id, {names}) SELECT :organisation, n.* FROM unnest({arrays}) AS n({names})"
    )


_DEFINITION = {
    "name": "text",
    "qualified_name": "text",
    "kind": "text",
    "start_offset": "integer",
    "end_offset": "integer",
    "is_test": "boolean",
}
_REFERENCE = {"name": "text", "qualifier": "text", "target": "text", "within": "integer", "start_offset": "integer"}
_IMPORT = {"local_name": "text", "module": "text", "name": "text", "start_offset": "integer"}
_LINK = {"target": "text"}

_DEFINITIONS = _insert("code_definitions", _DEFINITION)
_REFERENCES = _insert("code_references", _REFERENCE)
_IMPORTS = _insert("code_imports", _IMPORT)
_LINKS = _insert("document_links", _LINK)


async def store(session: WriteSession, graphs: Mapping[bytes, ContentGraph]) -> None:
    """Store the graphs of contents that have none yet; the others follow from the same bytes."""
    if not graphs:
        return
    fresh = await session.rows(
        _NEW,
        {
            "organisation": session.organisation,
            "sha256": list(graphs),
            "readers": [graph.reader for graph in graphs.values()],
        },
    )
    new = {bytes(row.content_sha256): graphs[bytes(row.content_sha256)] for row in fresh}
    code = {sha256: graph.code for sha256, graph in new.items() if graph.code is not None}
    await _rows(
        session,
        _DEFINITIONS,
        _DEFINITION,
        [
            (sha256, number, item.name, item.qualified_name, item.kind, item.start, item.end, item.is_test)
            for sha256, facts in code.items()
            for number, item in enumerate(facts.definitions)
        ],
    )
    await _rows(
        session,
        _REFERENCES,
        _REFERENCE,
        [
            (sha256, number, item.name, item.qualifier, item.target, item.within, item.offset)
            for sha256, facts in code.items()
            for number, item in enumerate(facts.references)
        ],
    )
    await _rows(
        session,
        _IMPORTS,
        _IMPORT,
        [
            (sha256, number, item.local, item.module, item.name, item.offset)
            for sha256, facts in code.items()
            for number, item in enumerate(facts.imports)
        ],
    )
    await _rows(
        session,
        _LINKS,
        _LINK,
        [(sha256, number, target) for sha256, graph in new.items() for number, target in enumerate(graph.links)],
    )


async def _rows(session: WriteSession, statement: TextClause, columns: _Columns, rows: list[tuple[Any, ...]]) -> None:
    if rows:
        names = ["content_sha256", "number", *columns]
        values = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
        await session.run(statement, {"organisation": session.organisation, **values})
