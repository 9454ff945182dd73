"""The database of a deployment: started or joined, and migrated."""

import asyncio
from dataclasses import dataclass
from pathlib import Path

from app.providers.embedded_postgres import EmbeddedPostgres
from app.providers.embedder.hashing import HashingEmbedder
from app.providers.embedder.minilm import MiniLM
from app.providers.keeping import keep_running
from app.settings import Settings
from app.storage.engine import ROLE
from app.storage.migration import allow_login, migrate, with_driver
from app.storage.role import check_role
from app.storage.vector_index import ensure_index

ROOT = Path(__file__).resolve().parent.parent.parent
ALEMBIC = ROOT / "alembic.ini"


def read_settings() -> Settings:
    return Settings()


@dataclass(frozen=True, slots=True)
class Installation:
    """The database of a deployment: embedded in the home, or somebody else's. Migrated, and reached by two roles."""

    url: str
    embedded: EmbeddedPostgres | None

    @classmethod
    def open(cls, settings: Settings) -> "Installation":
        """Start or join the database and bring its tables up to date. Blocks; call it before an event loop runs."""
        if settings.database_url is not None:
            url = with_driver(settings.database_url)
            migrate_database(settings)
            asyncio.run(check_role(url, settings.database_pooler == "transaction"))
            return cls(url, None)
        embedded = EmbeddedPostgres.start(settings.home)
        try:
            migrate(embedded.owner_url, ALEMBIC)
            _index_vectors(embedded.owner_url, settings)
            asyncio.run(allow_login(embedded.owner_url))
        except BaseException:
            embedded.stop()
            raise
        return cls(embedded.url(ROLE), embedded)

    async def keep(self) -> None:
        """For ever: start an embedded database again when it has died."""
        if self.embedded is not None:
            await keep_running(self.embedded)

    def close(self) -> None:
        """Let go; the last to let go of an embedded database stops it."""
        if self.embedded is not None:
            self.embedded.stop()


def migrate_database(settings: Settings) -> None:
    """Bring the tables of somebody else's database up to date, as their owner."""
    url = settings.migration_database_url or settings.database_url
    if url is None:
        raise ValueError("MUNIMENT_DATABASE_URL names no database")
    migrate(url, ALEMBIC)
    _index_vectors(with_driver(url), settings)


def _index_vectors(owner_url: str, settings: Settings) -> None:
    """The index of the embedder's vectors, where searches are to use it."""
    if settings.search_backend != "hnsw":
        return
    match settings.embedding:
        case "local":
            asyncio.run(ensure_index(owner_url, MiniLM.model, MiniLM.dimensions))
        case "hash":
            asyncio.run(ensure_index(owner_url, HashingEmbedder.model, HashingEmbedder.dimensions))
        case "http":
            assert settings.embeddings_model is not None
            assert settings.embeddings_dimensions is not None
            asyncio.run(ensure_index(owner_url, settings.embeddings_model, settings.embeddings_dimensions))
        case "none":
            pass
