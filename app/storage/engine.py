"""The pool of connections, and the two ways to use one: read a snapshot, or write one stamped transaction."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime
from enum import Enum
from functools import cache
from typing import Any, Protocol, TypeAlias
from uuid import UUID

from asyncpg import InterfaceError, PostgresError
from pgvector.asyncpg import register_vector
from sqlalchemy import Dialect, Executable, Row, TextClause, create_engine, event, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from app.domain.errors import Code, MunimentError
from app.storage import pool
from app.storage.failures import no_vector, passing, unknown, unreachable
from app.storage.listening import CHANNEL

#: The role that the application acts as: it owns no table, so row security binds it.
ROLE = "muniment_app"

# Local to the transaction, so that it holds behind a pooler in transaction mode too.
_ENTER = text(
    f"SELECT set_config('role', '{ROLE}', true), set_config('muniment.organisation', :organisation, true), "
    "set_config('muniment.worker', :worker, true), set_config('plan_cache_mode', :plans, true), "
    "set_config('enable_seqscan', :scans, true), set_config('enable_sort', :sorts, true), "
    "set_config('search_path', :search_path, true), set_config('statement_timeout', :statement, true), "
    "set_config('idle_in_transaction_session_timeout', :idle, true)"
)

#: What the database may raise, through SQLAlchemy and past it.
_FAILURES = (DBAPIError, PostgresError, InterfaceError, OSError)


class Plans(Enum):
    """How statements are planned: (plan_cache_mode, enable_seqscan, enable_sort)."""

    #: For the values at hand, each time: a plan for any array of keys would be a guess.
    FRESH = ("force_custom_plan", "on", "on")
    #: The same, by an index wherever there is one: the overlap of two arrays costs far more than the planner thinks.
    INDEXED = ("force_custom_plan", "off", "on")
    #: Once for all values, for rows that are reached by their key: to plan them costs more than to run them. The plan
    #: may be older than most rows of its tables, so it must not rest on their being few.
    ONCE = ("force_generic_plan", "off", "on")
    #: By the index that gives rows in their order, so that none is sorted.
    ORDERED = ("force_custom_plan", "off", "off")


#: Where the extension lives; its types and operators are found there too.
_VECTOR_SCHEMA = """
    SELECT n.nspname, quote_ident(current_schema()) || ', ' || quote_ident(n.nspname)
    FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector'
"""
# Listeners in every process hear of the write once it is committed (`listening.py`).
_TOLD = f"RETURNING system_at, pg_notify('{CHANNEL}', organisation_id || ' ' || system_at)"
_STAMP = text(
    "UPDATE organisation_clocks SET system_at = greatest(clock_timestamp(), system_at + interval '1 microsecond') "
    f"WHERE organisation_id = :organisation {_TOLD}"
)

_STAMP_AT = text(
    f"UPDATE organisation_clocks SET system_at = :at WHERE organisation_id = :organisation AND system_at < :at {_TOLD}"
)


#: Isolation of the two kinds of transaction.
_SNAPSHOT, _COMMITTED = _LEVELS = ("REPEATABLE READ", "READ COMMITTED")

_DIALECT: Dialect = create_engine("postgresql+asyncpg://").dialect

#: Milliseconds that a caller's transaction may stand idle, with what it has locked, before the database ends it.
IDLE_MS = 60_000

#: Rows that a stream holds at once.
_BATCH = 2000

#: A row of a statement that is written as text: its columns are known to the reader alone.
AnyRow: TypeAlias = Row[*tuple[Any, ...]]


class Session:
    """One open transaction, bound to one organisation (or to the workers' view across all of them)."""

    def __init__(self, connection: AsyncConnection, organisation: UUID | None, plans: Plans = Plans.FRESH) -> None:
        self._connection = connection
        self._organisation = organisation
        self._plans = plans

    @property
    def organisation(self) -> UUID:
        if self._organisation is None:
            raise LookupError("a worker's view has no organisation of its own")
        return self._organisation

    async def rows(self, statement: Executable, parameters: Mapping[str, Any] | None = None) -> Sequence[AnyRow]:
        return (await self._connection.execute(statement, parameters)).all()

    async def fetch(
        self, statement: TextClause, parameters: Mapping[str, Any], plans: Plans = Plans.ONCE
    ) -> Sequence[Sequence[Any]]:
        """Rows as the driver gives them, to be read by position: for the statements of every retrieval. Some of them
        give a hundred rows, and what SQLAlchemy does for a row costs more than what the driver does."""
        driver, sql, values = self._driver(statement, parameters)
        if plans is not self._plans:
            mode, scans, sorts = plans.value
            await driver.execute(
                f"SET LOCAL plan_cache_mode = {mode}; SET LOCAL enable_seqscan = {scans}; "
                f"SET LOCAL enable_sort = {sorts}"
            )
            self._plans = plans
        rows: Sequence[Sequence[Any]] = await driver.fetch(sql, *values)
        return rows

    async def row(self, statement: Executable, parameters: Mapping[str, Any] | None = None) -> AnyRow | None:
        return (await self._connection.execute(statement, parameters)).first()

    async def value(self, statement: Executable, parameters: Mapping[str, Any] | None = None) -> Any:
        return (await self._connection.execute(statement, parameters)).scalar()

    async def run(
        self, statement: Executable, parameters: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None
    ) -> int:
        """Execute for effect; a list of parameter sets is sent in one pipeline. Returns the rows touched."""
        if isinstance(parameters, list) and not parameters:
            return 0
        return (await self._connection.execute(statement, parameters)).rowcount

    async def commit(self) -> None:
        """Make everything so far durable, now rather than when the block ends. Nothing may follow."""
        await self._connection.commit()

    async def stream(
        self, statement: TextClause, parameters: Mapping[str, Any], batch_size: int = _BATCH
    ) -> AsyncGenerator[Sequence[Sequence[Any]], None]:
        """Batches of rows, to be read by position, through a cursor: constant memory. The database reads the next batch
        while one is worked on, so nothing else can be asked of the session meanwhile; close the generator."""
        driver, sql, values = self._driver(statement, parameters)
        cursor = await driver.cursor(sql, *values)
        coming = asyncio.ensure_future(cursor.fetch(batch_size))
        try:
            while batch := await coming:
                coming = asyncio.ensure_future(cursor.fetch(batch_size))
                # Sends the request, so that the database is at it while the batch is worked on.
                await asyncio.sleep(0)
                yield batch
        finally:
            await asyncio.gather(coming, return_exceptions=True)

    def _driver(self, statement: TextClause, parameters: Mapping[str, Any]) -> tuple[Any, str, list[Any]]:
        """The driver's own connection, and the statement as it takes it. Listeners of the engine hear of it."""
        sql, names = _positional(statement)
        values = [parameters[name] for name in names]
        connection = self._connection.sync_connection
        assert connection is not None
        if connection.dispatch.before_cursor_execute:
            connection.dispatch.before_cursor_execute(connection, None, sql, values, None, False)
        return connection.connection.driver_connection, sql, values


@cache
def _positional(statement: TextClause) -> tuple[str, Sequence[str]]:
    """The statement with `$1`, `$2`, …, and the names of its parameters in that order."""
    compiled = statement.compile(dialect=_DIALECT)
    assert compiled.positiontup is not None
    return str(compiled), compiled.positiontup


class WriteSession(Session):
    """A transaction that holds its organisation's clock row to commit. `stamp` is its instant of system time."""

    def __init__(self, connection: AsyncConnection, organisation: UUID, stamp: datetime) -> None:
        super().__init__(connection, organisation)
        self.stamp = stamp


class Database:
    """A pool over one PostgreSQL. A connection is taken for one transaction, never while anything else is awaited."""

    def __init__(self, engine: AsyncEngine, statement_ms: int = 0) -> None:
        self._engine = engine
        self._isolated = {level: engine.execution_options(isolation_level=level) for level in _LEVELS}
        self._limits = {"statement": f"{statement_ms}ms", "idle": f"{IDLE_MS if statement_ms else 0}ms"}
        self._search_path = ""
        self.queue = pool.Queue(engine)
        event.listen(engine.sync_engine, "connect", self._connected)

    def _connected(self, connection: "_Adapted", _record: object) -> None:
        connection.run_async(self._find_vector)

    async def _find_vector(self, connection: Any) -> None:
        # One transaction, so that a pooler gives one server for all of it.
        async with connection.transaction():
            found = await connection.fetchrow(_VECTOR_SCHEMA)
            if found is None:
                raise no_vector()
            schema, self._search_path = found
            await register_vector(connection, schema=schema)

    @classmethod
    def connect(
        cls, url: str, pool_size: int = 16, pool_timeout: float = 5.0, statement_ms: int = 0, pooled: bool = False
    ) -> "Database":
        """`pool_timeout`: seconds that one waits for a connection. `statement_ms`: what one statement may take, 0 for
        any time; a transaction may then stand idle for IDLE_MS. `pooled`: behind a pooler in transaction mode."""
        return cls(pool.connect(url, pool_size, pool_timeout, statement_ms, pooled), statement_ms)

    async def close(self) -> None:
        await self._engine.dispose()

    @property
    def has_spare(self) -> bool:
        """Whether most connections are idle, so that one may be held while something short is waited for."""
        return self.queue.in_use * 2 < self.queue.size

    @asynccontextmanager
    async def _transaction(
        self, isolation: str, organisation: UUID | None, plans: Plans = Plans.FRESH
    ) -> AsyncIterator[AsyncConnection]:
        mode, scans, sorts = plans.value
        entering = {
            "organisation": str(organisation) if organisation else "",
            "worker": "" if organisation else "on",
            "plans": mode,
            "scans": scans,
            "sorts": sorts,
            **self._limits,
        }
        try:
            async with AsyncExitStack() as held:
                connection = await self._entered(self._isolated[isolation], entering, held)
                yield connection
                await connection.commit()
        except _FAILURES as error:
            if coded := passing(error):
                raise coded from error
            if unknown(error) and not await self._has_vector():
                raise no_vector() from error
            raise

    async def _entered(self, engine: AsyncEngine, entering: dict[str, str], held: AsyncExitStack) -> AsyncConnection:
        """A connection in its transaction. One that was lost while it lay idle is replaced: nothing was done on it."""
        async with AsyncExitStack() as attempt:
            connection = await self.queue.take(engine, attempt)
            try:
                # The first connection of all finds out where the extension is.
                await connection.execute(_ENTER, {**entering, "search_path": self._search_path})
            except _FAILURES as error:
                if not unreachable(error):
                    raise
            else:
                held.push_async_exit(attempt.pop_all())
                return connection
        connection = await self.queue.take(engine, held)
        await connection.execute(_ENTER, {**entering, "search_path": self._search_path})
        return connection

    async def _has_vector(self) -> bool:
        async with self._engine.connect() as connection:
            return (await connection.exec_driver_sql(_VECTOR_SCHEMA)).first() is not None

    @asynccontextmanager
    async def snapshot(self, organisation: UUID, plans: Plans = Plans.FRESH) -> AsyncIterator[Session]:
        """One repeatable-read transaction: every statement sees what the first one saw."""
        async with self._transaction(_SNAPSHOT, organisation, plans) as connection:
            yield Session(connection, organisation, plans)

    @asynccontextmanager
    async def unstamped(self, organisation: UUID) -> AsyncIterator[Session]:
        """A transaction that writes no fact (evidence, queues): the clock does not move."""
        async with self._transaction(_COMMITTED, organisation) as connection:
            yield Session(connection, organisation)

    @asynccontextmanager
    async def write(self, organisation: UUID, at: datetime | None = None) -> AsyncIterator[WriteSession]:
        """One transaction of facts. It takes the organisation's clock first, so writers of one organisation take turns
        and a snapshot that sees a clock value sees every row stamped up to it and none after.

        `at` is for facts that come with system times of their own: CONFLICT unless it is later than the clock.
        """
        async with self._transaction(_COMMITTED, organisation) as connection:
            if at is None:
                stamp = (await connection.execute(_STAMP, {"organisation": organisation})).scalar()
                if stamp is None:
                    raise MunimentError(Code.NOT_FOUND, "no such organisation")
            else:
                named = {"organisation": organisation, "at": at}
                stamp = (await connection.execute(_STAMP_AT, named)).scalar()
                if stamp is None:
                    raise MunimentError(Code.CONFLICT, "system times must be strictly increasing", "system")
            yield WriteSession(connection, organisation, stamp)

    @asynccontextmanager
    async def across(self) -> AsyncIterator[Session]:
        """The workers' view: the queues and clocks of every organisation, to read."""
        async with self._transaction(_COMMITTED, None) as connection:
            yield Session(connection, None)

    async def ping(self) -> None:
        """Raise unless the database answers and its tables are there."""
        async with self.across() as session:
            await session.value(text("SELECT count(*) FROM (SELECT 1 FROM organisation_clocks LIMIT 1) AS one"))


class _Adapted(Protocol):
    """SQLAlchemy's asyncpg connection, as its connect event hands it over."""

    def run_async(self, function: Any) -> Any: ...
