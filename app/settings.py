"""Every setting, from `MUNIMENT_*` variables. Read by the composition root and the command line only."""

import re
from pathlib import Path
from typing import Literal
from uuid import UUID

from pydantic import Field, SecretStr, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from app.domain.checkpoint import NoteError, check_name
from app.domain.errors import MunimentError
from app.domain.limits import parse_rates
from app.domain.locality import host_of, locality
from app.domain.scoring import parse_level_weights
from app.identity.claims import ClaimNames

PREFIX = "MUNIMENT_"
_POSTGRESQL = re.compile(r"postgres(ql)?(\+asyncpg)?://.")


def is_url(value: str) -> bool:
    return "://" in value


class Settings(BaseSettings):
    """Where things are kept, what is listened on, what is searched with, whose tokens are believed."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, env_file=None, env_ignore_empty=True)

    home: Path = Field(
        Path(".muniment"), description="Folder of all that is kept on disk: database, keys, chain heads, checkpoints."
    )
    host: str = Field("127.0.0.1", description="Address to listen on.")
    port: int = Field(8000, ge=1, le=65535, description="Port to listen on.")
    database_url: str | None = Field(
        None, description="A PostgreSQL (16 or later, pgvector 0.8 or later) to use instead of the embedded one."
    )
    migration_database_url: str | None = Field(
        None, description="The same database as the owner of its tables; without it `MUNIMENT_DATABASE_URL` migrates."
    )
    database_pooler: Literal["none", "transaction"] = Field(
        "none",
        description="`transaction`: a pooler such as PgBouncer stands in between, in transaction mode. The migration "
        "URL should then name the database itself.",
    )
    pool_size: int = Field(
        16,
        ge=1,
        le=200,
        description="Database connections that the callers of one process share; its own tasks have up to 7 more.",
    )
    pool_wait_ms: int = Field(
        2000,
        ge=1,
        le=60_000,
        description="Milliseconds that a caller waits for one before it is told to retry.",
    )
    statement_timeout_ms: int = Field(
        30_000, ge=0, description="Milliseconds that one statement of a caller may take; 0: any time."
    )
    shutdown_seconds: float = Field(
        20,
        ge=0,
        le=3600,
        allow_inf_nan=False,
        description="Seconds that what is under way may take to finish when the server is told to stop.",
    )
    search_backend: Literal["exact", "hnsw", "text"] = Field(
        "exact",
        description="`exact`: text and exact cosine. `hnsw`: text and an index of the vectors, for hundreds of "
        "thousands of chunks; exact where few are permitted. `text`: text alone.",
    )
    embedder: Literal["local", "hash", "none"] = Field(
        "local", description="`local`: the packaged MiniLM. `hash`: no model, for tests. `none`: text search alone."
    )
    embeddings_url: str | None = Field(
        None, description="Base URL of an OpenAI-compatible `/embeddings` endpoint, which then embeds instead."
    )
    embeddings_model: str | None = Field(None, description="Its model.", validate_default=True)
    embeddings_dimensions: int | None = Field(
        None, ge=1, le=16_000, description="Length of that model's vectors.", validate_default=True
    )
    embeddings_api_key: SecretStr | None = Field(None, description="Bearer key of the embedding endpoint.")
    embeddings_internal_hosts: str | None = Field(
        None, description="Hosts, as `host,…`, whose endpoints lie inside the deployment, as those on this machine do."
    )
    embeddings_external: bool = Field(True, description="`false`: every endpoint lies inside the deployment.")
    rewrite_url: str | None = Field(
        None,
        description="Base URL of an OpenAI-compatible chat endpoint that words questions anew; off without it.",
    )
    rewrite_model: str | None = Field(None, description="Model that rewrites.", validate_default=True)
    rewrite_api_key: SecretStr | None = Field(None, description="Bearer key of the rewriting endpoint.")
    rewrite_timeout_ms: int = Field(6000, ge=1, description="Milliseconds that a rewriting may take.")
    rerank_url: str | None = Field(
        None, description="Base URL of a `/rerank` endpoint that orders the best candidates anew; off without it."
    )
    rerank_model: str | None = Field(None, description="Model that reranks, where the endpoint serves several.")
    rerank_api_key: SecretStr | None = Field(None, description="Bearer key of the reranking endpoint.")
    rerank_timeout_ms: int = Field(8000, ge=1, description="Milliseconds that reranking may take.")
    rerank_candidates: int = Field(50, ge=1, le=1000, description="Candidates that the reranker is shown, best first.")
    max_candidates: int = Field(10_000, ge=1, description="Memories of one owner that a recall looks at, newest first.")
    traces: Literal["on", "off"] = Field(
        "on", description="`on`: a trace is kept beside the evidence of each retrieval. `off`: none is."
    )
    search_cache_seconds: float = Field(
        60, ge=0, le=3600, allow_inf_nan=False, description="Seconds that a search is remembered for; 0: never."
    )
    graph_assist: Literal["on", "off"] = Field(
        "off",
        description="`on`: what the best hits link to or call joins the candidates before they are ranked. `off`: only "
        "what was searched for.",
    )
    gateway_upstream_url: str | None = Field(
        None,
        description="Base URL of the OpenAI-compatible model provider behind `/v1/…`, as `https://host/v1`; a bare "
        "host means that too. Off without it.",
    )
    gateway_upstream_api_key: SecretStr | None = Field(None, description="Bearer key of that provider.")
    gateway_connect_timeout_ms: int = Field(10_000, ge=1, description="Milliseconds until it must be connected.")
    gateway_idle_timeout_ms: int = Field(
        600_000,
        ge=1,
        description="Milliseconds that it, or the caller, may neither send nor take anything in a model call.",
    )
    gateway_max_body_bytes: int = Field(33_554_432, ge=1, description="Bytes that the body of a model call may have.")
    link_wait_ms: int = Field(
        750,
        ge=0,
        le=60_000,
        description="Milliseconds that a model call's answer waits for the record of the retrieval that it names.",
    )
    max_subscriptions: int = Field(1000, ge=1, description="Subscriptions that one server process serves at once.")
    max_subscriptions_per_caller: int = Field(
        100, ge=1, description="Subscriptions of one person or key that one server process serves at once."
    )
    max_connections: int = Field(
        2000, ge=1, description="Connections and requests that one server process holds at once; others get 503."
    )
    max_tokens: int = Field(4000, ge=100, description="Tokens that a GraphQL document may have.")
    max_depth: int = Field(15, ge=14, description="Levels of fields in each other; introspection takes 14.")
    max_aliases: int = Field(30, ge=0, description="Aliases in an operation, with fragments spread out.")
    max_root_fields: int = Field(30, ge=1, description="Root fields of an operation.")
    max_fields: int = Field(2000, ge=100, description="Fields of an operation, with fragments spread out.")
    max_cost: int = Field(
        1000, ge=300, description="What an operation may cost: a retrieve costs 50, an object of a page 1 an item."
    )
    max_list_items: int = Field(1000, ge=1, description="Items of a list in an operation or its variables.")
    introspection: Literal["on", "off"] = Field(
        "on", description="`off`: the API does not describe itself; the playground then neither completes nor explains."
    )
    operations: Path | None = Field(
        None,
        description="Operations that clients may name by SHA-256: a folder of `.graphql` files, or a JSON file of "
        "documents by id.",
    )
    operations_only: Literal["on", "off"] = Field(
        "off", description="`on`: no operation is served but those.", validate_default=True
    )
    request_timeout_ms: int = Field(
        60_000, ge=100, description="Milliseconds after which an operation is given up; `verifyChain` may take longer."
    )
    rate_limit: int = Field(
        600, ge=0, description="Calls of one action (root field, gateway endpoint) a minute, by person or key; 0: any."
    )
    rate_limits: str | None = Field(None, description="Other limits for single actions, as `action=limit,…`.")
    stranger_limit: int = Field(
        300, ge=0, description="Requests a minute from one address without a valid credential, a process; 0: any."
    )
    caller_share: float = Field(
        0.5, gt=0, le=1, description="Share of `MUNIMENT_POOL_SIZE` that one caller's operations may use at once."
    )
    organisation_share: float = Field(
        0.75, gt=0, le=1, description="Share of `MUNIMENT_POOL_SIZE` that one organisation's may use at once."
    )
    level_weights: str | None = Field(None, description="Weights of space levels, as `level=weight,…`.")
    worker: Literal["on", "off"] = Field(
        "on", description="`on`: a server embeds and does jobs itself. `off`: it leaves that to `muniment worker`."
    )
    keys: SecretStr | None = Field(
        None, description="Evidence keys as `id:base64,…`, the last one current. Without it a key file in the home."
    )
    signing_keys: SecretStr | None = Field(
        None,
        description="Ed25519 keys that sign checkpoints and certificates, as `id:base64,…`, the last one current. "
        "Without it a key file in the home.",
    )
    deployment: str = Field(
        "muniment", description="Name of this deployment in signed checkpoints, as a host name or a URL without scheme."
    )
    checkpoint_records: int = Field(1000, ge=1, description="Records after which a checkpoint is signed.")
    checkpoint_seconds: float = Field(
        60, gt=0, le=86_400, allow_inf_nan=False, description="Seconds after which one is signed for fewer records."
    )
    witness_url: str | None = Field(
        None, description="Address that each new checkpoint is sent to by POST, so that a copy lies elsewhere."
    )
    verify_every_hours: float = Field(
        24, ge=0, le=8760, allow_inf_nan=False, description="Hours between two verifications of each chain; 0: none."
    )
    jwt_key: Path | None = Field(
        None,
        description="File of the key that tokens are checked with: a public key (PEM), or for HS256 the secret itself. "
        "Without it a development key in the home.",
    )
    jwt_jwks: str | None = Field(
        None,
        description="Instead of one key, the issuer's JWKS: an address (https, or a host on this machine) or a file. "
        "It is read again as its keys change.",
    )
    jwt_jwks_max_age_hours: float = Field(
        24,
        gt=0,
        le=8760,
        allow_inf_nan=False,
        description="Hours that the last keys of that JWKS count on while it cannot be read; then no token does.",
    )
    jwt_algorithm: Literal["HS256", "RS256", "ES256", "EdDSA"] = Field("EdDSA", description="Algorithm of that key.")
    jwt_issuer: str = Field("muniment", description="Issuer that a token must name.")
    jwt_audience: str = Field("muniment", description="Audience that a token must name.")
    metrics_token: SecretStr | None = Field(
        None,
        description="Bearer token that `/metrics` asks for. Without it only this machine itself may read them, and not "
        "through a proxy.",
    )
    jwt_claims: str | None = Field(
        None,
        description="What the issuer calls its claims, as `name=claim,…`: `organisation` (`org`), `subject` (`sub`), "
        "`groups`, `client` (`azp`), `allowed_providers`, `actor_type`. `groups=realm_access.roles` reads a claim "
        "within another.",
    )
    jwt_organisation: UUID | None = Field(
        None, description="Organisation of all tokens of the issuer. Without it each names its own."
    )
    jwt_leeway_seconds: float = Field(
        5.0, ge=0, le=300, allow_inf_nan=False, description="Seconds that the issuer's clock may differ."
    )
    cookie_origins: str | None = Field(
        None,
        description="Origins, as `https://host,…`, whose pages may use the cookie, beside those of the host that a "
        "request names.",
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="Least level that is logged.")

    @field_validator("database_url", "migration_database_url")
    @classmethod
    def _postgresql(cls, value: str | None) -> str | None:
        # The value stays out of the sentence: it may hold a password.
        if value is not None and not _POSTGRESQL.match(value):
            raise ValueError("write it as postgresql://user:password@host:port/database")
        return value

    @field_validator("embeddings_url", "rewrite_url", "rerank_url", "witness_url", "gateway_upstream_url")
    @classmethod
    def _endpoint(cls, value: str | None) -> str | None:
        try:
            if value is not None:
                host_of(value)
        except MunimentError as error:
            raise ValueError(error.message) from None
        return value

    @field_validator("jwt_jwks")
    @classmethod
    def _keys_of_issuer(cls, value: str | None, given: ValidationInfo) -> str | None:
        if value is None:
            return None
        if given.data.get("jwt_key") is not None:
            raise ValueError("set either MUNIMENT_JWT_KEY or MUNIMENT_JWT_JWKS")
        try:
            if is_url(value) and locality(value) == "external" and not value.startswith("https://"):
                raise ValueError("keys that came without TLS could be anybody's: write https://…")
        except MunimentError as error:
            raise ValueError(error.message) from None
        return value

    @field_validator("jwt_claims")
    @classmethod
    def _claims(cls, value: str | None) -> str | None:
        try:
            ClaimNames.parse(value or "")
        except MunimentError as error:
            raise ValueError(error.message) from None
        return value

    @field_validator("deployment")
    @classmethod
    def _name(cls, value: str) -> str:
        try:
            return check_name(value)
        except NoteError as error:
            raise ValueError(str(error)) from None

    @field_validator("rewrite_model")
    @classmethod
    def _named(cls, value: str | None, given: ValidationInfo) -> str | None:
        if value is None and given.data.get("rewrite_url") is not None:
            raise ValueError("MUNIMENT_REWRITE_URL is set and needs a model")
        return value

    @field_validator("rate_limits")
    @classmethod
    def _rates(cls, value: str | None) -> str | None:
        try:
            parse_rates(value or "")
        except MunimentError as error:
            raise ValueError(error.message) from None
        return value

    @field_validator("operations_only")
    @classmethod
    def _known(cls, value: str, given: ValidationInfo) -> str:
        if value == "on" and given.data.get("operations") is None:
            raise ValueError("MUNIMENT_OPERATIONS must name them")
        return value

    @field_validator("embeddings_model", "embeddings_dimensions")
    @classmethod
    def _described(cls, value: str | int | None, given: ValidationInfo) -> str | int | None:
        if value is None and given.data.get("embeddings_url") is not None:
            raise ValueError("MUNIMENT_EMBEDDINGS_URL is set and needs a model and its dimensions")
        return value

    @property
    def embedding(self) -> Literal["local", "hash", "none", "http"]:
        """What embeds."""
        return "http" if self.embeddings_url is not None else self.embedder

    @field_validator("level_weights")
    @classmethod
    def _readable(cls, value: str | None) -> str | None:
        try:
            parse_level_weights(value or "")
        except MunimentError as error:
            raise ValueError(error.message) from None
        return value
