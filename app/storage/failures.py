"""What a failure of the database means to a caller."""

from collections.abc import Mapping
from typing import Final

from asyncpg import InterfaceError, PostgresError
from sqlalchemy.exc import DBAPIError

from app.domain.errors import Code, MunimentError

#: Milliseconds after which trying again has a chance: where others are done with a connection, and where a database
#: starts again or is given room.
SOON, LATER = 500, 2_000


def unavailable(message: str, retry_after_ms: int = SOON) -> MunimentError:
    return MunimentError(Code.SEARCH_UNAVAILABLE, message, retry_after_ms=retry_after_ms)


def busy() -> MunimentError:
    return unavailable("every database connection is in use")


def no_vector() -> MunimentError:
    return MunimentError(Code.SEARCH_UNAVAILABLE, "the database lacks the extension that searches vectors")


#: A plan, column, type, function or table that was there when the code was written, or when a plan was made.
_UNKNOWN = {"0A000", "42703", "42704", "42883", "42P01", "XX000"}

#: Classes of SQLSTATE, and single ones, that say that the database cannot do now what it can do otherwise.
#: https://www.postgresql.org/docs/current/errcodes-appendix.html
_PASSING: Final[Mapping[str, tuple[str, int]]] = {
    "25006": ("the database takes no writes now", LATER),
    "25P03": ("the transaction was left open for too long", SOON),
    "40": ("another write was in the way", SOON),
    "53300": ("the database has no connection left", LATER),
    "53": ("the database has no room left", LATER),
    "55P03": ("another write was in the way", SOON),
    "57014": ("the database took too long", SOON),
    "58": ("the database cannot use its disk", LATER),
}


def _sqlstate(error: BaseException) -> str:
    if isinstance(error, DBAPIError):
        return str(getattr(error.orig, "sqlstate", "") or "")
    return str(error.sqlstate or "") if isinstance(error, PostgresError) else ""


def unknown(error: BaseException) -> bool:
    """Whether the database lacks something that a statement names."""
    return _sqlstate(error) in _UNKNOWN


def orphaned(error: BaseException) -> bool:
    """Whether what a row belongs to is gone, or went since the snapshot in which it is written."""
    return _sqlstate(error) in ("23503", "40001")


def passing(error: BaseException) -> MunimentError | None:
    """The coded form of a failure that has nothing to do with what was asked for; None for any other."""
    if unreachable(error):
        return unavailable("the database cannot be reached", LATER)
    state = _sqlstate(error)
    found = _PASSING.get(state) or _PASSING.get(state[:2])
    return unavailable(*found) if found else None


def unreachable(error: BaseException) -> bool:
    """Whether the connection was lost or refused, as opposed to a statement that failed."""
    if isinstance(error, DBAPIError):
        if error.connection_invalidated:
            return True
        return _is_lost(_sqlstate(error)) or isinstance(getattr(error.orig, "__cause__", None), OSError | TimeoutError)
    if isinstance(error, PostgresError):
        return _is_lost(_sqlstate(error))
    return isinstance(error, OSError) or (isinstance(error, InterfaceError) and "closed" in str(error))


def _is_lost(sqlstate: str) -> bool:
    return sqlstate.startswith(("08", "57P"))
