"""Reading a stored record whose shape nobody vouches for: a hand in the database may have changed it.

What cannot be read counts as not there: a check of the chain tells of it, and nothing else has to stop for it.
"""

from collections.abc import Iterator, Mapping
from typing import Any
from uuid import UUID

from app.domain.principal import parse_id


def items(record: Mapping[str, Any], name: str) -> Iterator[Mapping[str, Any]]:
    """The objects of a list."""
    found = record.get(name)
    return (item for item in (found if isinstance(found, list) else ()) if isinstance(item, dict))


def texts(record: Mapping[str, Any], name: str) -> Iterator[str]:
    """The texts of a list."""
    found = record.get(name)
    return (item for item in (found if isinstance(found, list) else ()) if isinstance(item, str))


def id_of(record: Mapping[str, Any], name: str) -> UUID | None:
    """The id of that name."""
    found = record.get(name)
    return parse_id(found) if isinstance(found, str) else None
