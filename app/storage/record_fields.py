"""What a stored record says of itself. The database computes the array `fields` from the payload, so that what a
record is looked up by cannot say anything else than the bytes that are hashed; one array, so that they are parsed once
a row."""

from typing import Final

#: Columns as the readers of records name them: place in `fields`, and type where it is not text.
_PLACES: Final = {
    "id": (1, "uuid"),
    "category": (2, ""),
    "request_id": (3, ""),
    "attribution_id": (4, "uuid"),
    "user_id": (5, "uuid"),
    "space_id": (6, "uuid"),
    "subject_pseudonym": (7, ""),
    "client_id": (8, ""),
    "issued_at": (9, ""),
}


def field(name: str, alias: str = "") -> str:
    """The expression of one field; the same text as its index has."""
    _, type_ = _PLACES[name]
    return f"({raw(name, alias)}::{type_})" if type_ else raw(name, alias)


def raw(name: str, alias: str = "") -> str:
    """The same as text. Under row security only this is looked up by an index: a cast may fail, and so tell something
    of rows that are somebody else's. Instants are written so that they sort as text, in every collation."""
    place, _ = _PLACES[name]
    return f"({alias}.fields)[{place}]" if alias else f"(fields[{place}])"


def columns(alias: str, *names: str) -> str:
    """Fields of a record as columns of their names."""
    return ", ".join(f"{field(name, alias)} AS {name}" for name in names)
