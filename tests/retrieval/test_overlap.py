"""Words are searched while the question is being embedded, unless that would hold a connection for too long."""

import asyncio
from dataclasses import dataclass, field, replace

import pytest

from app.domain.errors import Code, MunimentError
from app.providers.embedder.hashing import HashingEmbedder
from app.storage.engine import Database


@dataclass
class Watched:
    """An embedder that notes how many connections are taken while it works, and takes its time."""

    database: Database
    locality: str
    inner: HashingEmbedder = field(default_factory=HashingEmbedder)
    taken: list[int] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)
    languages: frozenset[str] | None = None

    @property
    def in_process(self):
        return self.locality == "in_deployment"

    def reads(self, text: str) -> bool:
        return True

    @property
    def model(self):
        return self.inner.model

    @property
    def dimensions(self):
        return self.inner.dimensions

    async def embed_query(self, text):
        try:
            await asyncio.sleep(0.05)
            self.taken.append(self.database._engine.pool.checkedout())
        except asyncio.CancelledError:
            self.ended.append(text)
            raise
        return await self.inner.embed_query(text)


def asking(world, locality):
    embedder = Watched(world.parts.database, locality)
    retriever = replace(world.parts.retriever, embedder=embedder)
    return replace(world, parts=replace(world.parts, retriever=retriever)), embedder


@pytest.mark.parametrize(("locality", "taken"), [("in_deployment", 1), ("external", 0)])
async def test_no_connection_is_held_while_another_host_embeds(world, locality, taken):
    await world.write("a.md", ("Refunds are authorised.", None, None))
    await world.settle()
    watching, embedder = asking(world, locality)
    answer = await watching.ask("refunds")
    assert embedder.taken == [taken]
    assert [item.passage.external_id for item in answer.passages] == ["a.md"]


async def test_none_is_held_either_while_most_are_in_use(world):
    watching, embedder = asking(world, "in_deployment")
    database = world.parts.database
    held = [database.snapshot(world.organisation) for _ in range(world.parts.settings.pool_size // 2)]
    for snapshot in held:
        await snapshot.__aenter__()
    try:
        await watching.ask("refunds")
    finally:
        for snapshot in held:
            await snapshot.__aexit__(None, None, None)
    assert embedder.taken == [len(held)]


async def test_a_refused_question_is_not_embedded_to_the_end(world):
    watching, embedder = asking(world, "in_deployment")
    with pytest.raises(MunimentError) as refused:
        await watching.ask("refunds", space_key="nowhere")
    assert refused.value.code is Code.SPACE_NOT_FOUND
    await asyncio.sleep(0)
    assert embedder.ended == ["refunds"]
    assert embedder.taken == []


async def test_an_embedder_that_fails_fails_the_question_and_frees_the_connection(world):
    class Broken(Watched):
        async def embed_query(self, text):
            raise MunimentError(Code.SEARCH_UNAVAILABLE, "the embedder is gone")

    embedder = Broken(world.parts.database, "in_deployment")
    retriever = replace(world.parts.retriever, embedder=embedder)
    broken = replace(world, parts=replace(world.parts, retriever=retriever))
    before = world.parts.database._engine.pool.checkedout()
    with pytest.raises(MunimentError) as failed:
        await broken.ask("refunds")
    assert failed.value.code is Code.SEARCH_UNAVAILABLE
    assert world.parts.database._engine.pool.checkedout() == before
