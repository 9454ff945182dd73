"""The stages that ask another host, put into a retriever, with time that passes when it is told to."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

from app.domain.locality import Locality
from app.providers.chat import Chat
from app.providers.endpoint import Endpoint
from app.providers.reranker import Reranker
from app.retrieval.rerank import Reranking
from app.retrieval.rewrite import Rewriter
from tests.fixtures.store import World

#: Milliseconds of an own timeout that no test can wait out.
HOUR = 3_600_000.0


@dataclass
class Clock:
    """Seconds, from some arbitrary start."""

    now: float = 1000.0

    def __call__(self) -> float:
        return self.now

    def pass_ms(self, milliseconds: float) -> None:
        self.now += milliseconds / 1000


def without_stages(world: World) -> World:
    retriever = replace(world.parts.retriever, rewriter=None, reranking=None)
    return replace(world, parts=replace(world.parts, retriever=retriever))


@asynccontextmanager
async def with_stages(
    world: World,
    *,
    chat: str | None = None,
    rerank: str | None = None,
    locality: Locality = "in_deployment",
    candidates: int = 50,
    timeout_ms: float = HOUR,
    **options: Any,
) -> AsyncIterator[World]:
    """The world, asked through a retriever with these endpoints; `options` are other fields of the retriever."""
    clients: list[Chat | Reranker] = []
    retriever = replace(world.parts.retriever, **options)
    if chat is not None:
        model = Chat(Endpoint(chat, locality), "writer")
        clients.append(model)
        retriever = replace(retriever, rewriter=Rewriter(model, timeout_ms))
    if rerank is not None:
        reranker = Reranker(Endpoint(rerank, locality), "cross")
        clients.append(reranker)
        retriever = replace(retriever, reranking=Reranking(reranker, timeout_ms, candidates))
    try:
        yield replace(world, parts=replace(world.parts, retriever=retriever))
    finally:
        for client in clients:
            await client.close()
