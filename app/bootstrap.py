"""The composition root: from settings to running parts. It alone knows what stands behind what."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from app.domain.limits import Limits, Rates, parse_rates
from app.domain.locality import Locality, locality
from app.domain.scoring import parse_level_weights
from app.evidence.checkpoints import Checkpointer
from app.evidence.indexing import Indexer
from app.evidence.schedule import Schedule
from app.evidence.sequencer import Sequencer
from app.evidence.watching import Watch
from app.evidence.witnessing import Witnessing
from app.gateway.calls import CallLog
from app.gateway.endpoint import Gateway
from app.gateway.link import Linker
from app.identity.admission import Admission
from app.identity.claims import ClaimNames
from app.identity.credentials import Credentials
from app.identity.development import ALGORITHM, DevelopmentKey
from app.identity.key_set import Jwks, from_file
from app.identity.key_use import KeyUse
from app.identity.rates import RateLimiter
from app.identity.strangers import Strangers
from app.identity.streams import Streams
from app.identity.tokens import TokenVerifier
from app.ingestion.editing import Editor
from app.ingestion.embedding import EmbeddingWorker
from app.ingestion.intake import Intake
from app.ingestion.jobs import JobKind, JobWorker
from app.ingestion.prepare import Preparer
from app.ingestion.reindexing import Reindexer
from app.ingestion.syncing import Syncing
from app.keys import key_ring, require_no_key_lost, signing_keys
from app.memory.proposing import Proposals
from app.memory.revision import Reviser
from app.memory.writing import Writer
from app.providers.chat import Chat
from app.providers.checkpoint_log import CheckpointLog
from app.providers.embedded_postgres import EmbeddedPostgres
from app.providers.embedder.base import Embedder
from app.providers.embedder.endpoint import MOST_BYTES as MOST_EMBEDDING_BYTES
from app.providers.embedder.endpoint import EndpointEmbedder
from app.providers.embedder.hashing import HashingEmbedder
from app.providers.embedder.minilm import MiniLM
from app.providers.endpoint import Endpoint
from app.providers.head_file import HeadFile
from app.providers.keeping import keep_running
from app.providers.key_document import KeyDocument
from app.providers.keyring import KeyRing
from app.providers.reranker import Reranker
from app.providers.signing import SigningKeys
from app.providers.stemmer import analyser
from app.providers.tokens import Tokens
from app.providers.upstream import Upstream
from app.providers.witness import Witness
from app.providers.wordpieces import WordPieces
from app.retrieval.cache import SearchCache
from app.retrieval.pipeline import Retriever
from app.retrieval.rerank import Reranking
from app.retrieval.rewrite import Rewriter
from app.server.operations import Operations
from app.settings import Settings, is_url
from app.storage.engine import ROLE, Database
from app.storage.listening import Listener
from app.storage.migration import allow_login, migrate, with_driver
from app.storage.polling import Poller
from app.storage.role import check_role
from app.storage.vector_index import ensure_index

ROOT = Path(__file__).resolve().parent.parent
ALEMBIC = ROOT / "alembic.ini"

#: Connections of a process's own tasks: the sequencer, checkpoints, the index of deliveries, embeddings, indexes made
#: anew, a verification and what holds its claim.
BACKGROUND = 7


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


@dataclass(frozen=True, slots=True)
class Services:
    """The parts of one process, wired."""

    settings: Settings
    database: Database
    #: What the process does by itself has connections of its own: callers cannot starve it.
    background: Database
    retriever: Retriever
    preparer: Preparer
    editor: Editor
    intake: Intake
    jobs: JobWorker
    memory: Writer
    proposals: Proposals
    credentials: Credentials
    development: DevelopmentKey | None
    keys: KeyRing
    heads: HeadFile
    sequencer: Sequencer
    indexer: Indexer
    signing: SigningKeys
    checkpoints: Checkpointer
    schedule: Schedule | None
    witnessing: Witnessing | None
    embedding: EmbeddingWorker | None
    reindexer: Reindexer
    watch: Watch
    listener: Listener | Poller
    rung: asyncio.Event
    gateway: Gateway | None
    limits: Limits
    rates: RateLimiter
    admission: Admission
    strangers: Strangers
    streams: Streams
    operations: Operations

    @property
    def search_backend(self) -> str:
        return self.settings.search_backend

    def ring(self) -> None:
        """Tell this process's sequencer that an event was queued."""
        self.rung.set()


@asynccontextmanager
async def services(settings: Settings, installation: Installation) -> AsyncIterator[Services]:
    """The parts without their background tasks (`workers`)."""
    embedder = _embedder(settings)
    database, background = databases(settings, installation.url)
    try:
        await require_no_key_lost(settings, background)
        keys, signing = key_ring(settings), signing_keys(settings)
    except BaseException:
        await database.close()
        await background.close()
        raise
    heads = HeadFile(settings.home / "heads", keys.organisation_key)
    witnessing = Witnessing(Witness(settings.witness_url)) if settings.witness_url else None
    checkpoints = Checkpointer(
        background,
        signing,
        CheckpointLog(settings.home / "checkpoints"),
        settings.deployment,
        every_records=settings.checkpoint_records,
        every_seconds=settings.checkpoint_seconds,
        witnessing=witnessing,
    )
    indexer = Indexer(background)
    counter = Tokens()
    preparer = Preparer(WordPieces(), counter, analyser)
    writer = Writer(database, Reviser(counter, embedder))
    rewriter, reranking = _rewriter(settings), _reranking(settings)
    rung = asyncio.Event()
    watch = Watch(settings.max_subscriptions)
    jwks = None if settings.jwt_jwks is None or not is_url(settings.jwt_jwks) else KeyDocument(settings.jwt_jwks)
    development, tokens = _tokens(settings, jwks)
    uses = KeyUse(background)
    credentials = Credentials(database, tokens, uses, _origins(settings))
    rates = RateLimiter(database, Rates(settings.rate_limit, parse_rates(settings.rate_limits or "")))
    strangers = Strangers(settings.stranger_limit)
    gateway = make_gateway(settings, database, credentials, rung, rates, strangers)
    try:
        yield Services(
            settings=settings,
            database=database,
            background=background,
            retriever=Retriever(
                database,
                embedder if settings.search_backend != "text" else None,
                analyser,
                parse_level_weights(settings.level_weights or ""),
                counter,
                settings.max_candidates,
                rewriter,
                reranking,
                approximate=settings.search_backend == "hnsw",
                cache=SearchCache(settings.search_cache_seconds),
                traces=settings.traces == "on",
                graph_assist=settings.graph_assist == "on",
                signing=signing,
            ),
            preparer=preparer,
            editor=Editor(database, preparer, embed=embedder is not None),
            intake=Intake(database, preparer, embed=embedder is not None),
            jobs=JobWorker(
                background, {JobKind.SYNC_SOURCE: Syncing(background, preparer, embed=embedder is not None)}
            ),
            memory=writer,
            proposals=Proposals(writer),
            credentials=credentials,
            development=development,
            keys=keys,
            heads=heads,
            sequencer=Sequencer(background, keys, heads, [checkpoints.appended, indexer.appended]),
            indexer=indexer,
            signing=signing,
            checkpoints=checkpoints,
            schedule=Schedule(background, keys, heads, checkpoints.known, settings.verify_every_hours)
            if settings.verify_every_hours
            else None,
            witnessing=witnessing,
            embedding=EmbeddingWorker(background, embedder) if embedder else None,
            reindexer=Reindexer(database, preparer, embedder),
            watch=watch,
            listener=_listener(settings, installation.url, background, watch),
            rung=rung,
            gateway=gateway,
            limits=limits(settings),
            rates=rates,
            admission=Admission(
                share(settings.caller_share, settings.pool_size), share(settings.organisation_share, settings.pool_size)
            ),
            strangers=strangers,
            streams=Streams(settings.max_subscriptions, settings.max_subscriptions_per_caller),
            operations=Operations.load(settings.operations, settings.operations_only == "on"),
        )
    finally:
        if gateway is not None:
            await gateway.close()
        if isinstance(embedder, EndpointEmbedder):
            await embedder.close()
        if jwks is not None:
            await jwks.close()
        await uses.write()
        if rewriter is not None:
            await rewriter.chat.close()
        if reranking is not None:
            await reranking.reranker.close()
        if witnessing is not None:
            await witnessing.close()
        await database.close()
        await background.close()


def databases(settings: Settings, url: str) -> tuple[Database, Database]:
    """The pool of the callers, and the one of the process's own tasks, which may wait and take their time."""
    pooled = settings.database_pooler == "transaction"
    callers = Database.connect(
        url, settings.pool_size, settings.pool_wait_ms / 1000, settings.statement_timeout_ms, pooled
    )
    return callers, Database.connect(url, BACKGROUND, pool_timeout=30.0, pooled=pooled)


def _listener(settings: Settings, url: str, database: Database, watch: Watch) -> Listener | Poller:
    """Through a pooler in transaction mode nothing can be listened to."""
    if settings.database_pooler == "transaction":
        return Poller(database, watch.heard, lambda: watch.count > 0)
    return Listener(url, watch.heard)


@asynccontextmanager
async def workers(parts: Services, *, everything: bool = False) -> AsyncIterator[None]:
    """The background tasks of a server. `everything`: also those that its settings leave to `muniment worker`."""
    tasks = [asyncio.create_task(parts.sequencer.run(parts.rung))]
    tasks.append(asyncio.create_task(parts.listener.run()))
    tasks.append(asyncio.create_task(parts.indexer.run()))
    tasks.append(asyncio.create_task(parts.credentials.uses.run()))
    tasks.append(asyncio.create_task(parts.checkpoints.run()))
    tasks.append(asyncio.create_task(parts.rates.run()))
    if parts.schedule is not None:
        tasks.append(asyncio.create_task(parts.schedule.run()))
    if parts.witnessing is not None:
        tasks.append(asyncio.create_task(parts.witnessing.run()))
    if everything or parts.settings.worker == "on":
        tasks.append(asyncio.create_task(parts.jobs.run()))
        if parts.embedding is not None:
            tasks.append(asyncio.create_task(parts.embedding.run()))
        tasks.append(asyncio.create_task(replace(parts.reindexer, database=parts.background).run()))
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await parts.sequencer.finish()
        await parts.checkpoints.finish()


def limits(settings: Settings) -> Limits:
    """What one operation may ask for."""
    return Limits(
        tokens=settings.max_tokens,
        depth=settings.max_depth,
        aliases=settings.max_aliases,
        root_fields=settings.max_root_fields,
        fields=settings.max_fields,
        cost=settings.max_cost,
        list_items=settings.max_list_items,
        introspection=settings.introspection == "on",
    )


def share(part: float, whole: int) -> int:
    return max(1, int(part * whole))


def _tokens(settings: Settings, jwks: KeyDocument | None) -> tuple[DevelopmentKey | None, TokenVerifier]:
    told: dict[str, Any] = {
        "claims": ClaimNames.parse(settings.jwt_claims or ""),
        "organisation": settings.jwt_organisation,
        "leeway": settings.jwt_leeway_seconds,
    }
    issuer, audience = settings.jwt_issuer, settings.jwt_audience
    if settings.jwt_jwks is not None:
        age = settings.jwt_jwks_max_age_hours * 3600
        file = Path(settings.jwt_jwks)
        keys = from_file(file, most_age=age) if jwks is None else Jwks(jwks.read, most_age=age)
        return None, TokenVerifier(keys, issuer, audience, **told)
    if settings.jwt_key is not None:
        key = settings.jwt_key.read_bytes()
        return None, TokenVerifier.of(key, settings.jwt_algorithm, issuer, audience, **told)
    development = DevelopmentKey.load_or_create(settings.home / "keys" / "development.pem")
    return development, TokenVerifier.of(development.public_pem, ALGORITHM, issuer, audience)


def _origins(settings: Settings) -> frozenset[str]:
    return frozenset(filter(None, (part.strip() for part in (settings.cookie_origins or "").split(","))))


def _embedder(settings: Settings) -> Embedder | None:
    match settings.embedding:
        case "local":
            return MiniLM()
        case "hash":
            return HashingEmbedder()
        case "none":
            return None
        case "http":
            url, model, dimensions = settings.embeddings_url, settings.embeddings_model, settings.embeddings_dimensions
            assert url is not None
            assert model is not None
            assert dimensions is not None
            endpoint = Endpoint(
                url, _locality(settings, url), settings.embeddings_api_key, most_bytes=MOST_EMBEDDING_BYTES
            )
            return EndpointEmbedder(endpoint, model, dimensions)


def _rewriter(settings: Settings) -> Rewriter | None:
    if settings.rewrite_url is None or settings.rewrite_model is None:
        return None
    endpoint = Endpoint(settings.rewrite_url, _locality(settings, settings.rewrite_url), settings.rewrite_api_key)
    return Rewriter(Chat(endpoint, settings.rewrite_model), settings.rewrite_timeout_ms)


def _reranking(settings: Settings) -> Reranking | None:
    if settings.rerank_url is None:
        return None
    endpoint = Endpoint(settings.rerank_url, _locality(settings, settings.rerank_url), settings.rerank_api_key)
    return Reranking(Reranker(endpoint, settings.rerank_model), settings.rerank_timeout_ms, settings.rerank_candidates)


def make_gateway(
    settings: Settings,
    database: Database,
    credentials: Credentials,
    rung: asyncio.Event,
    rates: RateLimiter,
    strangers: Strangers,
) -> Gateway | None:
    """The gateway to the provider that is set; None when none is. Close it."""
    if settings.gateway_upstream_url is None:
        return None
    idle = settings.gateway_idle_timeout_ms / 1000
    return Gateway(
        Upstream(
            settings.gateway_upstream_url,
            _locality(settings, settings.gateway_upstream_url),
            settings.gateway_upstream_api_key,
            connect_seconds=settings.gateway_connect_timeout_ms / 1000,
            idle_seconds=idle,
        ),
        credentials,
        Linker(database, rung, settings.link_wait_ms / 1000),
        CallLog(database, rung),
        rates,
        strangers,
        settings.gateway_max_body_bytes,
        idle,
    )


def _locality(settings: Settings, url: str) -> Locality:
    listed = (settings.embeddings_internal_hosts or "").split(",")
    return locality(url, listed, settings.embeddings_external)
