"""The composition root: from settings to parts that are wired. It alone knows what stands behind what."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from app.assembly.credentials import make_tokens, origins
from app.assembly.endpoints import make_embedder, make_gateway, make_reranking, make_rewriter
from app.assembly.installation import Installation
from app.assembly.keys import key_ring, require_no_key_lost, signing_keys
from app.assembly.limits import limits, share
from app.domain.limits import Limits, Rates, parse_rates
from app.domain.scoring import parse_level_weights
from app.evidence.checkpoints import Checkpointer
from app.evidence.indexing import Indexer
from app.evidence.schedule import Schedule
from app.evidence.sequencer import Sequencer
from app.evidence.watching import Watch
from app.evidence.witnessing import Witnessing
from app.gateway.endpoint import Gateway
from app.identity.admission import Admission
from app.identity.credentials import Credentials
from app.identity.development import DevelopmentKey
from app.identity.key_use import KeyUse
from app.identity.rates import RateLimiter
from app.identity.strangers import Strangers
from app.identity.streams import Streams
from app.ingestion.editing import Editor
from app.ingestion.embedding import EmbeddingWorker
from app.ingestion.intake import Intake
from app.ingestion.jobs import JobKind, JobWorker
from app.ingestion.prepare import Preparer
from app.ingestion.reindexing import Reindexer
from app.ingestion.syncing import Syncing
from app.memory.proposing import Proposals
from app.memory.revision import Reviser
from app.memory.writing import Writer
from app.providers.checkpoint_log import CheckpointLog
from app.providers.embedder.endpoint import EndpointEmbedder
from app.providers.head_file import HeadFile
from app.providers.key_document import KeyDocument
from app.providers.keyring import KeyRing
from app.providers.signing import SigningKeys
from app.providers.stemmer import analyser
from app.providers.tokens import Tokens
from app.providers.witness import Witness
from app.providers.wordpieces import WordPieces
from app.retrieval.cache import SearchCache
from app.retrieval.pipeline import Retriever
from app.server.operations import Operations
from app.settings import Settings, is_url
from app.storage.engine import Database
from app.storage.listening import Listener
from app.storage.polling import Poller

#: Connections of a process's own tasks: the sequencer, checkpoints, the index of deliveries, embeddings, indexes made
#: anew, a verification and what holds its claim.
BACKGROUND = 7


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
    embedder = make_embedder(settings)
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
    rewriter, reranking = make_rewriter(settings), make_reranking(settings)
    rung = asyncio.Event()
    watch = Watch(settings.max_subscriptions)
    jwks = None if settings.jwt_jwks is None or not is_url(settings.jwt_jwks) else KeyDocument(settings.jwt_jwks)
    development, tokens = make_tokens(settings, jwks)
    uses = KeyUse(background)
    credentials = Credentials(database, tokens, uses, origins(settings))
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
