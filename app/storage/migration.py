"""Bringing the tables up to date, as their owner."""

from pathlib import Path

from alembic.config import Config
from asyncpg import PostgresError
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool

from alembic import command
from app.domain.errors import Code, MunimentError
from app.storage.engine import ROLE
from app.storage.role import refusal


def with_driver(url: str) -> str:
    """A PostgreSQL URL with the driver that we speak through."""
    scheme, separator, rest = url.partition("://")
    return f"postgresql+asyncpg{separator}{rest}" if scheme in {"postgres", "postgresql"} else url


def migrate(url: str, configuration: Path) -> None:
    """Run what `alembic.ini` names. Blocks, and runs an event loop of its own."""
    config = Config(configuration)
    config.attributes["url"] = with_driver(url)
    try:
        command.upgrade(config, "head")
    except (DBAPIError, PostgresError, OSError) as error:
        raise MunimentError(Code.SEARCH_UNAVAILABLE, f"the database cannot be migrated: {_why(error)}") from error


def _why(error: BaseException) -> str:
    """The statement and the driver's frames help nobody here; the server's own sentence does."""
    original = getattr(error, "orig", None) or error
    if getattr(original, "sqlstate", None) == "42501":
        return f"MUNIMENT_MIGRATION_DATABASE_URL must name the owner of its tables ({original})"
    return str(original) if isinstance(error, DBAPIError) else refusal(error)


async def allow_login(owner_url: str) -> None:
    """The embedded server trusts who reaches its socket; there the application's role may log in."""
    engine = create_async_engine(owner_url, poolclass=NullPool)
    async with engine.begin() as connection:
        await connection.execute(text(f"ALTER ROLE {ROLE} LOGIN"))
    await engine.dispose()
