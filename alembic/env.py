"""Runs migrations over the URL that `muniment migrate` (or `alembic -x url=…`) gives, as the owner of the tables."""

import asyncio
import os

from sqlalchemy import Connection
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool

from alembic import context
from app.storage.tables import metadata

#: Any number all migrating processes agree on: they take turns.
MIGRATION_LOCK = 0x4D554E49


def _include(thing: object, name: str | None, type_: str, reflected: bool, compare_to: object) -> bool:
    """Partitions and what a migration writes by hand are not part of the metadata."""
    return not (type_ == "table" and reflected and compare_to is None and (name or "").startswith("embeddings_"))


def _run(connection: Connection) -> None:
    context.configure(
        connection=connection, target_metadata=metadata, include_object=_include, compare_server_default=False
    )
    with context.begin_transaction():
        if connection.exec_driver_sql("SHOW server_encoding").scalar_one() != "UTF8":
            raise SystemExit("the database must be created with ENCODING 'UTF8'")
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({MIGRATION_LOCK})")
        # The extension may have been installed into a schema of its own.
        connection.exec_driver_sql(
            "SELECT set_config('search_path', quote_ident(current_schema()) || ', ' || quote_ident(n.nspname), false) "
            "FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector'"
        )
        context.run_migrations()


async def _online(url: str) -> None:
    engine = create_async_engine(url, poolclass=NullPool)
    async with engine.connect() as connection:
        await connection.run_sync(_run)
        await connection.commit()
    await engine.dispose()


def main() -> None:
    url = (
        context.config.attributes.get("url")
        or context.get_x_argument(as_dictionary=True).get("url")
        or os.environ.get("MUNIMENT_MIGRATION_DATABASE_URL")
    )
    if not url:
        raise SystemExit("name the database: alembic -x url=postgresql+asyncpg://… or MUNIMENT_MIGRATION_DATABASE_URL")
    asyncio.run(_online(url))


main()
