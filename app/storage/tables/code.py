"""What contents say of code and point at. All of it follows from the content alone, so it has no clock of its own: the
graph at a point of both clocks is that of the contents whose document versions are visible then."""

from sqlalchemy import Boolean, CheckConstraint, Column, Index, Integer, LargeBinary, Table, Text

from app.storage.tables.base import metadata, organisation


def _of_content() -> list[Column[bytes] | Column[int]]:
    return [
        Column("content_sha256", LargeBinary, primary_key=True),
        Column("number", Integer, primary_key=True, autoincrement=False, comment="in the order of the text, from 0"),
    ]


#: One row a content whose graph was read. What was stored before there were graphs has none until it is read again.
content_graphs = Table(
    "content_graphs",
    metadata,
    organisation(),
    Column("content_sha256", LargeBinary, primary_key=True),
    Column("reader", Text, nullable=False, comment="the language or markup it was read as"),
)

code_definitions = Table(
    "code_definitions",
    metadata,
    organisation(),
    *_of_content(),
    Column("name", Text, nullable=False),
    Column("qualified_name", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("start_offset", Integer, nullable=False, comment="code points into the content"),
    Column("end_offset", Integer, nullable=False),
    Column("is_test", Boolean, nullable=False, comment="named as a test; the file's name decides too"),
    Index("code_definitions_name_idx", "organisation_id", "name", "content_sha256"),
    CheckConstraint("kind IN ('function','method','class')", name="kind"),
)

code_references = Table(
    "code_references",
    metadata,
    organisation(),
    *_of_content(),
    Column("name", Text, nullable=False, comment="the callee's own name"),
    Column("qualifier", Text, comment="the name before the last dot; NULL for a plain name"),
    Column("target", Text, comment="the callee's path, where the file tells it"),
    Column("within", Integer, comment="number of the definition it stands in; NULL at module level"),
    Column("start_offset", Integer, nullable=False, comment="code points into the content"),
    Index("code_references_name_idx", "organisation_id", "name", "content_sha256"),
)

code_imports = Table(
    "code_imports",
    metadata,
    organisation(),
    *_of_content(),
    Column("local_name", Text, nullable=False),
    Column("module", Text, nullable=False),
    Column("name", Text, comment="NULL for the module itself, * for all its names"),
    Column("start_offset", Integer, nullable=False, comment="code points into the content"),
)

document_links = Table(
    "document_links",
    metadata,
    organisation(),
    *_of_content(),
    Column("target", Text, nullable=False, comment="as written"),
)
