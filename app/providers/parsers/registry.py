"""Which parser reads a file, by its name; and how its bytes become text."""

import codecs
import re
from collections.abc import Callable
from dataclasses import replace

from app.providers.parsers import encodings, pdf, word, workbook
from app.providers.parsers.blocks import Parsed, Unsupported
from app.providers.parsers.delimited import parse_delimited
from app.providers.parsers.html import parse_html
from app.providers.parsers.markdown import parse_markdown
from app.providers.parsers.plain import parse_plain
from app.providers.parsers.python import parse_python
from app.providers.parsers.records import parse_records
from app.providers.parsers.sandbox import SHARED
from app.providers.parsers.source import parse_source

#: In bytes. Documents carry pictures and fonts, texts do not.
MAX_TEXT_BYTES, MAX_DOCUMENT_BYTES = 5 * 1024 * 1024, 64 * 1024 * 1024
#: A text above this is parsed in a process of its own: what hangs on it can be ended.
_LARGE = 1024 * 1024

_MARKDOWN = frozenset({".md", ".markdown"})
_HTML = frozenset({".html", ".htm", ".xhtml"})
_PYTHON = frozenset({".py", ".pyi"})
_DELIMITED = frozenset({".csv", ".tsv"})
_RECORDS = frozenset({".jsonl", ".ndjson"})
#: What is no text: read by libraries that are handed the bytes, in a process of their own.
_DOCUMENTS: dict[str, Callable[[bytes], Parsed]] = {
    ".pdf": pdf.parse_pdf,
    ".docx": word.parse_word,
    ".docm": word.parse_word,
    ".xlsx": workbook.parse_workbook,
    ".xlsm": workbook.parse_workbook,
}
#: Text read without structure: its media type and, for source code, its language.
_PLAIN: dict[str, tuple[str, str | None]] = {
    ".txt": ("text/plain", None),
    ".text": ("text/plain", None),
    ".rst": ("text/x-rst", None),
    ".adoc": ("text/asciidoc", None),
    ".tex": ("text/x-tex", None),
    ".log": ("text/plain", None),
    ".csv": ("text/csv", None),
    ".tsv": ("text/tab-separated-values", None),
    ".json": ("application/json", "json"),
    ".jsonl": ("application/jsonl", None),
    ".ndjson": ("application/jsonl", None),
    ".toml": ("application/toml", "toml"),
    ".yaml": ("application/yaml", "yaml"),
    ".yml": ("application/yaml", "yaml"),
    ".cfg": ("text/plain", "ini"),
    ".ini": ("text/plain", "ini"),
    ".conf": ("text/plain", "ini"),
    ".xml": ("application/xml", "xml"),
    ".sh": ("text/x-shellscript", "shell"),
    ".bash": ("text/x-shellscript", "shell"),
    ".ts": ("text/x-typescript", "typescript"),
    ".tsx": ("text/x-typescript", "typescript"),
    ".mts": ("text/x-typescript", "typescript"),
    ".cts": ("text/x-typescript", "typescript"),
    ".js": ("text/javascript", "javascript"),
    ".jsx": ("text/javascript", "javascript"),
    ".mjs": ("text/javascript", "javascript"),
    ".cjs": ("text/javascript", "javascript"),
    ".css": ("text/css", "css"),
    ".sql": ("application/sql", "sql"),
    ".graphql": ("application/graphql", "graphql"),
    ".go": ("text/x-go", "go"),
    ".rs": ("text/x-rust", "rust"),
    ".java": ("text/x-java", "java"),
    ".kt": ("text/x-kotlin", "kotlin"),
    ".c": ("text/x-c", "c"),
    ".h": ("text/x-c", "c"),
    ".cc": ("text/x-c++", "c++"),
    ".cpp": ("text/x-c++", "c++"),
    ".hpp": ("text/x-c++", "c++"),
    ".cs": ("text/x-csharp", "c#"),
    ".rb": ("text/x-ruby", "ruby"),
    ".php": ("text/x-php", "php"),
    ".proto": ("text/x-protobuf", "protobuf"),
    ".mako": ("text/plain", "mako"),
    ".mk": ("text/x-makefile", "make"),
}
_NAMES: dict[str, tuple[str, str | None]] = {
    "makefile": ("text/x-makefile", "make"),
    "dockerfile": ("text/x-dockerfile", "docker"),
} | dict.fromkeys(
    (
        "license",
        "licence",
        "notice",
        "readme",
        "authors",
        "contributors",
        "copying",
        "changelog",
        "changes",
        "codeowners",
    ),
    ("text/plain", None),
)

_SIGNATURES = (b"\x89PNG", b"GIF8", b"\xff\xd8\xff", b"PK\x03\x04", b"PK\x05\x06", b"%PDF-", b"\x1f\x8b", b"\x7fELF")
_CONTROLS = re.compile(rb"[\x01-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_SAMPLE = 8192
_SURROGATE = re.compile("[\ud800-\udfff]")
# Four bytes first: the mark of UTF-32 LE begins with that of UTF-16 LE.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def _suffix(name: str) -> str:
    """As `PurePath.suffix`, in lower case; asked several times a document, so without making a path."""
    last = name.rpartition("/")[2].lower()
    dot = last.rfind(".")
    return last[dot:] if 0 < dot < len(last) - 1 else ""


def _plain(name: str) -> tuple[str, str | None] | None:
    return _PLAIN.get(_suffix(name)) or _NAMES.get(name.rpartition("/")[2].lower())


def supported(name: str) -> bool:
    """Whether a file of this name or path is one that `parse` reads."""
    suffix = _suffix(name)
    return suffix in _MARKDOWN | _HTML | _PYTHON or suffix in _DOCUMENTS or _plain(name) is not None


def largest(name: str) -> int:
    """How many bytes a file of this name may have."""
    return MAX_DOCUMENT_BYTES if _suffix(name) in _DOCUMENTS else MAX_TEXT_BYTES


def clean(text: str) -> tuple[str, tuple[str, ...]]:
    """`text` without NUL and with U+FFFD for each lone surrogate (PostgreSQL stores neither), and what was done."""
    problems = []
    if nuls := text.count("\0"):
        text = text.replace("\0", "")
        problems.append(f"NUL characters removed: {nuls}.")
    text, surrogates = _SURROGATE.subn("\ufffd", text)
    if surrogates:
        problems.append(f"Lone surrogates replaced: {surrogates}.")
    return text, tuple(problems)


def _characters(data: bytes) -> tuple[str, str | None]:
    """The decoded text and, where it is not what the bytes say for certain, a problem."""
    mark, encoding = next((found for found in _MARKS if data.startswith(found[0])), (b"", "utf-8"))
    body = data[len(mark) :]
    try:
        text = body.decode(encoding, "surrogatepass")
        wide = encodings.utf16_without_mark(body) if not mark and "\0" in text else None
        return (text, None) if wide is None else (body.decode(wide), f"Not UTF-8; read as {encodings.shown(wide)}.")
    except UnicodeDecodeError:
        repaired = body.decode(encoding, "replace")
    broken = repaired.count("\ufffd")
    foreign = len(repaired) - len(repaired.encode("ascii", "ignore")) - broken
    # A few bad bytes among many good sequences are damage; text of another encoding has hardly a good one.
    if mark or foreign > broken:
        return repaired, f"Bytes that are not {encoding.upper()} replaced: {broken}."
    told = encodings.utf16_without_mark(data) or encodings.declared(data) or encodings.guess(data)
    return data.decode(told), f"Not UTF-8; read as {encodings.shown(told)}."


def decode(data: bytes) -> tuple[str, tuple[str, ...]]:
    """Text that can be stored, line ends as they were, and the problems met.

    What a byte order mark says (the mark is dropped); else UTF-8; else what the text declares, or the encoding that its
    letters speak for.
    """
    text, problem = _characters(data)
    text, repairs = clean(text)
    return text, ((problem, *repairs) if problem else repairs)


def _is_binary(data: bytes) -> bool:
    # NUL is no sign: a text that holds some is cleaned, and UTF-16 is full of them.
    sample = data[:_SAMPLE]
    return data.startswith(_SIGNATURES) or 10 * len(_CONTROLS.findall(sample)) > 3 * len(sample)


def parse_text(name: str, text: str) -> Parsed:
    """A text that is a text for certain, read as its name says; what has no parser of its own is plain."""
    suffix = _suffix(name)
    if suffix in _MARKDOWN:
        return parse_markdown(text)
    if suffix in _HTML:
        return parse_html(text)
    if suffix in _PYTHON:
        return parse_python(text)
    mime, language = _plain(name) or ("text/plain", None)
    if suffix in _DELIMITED:
        return parse_delimited(text, mime)
    if suffix in _RECORDS:
        return parse_records(text)
    if language is not None:
        return parse_source(name, text, mime, language)
    return parse_plain(text, mime)


def read(name: str, data: bytes) -> Parsed:
    """`parse` in this process, whatever the bytes do to it."""
    document = _DOCUMENTS.get(_suffix(name))
    if document is not None:
        parsed = document(data)
        text, problems = clean(parsed.text)
        # The libraries give no such characters; were they taken out here, no offset would hold.
        return parsed if text == parsed.text else replace(parse_plain(text, parsed.mime), problems=problems)
    if _is_binary(data):
        raise Unsupported("binary data, not text.")
    text, problems = decode(data)
    parsed = parse_text(name, text)
    return replace(parsed, problems=(*problems, *parsed.problems)) if problems else parsed


def parse(name: str, data: bytes) -> Parsed:
    """The document in `data`, read as its file name or path says; raises `Unsupported`."""
    if not supported(name):
        raise Unsupported(f"{name}: no parser reads this kind of file.")
    if len(data) > largest(name):
        raise Unsupported(f"{name}: It has {len(data)} bytes; the limit is {largest(name)}.")
    apart = len(data) > _LARGE or _suffix(name) in _DOCUMENTS
    try:
        return SHARED.parse(name, data) if apart else read(name, data)
    except Unsupported as error:
        raise Unsupported(f"{name}: {error}") from error
