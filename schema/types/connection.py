"""Relay connections: pages of a stored collection, by opaque cursor."""

import base64
import binascii
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

import strawberry

from app.domain.errors import MunimentError, bad_input

T = TypeVar("T")
R = TypeVar("R")

MAX_PAGE = 100
#: Items of a page whose size is not asked for.
DEFAULT_PAGE = 20


@strawberry.type(description="Where a page lies in its collection.")
class PageInfo:
    has_next_page: bool = strawberry.field(description="Whether more follows after `endCursor`.")
    has_previous_page: bool = strawberry.field(description="Whether something comes before `startCursor`.")
    start_cursor: str | None = strawberry.field(description="Cursor of the first edge.")
    end_cursor: str | None = strawberry.field(description="Cursor of the last edge.")


@strawberry.type(description="One item of a page, with its cursor.")
class Edge(Generic[T]):
    cursor: str = strawberry.field(description="Give it as `after` to go on behind this item.")
    node: T = strawberry.field(description="The item.")


@strawberry.type(description="One page of a collection.")
class Connection(Generic[T]):
    edges: list[Edge[T]] = strawberry.field(description="The items of this page.")
    page_info: PageInfo = strawberry.field(description="Where this page lies.")


def page_size(first: int | None) -> int:
    """The number of items to serve; BAD_USER_INPUT when negative."""
    if first is None:
        return DEFAULT_PAGE
    if first < 0:
        raise bad_input("must not be negative", "first")
    return min(first, MAX_PAGE)


def encode_cursor(collection: str, position: str) -> str:
    return base64.urlsafe_b64encode(f"{collection}:{position}".encode()).decode()


def decode_cursor(collection: str, cursor: str | None) -> str | None:
    """The position behind a cursor of this collection; BAD_USER_INPUT for anything else."""
    if cursor is None:
        return None
    try:
        prefix, _, position = base64.b64decode(cursor.encode(), altchars=b"-_", validate=True).decode().partition(":")
    except (binascii.Error, UnicodeError):
        raise bad_cursor() from None
    if prefix != collection or not position or "\x00" in position:
        raise bad_cursor()
    return position


def bad_cursor() -> MunimentError:
    return bad_input("not a cursor of this collection", "after")


def connect(
    collection: str,
    rows: Sequence[R],
    size: int,
    after: str | None,
    *,
    node: Callable[[R], T],
    position: Callable[[R], str],
) -> Connection[T]:
    """A page from up to `size + 1` rows: the one too many only says that more follows."""
    edges = [Edge(cursor=encode_cursor(collection, position(row)), node=node(row)) for row in rows[:size]]
    return Connection(
        edges=edges,
        page_info=PageInfo(
            has_next_page=len(rows) > size,
            has_previous_page=after is not None,
            start_cursor=edges[0].cursor if edges else None,
            end_cursor=edges[-1].cursor if edges else None,
        ),
    )
