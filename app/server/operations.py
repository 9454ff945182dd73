"""Operations that are known beforehand: a client names one by the SHA-256 of its text instead of sending it."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from app.domain.errors import Code, MunimentError, bad_input

_PREFIX = "sha256:"


@dataclass(frozen=True, slots=True)
class Operations:
    """Documents by id. `only`: nothing else is let in."""

    documents: Mapping[str, str]
    only: bool = False

    @classmethod
    def load(cls, path: Path | None, only: bool = False) -> Self:
        """From a folder of `.graphql` files, or a JSON file of texts by id, as client compilers write it."""
        if path is None:
            return cls({}, only)
        documents: dict[str, str] = {}
        for id, text in _read(path):
            documents[id] = documents[sha256(text)] = text
        return cls(documents, only)

    def document(self, request: Mapping[str, Any]) -> str | None:
        """The document that a request means: the one that it names, else its own `query`; None when it has neither.

        PERSISTED_QUERY_NOT_FOUND for an unknown id, BAD_USER_INPUT when text and id differ, or where only operations
        that are known are served."""
        query, id = request.get("query"), _named(request)
        if id is not None:
            known = self.documents.get(id)
            if not query:
                if known is None:
                    # The sentence is the one that clients of this protocol look for.
                    raise MunimentError(Code.PERSISTED_QUERY_NOT_FOUND, "PersistedQueryNotFound")
                return known
            if not isinstance(query, str) or (query != known and id != sha256(query)):
                raise bad_input("the id is not that of the query", "query")
        if query is not None and not isinstance(query, str):
            raise bad_input("must be a text", "query")
        if self.only and query and sha256(query) not in self.documents:
            raise bad_input("only persisted operations are served here", "query")
        return query or None


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _named(request: Mapping[str, Any]) -> str | None:
    """`documentId`, or `extensions.persistedQuery.sha256Hash`."""
    id = request.get("documentId")
    if id is None:
        extensions = request.get("extensions")
        persisted = extensions.get("persistedQuery") if isinstance(extensions, Mapping) else None
        if persisted is None:
            return None
        if not isinstance(persisted, Mapping) or persisted.get("version") != 1:
            raise bad_input("persistedQuery needs version 1", "extensions")
        id = persisted.get("sha256Hash")
    if not isinstance(id, str) or not 0 < len(id) <= 256:
        raise bad_input("must be the id of a document", "documentId")
    return id.removeprefix(_PREFIX)


def _read(path: Path) -> Iterator[tuple[str, str]]:
    """Ids with texts; `ValueError` for what is neither."""
    if path.is_dir():
        for file in sorted(path.rglob("*.graphql")):
            text = file.read_text(encoding="utf-8")
            yield sha256(text), text
            yield sha256(text.strip()), text.strip()
        return
    found = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(found, dict) or not all(isinstance(text, str) for text in found.values()):
        raise ValueError(f"{path} must hold one JSON object of documents by id")
    for id, text in found.items():
        yield id.removeprefix(_PREFIX), text
