"""Connections: how many there are, how long one is waited for, and what a pooler in between allows."""

from contextlib import AsyncExitStack
from typing import Any, Final
from uuid import uuid4

from asyncpg import Connection
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.pool import AsyncAdaptedQueuePool

from app.storage.failures import busy

#: Seconds until the database must have let us in.
CONNECT_SECONDS: Final = 5.0
#: Who may wait for a connection, for each that there is. A retrieval holds one for some milliseconds, so whoever comes
#: later than that would only wait to be refused.
WAITING_EACH: Final = 16
#: Seconds beyond the server's own limit after which a statement is given up on here: a server that stands still does
#: not keep its limits.
STANDSTILL_SECONDS: Final = 5.0


class _Shared(Connection):  # type: ignore[misc]
    """A connection whose server is another one in each transaction: the names that others gave there are not ours."""

    __slots__ = ()

    def _get_unique_id(self, prefix: str) -> str:
        return f"muniment_{prefix}_{uuid4().hex}"


def _unnamed() -> str:
    return ""


def connect(url: str, size: int, wait_seconds: float, statement_ms: int, pooled: bool) -> AsyncEngine:
    """`statement_ms`: what a statement may take, 0 for any time. `pooled`: a pooler stands in between, which gives a
    server for one transaction; nothing may then be prepared for a later one."""
    arguments: dict[str, Any] = {"timeout": CONNECT_SECONDS}
    if statement_ms:
        arguments["command_timeout"] = statement_ms / 1000 + STANDSTILL_SECONDS
    if pooled:
        arguments |= {
            "statement_cache_size": 0,
            "prepared_statement_cache_size": 0,
            "prepared_statement_name_func": _unnamed,
            "connection_class": _Shared,
        }
    return create_async_engine(
        url,
        pool_size=size,
        max_overflow=0,
        pool_timeout=wait_seconds,
        pool_pre_ping=False,
        # The backend that was used last has its plans and caches warm.
        pool_use_lifo=True,
        connect_args=arguments,
    )


class Queue:
    """Who waits for a connection of an engine, bounded in number and in time."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine
        self.waiting = 0

    @property
    def size(self) -> int:
        return self._pool.size()

    @property
    def in_use(self) -> int:
        return self._pool.checkedout()

    @property
    def _pool(self) -> AsyncAdaptedQueuePool:
        pool = self._engine.pool
        assert isinstance(pool, AsyncAdaptedQueuePool)
        return pool

    async def take(self, engine: AsyncEngine, held: AsyncExitStack) -> AsyncConnection:
        """A connection, given back when `held` ends. SEARCH_UNAVAILABLE when too many wait, or one waited too long."""
        if self.waiting >= self.size * WAITING_EACH:
            raise busy()
        connection = engine.connect()
        self.waiting += 1
        try:
            await connection.start()
        except PoolTimeout as error:
            raise busy() from error
        finally:
            self.waiting -= 1
        held.push_async_exit(connection)
        return connection
