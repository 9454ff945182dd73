"""An endpoint that records every byte: nothing sensitive is ever in them, and of barred classes nothing at all."""

import json
from dataclasses import replace

import pytest
from sqlalchemy import text

from app.domain.dlp.policy import Action, Classification
from app.domain.dlp.scanning import ScanFailed, Scanner
from app.domain.locality import INSIDE_ONLY
from app.ingestion.embedding import EmbeddingWorker
from app.ingestion.policy import set_policy
from app.memory.resolve import Named
from app.memory.revision import Changes
from app.providers.chat import Chat
from app.providers.embedder.endpoint import EndpointEmbedder
from app.providers.embedder.hashing import HashingEmbedder
from app.providers.endpoint import Endpoint
from app.providers.reranker import Reranker
from app.retrieval.rerank import Reranking
from app.retrieval.rewrite import Rewriter
from tests.fixtures.endpoint import answers, says, scores

SENSITIVE = [
    "jane.roe@example.org",
    "4111 1111 1111 1111",
    "DE89 3704 0044 0532 0130 00",
    "536-22-8726",
    "203.0.113.77",
    "+49 30 901820",
    "hunter2SuperSecret",
    "AKIAIOSFODNN7EXAMPLE",
    "MIIEowIBAAKCAQEAbody",
]
PAGE = f"""# Contact of the {{0}} desk jane.roe@example.org

The {{0}} desk takes refunds by {SENSITIVE[1]} or {SENSITIVE[2]}; number {SENSITIVE[3]}, host {SENSITIVE[4]}, telephone
{SENSITIVE[5]}, password: a@b.co:{SENSITIVE[6]} and {SENSITIVE[7]}.

-----BEGIN RSA PRIVATE KEY-----
{SENSITIVE[8]}
-----END RSA PRIVATE KEY-----
"""
QUESTION = f"what does the desk of {SENSITIVE[0]} say of refunds to {SENSITIVE[1]}, password: {SENSITIVE[6]}?"
#: As it was indexed before there were tags.
OLD = text("UPDATE chunks SET dlp_tag = '' WHERE organisation_id = :organisation")
DIMENSIONS = HashingEmbedder.dimensions


async def speaks(call, writer):
    """All three services of one host."""
    body = call.json
    if call.path.endswith("/embeddings"):
        vectors = HashingEmbedder().embed(body["input"])
        data = [{"index": n, "embedding": [float(x) for x in row]} for n, row in enumerate(vectors)]
        await answers({"data": data[::-1]})(call, writer)
    elif call.path.endswith("/rerank"):
        await scores(lambda document: float(len(document)))(call, writer)
    else:
        await says(f"which desk takes refunds, ask {SENSITIVE[0]}")(call, writer)


def with_endpoint(world, url, locality, scanner=None):
    """The same world where everything that can be asked of another host is."""
    embedder = EndpointEmbedder(Endpoint(url, locality), "remote", DIMENSIONS)
    retriever = replace(
        world.parts.retriever,
        embedder=embedder,
        rewriter=Rewriter(Chat(Endpoint(url, locality), "writer")),
        reranking=Reranking(Reranker(Endpoint(url, locality), "cross")),
        **({"scanner": scanner} if scanner else {}),
    )
    worker = EmbeddingWorker(world.parts.database, embedder, *([scanner] if scanner else []))
    reviser = replace(world.parts.memory.reviser, embedder=embedder)
    memory = replace(world.parts.memory, reviser=reviser)
    return replace(world, parts=replace(world.parts, retriever=retriever, embedding=worker, memory=memory))


@pytest.mark.parametrize("locality", ["in_deployment", "external"])
@pytest.mark.parametrize("action", list(Action))
async def test_nothing_sensitive_is_ever_sent_anywhere(world, endpoint, action, locality):
    endpoint.does(speaks)
    asking = with_endpoint(world, endpoint.url, locality)
    await set_policy(world.parts.database, world.principal, [(kind, action) for kind in Classification])
    for kind in Classification:
        source = await asking.add_source(kind.value, classification=kind.value)
        await asking.write(f"{kind.value}.md", (PAGE.format(f"{kind.value}desk"), None, None), source=source)
    await asking.settle()
    for query in (QUESTION, SENSITIVE[7]):
        await asking.ask(query, top_k=50, max_per_level=50, token_budget=None)
    await asking.write("late.md", (PAGE.format("latedesk"), None, None))
    await asking.ask(QUESTION)
    await asking.parts.memory.remember(
        world.principal, Named(space_key="project"), Changes(text=f"Jane is {SENSITIVE[0]}"), since=None, until=None,
        from_now=True,
    )  # fmt: skip
    sent = [json.dumps(call.json, ensure_ascii=False) for call in endpoint.calls]
    assert {call.path.rsplit("/", 1)[-1] for call in endpoint.calls} >= {"embeddings", "completions"}
    assert not [value for value in SENSITIVE for body in sent if value in body]
    for kind in Classification:
        told = any(f"{kind.value}desk" in body for body in sent)
        barred = action in (Action.DROP, Action.BLOCK_SOURCE) or (locality == "external" and kind.value in INSIDE_ONLY)
        assert told is not barred


async def test_a_scan_that_fails_sends_nothing(world, endpoint):
    def broken(looked_at):
        raise RuntimeError(looked_at.folded)

    endpoint.does(speaks)
    asking = with_endpoint(world, endpoint.url, "in_deployment", Scanner(more=[broken]))
    with pytest.raises(ScanFailed):
        await asking.ask("what of refunds?")
    await world.write("a.md", ("# Page\n\nRefunds are paid.", None, None))
    async with world.parts.database.write(world.organisation) as session:
        await session.run(OLD, {"organisation": world.organisation})
    with pytest.raises(ScanFailed):
        await asking.parts.embedding.drain(world.organisation)
    broken_preparer = replace(world.parts.preparer, scanner=Scanner(more=[broken]))
    with pytest.raises(ScanFailed):
        await replace(world, parts=replace(world.parts, preparer=broken_preparer)).write("b.md", ("x", None, None))
    assert endpoint.calls == []
