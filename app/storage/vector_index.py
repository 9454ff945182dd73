"""The index of a model's vectors (HNSW, Malkov and Yashunin, 2018), made by the owner of the tables where it is wanted.

A column of vectors has one index a model: its dimensions are part of the type that is indexed. Only rows that are open
on both clocks are in it. It is kept up by every write from then on, whatever backend searches.
"""

from hashlib import blake2b

from sqlalchemy import text
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool

from app.domain.errors import Code, MunimentError

#: What pgvector can index of half precision.
MOST_DIMENSIONS = 4_000

#: Neighbours that are weighed for each row that is added. By pgvector's default of 64 whole clusters of near rows may
#: be left without a way in; then a question about them finds none of its ten nearest.
EF_CONSTRUCTION = 128

#: Any number that all processes agree on: they take turns.
_LOCK = 0x4D554E4A
_VECTOR_SCHEMA = """
    SELECT set_config('search_path', quote_ident(current_schema()) || ', ' || quote_ident(n.nspname), true)
    FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector'
"""


def index_name(model: str, dimensions: int) -> str:
    return f"embeddings_live_hnsw_{blake2b(model.encode(), digest_size=6).hexdigest()}_{dimensions}"


async def ensure_index(url: str, model: str, dimensions: int) -> None:
    """Make the index unless it is there: some 40 s for 100,000 vectors, without writes. `url`: the owner's."""
    if not 0 < dimensions <= MOST_DIMENSIONS:
        raise MunimentError(
            Code.BAD_USER_INPUT,
            f"vectors of {dimensions} dimensions cannot be indexed: set MUNIMENT_SEARCH_BACKEND=exact",
        )
    name = index_name(model, dimensions)
    engine = create_async_engine(url, poolclass=NullPool)
    try:
        async with engine.begin() as connection:
            await connection.execute(text(f"SELECT pg_advisory_xact_lock({_LOCK})"))
            await connection.execute(text(_VECTOR_SCHEMA))
            if (await connection.execute(text("SELECT to_regclass(:name)"), {"name": name})).scalar() is not None:
                return
            named = model.replace("'", "''")
            await connection.exec_driver_sql("SET LOCAL maintenance_work_mem = '256MB'")
            await connection.exec_driver_sql(
                f"CREATE INDEX {name} ON embeddings_live USING hnsw ((CAST(vector AS halfvec({dimensions}))) "
                f"halfvec_cosine_ops) WITH (ef_construction = {EF_CONSTRUCTION}) WHERE model = '{named}'"
            )
            await connection.exec_driver_sql("ANALYZE embeddings_live")
    finally:
        await engine.dispose()
