"""What stands outside of the process: models, rerankers, the provider behind the gateway."""

import asyncio

from app.domain.locality import Locality, locality
from app.gateway.calls import CallLog
from app.gateway.endpoint import Gateway
from app.gateway.link import Linker
from app.identity.credentials import Credentials
from app.identity.rates import RateLimiter
from app.identity.strangers import Strangers
from app.providers.chat import Chat
from app.providers.embedder.base import Embedder
from app.providers.embedder.endpoint import MOST_BYTES as MOST_EMBEDDING_BYTES
from app.providers.embedder.endpoint import EndpointEmbedder
from app.providers.embedder.hashing import HashingEmbedder
from app.providers.embedder.minilm import MiniLM
from app.providers.endpoint import Endpoint
from app.providers.reranker import Reranker
from app.providers.upstream import Upstream
from app.retrieval.rerank import Reranking
from app.retrieval.rewrite import Rewriter
from app.settings import Settings
from app.storage.engine import Database


def make_embedder(settings: Settings) -> Embedder | None:
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


def make_rewriter(settings: Settings) -> Rewriter | None:
    if settings.rewrite_url is None or settings.rewrite_model is None:
        return None
    endpoint = Endpoint(settings.rewrite_url, _locality(settings, settings.rewrite_url), settings.rewrite_api_key)
    return Rewriter(Chat(endpoint, settings.rewrite_model), settings.rewrite_timeout_ms)


def make_reranking(settings: Settings) -> Reranking | None:
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
