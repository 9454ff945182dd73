"""Whether the database lets the application be what it must be: a role that owns nothing and is above no wall."""

from asyncpg import PostgresError
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool

from app.domain.errors import Code, MunimentError
from app.storage.engine import ROLE, AnyRow
from app.storage.pool import CONNECT_SECONDS

_ROLE = text(
    """
    SELECT session_user AS login, current_database() AS database, r.oid IS NOT NULL AS exists,
        coalesce(r.rolsuper OR r.rolbypassrls, false) AS above,
        r.oid IS NOT NULL AND pg_has_role(session_user, r.oid, 'SET') AS member,
        EXISTS (SELECT FROM pg_class c WHERE c.relowner = r.oid AND c.relkind IN ('r', 'p')) AS owner,
        to_regclass('organisation_clocks') IS NOT NULL AS migrated,
        EXISTS (SELECT FROM pg_extension WHERE extname = 'vector') AS vector
    FROM (SELECT 1) AS one LEFT JOIN pg_roles r ON r.rolname = :role
    """
)
#: What a refused connection means, by SQLSTATE; the server's own sentence names users and hosts only.
_REFUSED = {
    "28000": "does not let this user in",
    "28P01": "does not take this user's password",
    "3D000": "has no database of this name",
    "53300": "has no connection left",
}


async def check_role(url: str, pooled: bool = False) -> None:
    """Raise MunimentError, with what to do, unless the application can act as its role through `url`."""
    try:
        found = await _ask(url, pooled)
    except (DBAPIError, PostgresError, OSError) as error:
        raise MunimentError(Code.SEARCH_UNAVAILABLE, f"MUNIMENT_DATABASE_URL: {refusal(error)}") from error
    problem = None
    if not found.exists:
        problem = f"there is no role {ROLE} yet: run muniment migrate as the owner (MUNIMENT_MIGRATION_DATABASE_URL)"
    elif not found.member:
        problem = f'the user "{found.login}" may not act as {ROLE}: GRANT {ROLE} TO "{found.login}"'
    elif found.above:
        problem = f"the role {ROLE} is above row security: ALTER ROLE {ROLE} NOSUPERUSER NOBYPASSRLS"
    elif found.owner:
        problem = f"the role {ROLE} owns tables, and may not: REASSIGN OWNED BY {ROLE} to their owner"
    elif not found.migrated:
        problem = "the tables are not there: run muniment migrate as the owner (MUNIMENT_MIGRATION_DATABASE_URL)"
    elif not found.vector:
        problem = "the extension vector is not there: CREATE EXTENSION vector"
    if problem:
        raise MunimentError(Code.SEARCH_UNAVAILABLE, f'the database "{found.database}" cannot be used: {problem}')


def refusal(error: BaseException) -> str:
    """One sentence for a connection that failed, without anything of the URL."""
    original = getattr(error, "orig", None) or error
    cause = getattr(original, "__cause__", None)
    state = getattr(original, "sqlstate", None) or getattr(cause, "sqlstate", None) or ""
    if state in _REFUSED:
        return f"the database server {_REFUSED[state]}"
    # The operating system's own words: an address, or a path, and why.
    system = next((item for item in (original, cause) if isinstance(item, OSError) and str(item)), None)
    return f"the database cannot be reached ({system or type(cause or original).__name__})"


async def _ask(url: str, pooled: bool) -> AnyRow:
    arguments: dict[str, object] = {"timeout": CONNECT_SECONDS}
    if pooled:
        arguments |= {"statement_cache_size": 0, "prepared_statement_cache_size": 0}
        arguments["prepared_statement_name_func"] = str
    engine = create_async_engine(url, poolclass=NullPool, connect_args=arguments)
    try:
        async with engine.connect() as connection:
            row = (await connection.execute(_ROLE, {"role": ROLE})).one()
    finally:
        await engine.dispose()
    return row
