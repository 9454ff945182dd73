"""What a failure of the database means to a caller."""

import asyncio

from asyncpg import InterfaceError, PostgresError
from sqlalchemy.exc import DBAPIError

from app.domain.errors import Code, MunimentError


def no_vector() -> MunimentError:
    return MunimentError(Code.SEARCH_UNAVAILABLE, "the database lacks the extension that searches vectors")


#: A plan, column, type, function or table that was there when the code was written, or when a plan was made.
_UNKNOWN = {"0A000", "42703", "42704", "42883", "42P01", "XX000"}


def _sqlstate(error: BaseException) -> str:
    if isinstance(error, DBAPIError):
        return str(getattr(error.orig, "sqlstate", "") or "")
    return str(error.sqlstate or "") if isinstance(error, PostgresError) else ""


def unknown(error: BaseException) -> bool:
    """Whether the database lacks something that a statement names."""
    return _sqlstate(error) in _UNKNOWN


def unreachable(error: BaseException) -> bool:
    """Whether the connection was lost or refused, as opposed to a statement that failed."""
    if isinstance(error, DBAPIError):
        if error.connection_invalidated:
            return True
        return _sqlstate(error).startswith(("08", "57P")) or isinstance(
            getattr(error.orig, "__cause__", None), OSError | asyncio.TimeoutError
        )
    if isinstance(error, PostgresError):
        return _sqlstate(error).startswith(("08", "57P"))
    return isinstance(error, OSError) or (isinstance(error, InterfaceError) and "closed" in str(error))
