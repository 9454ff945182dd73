"""How many SQL statements each operation takes, and that it is as many for a large answer as for a small one.

Every field of what it returns is asked for, so one that is looked up item by item shows.
"""

import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest
from graphql import GraphQLObjectType, get_named_type, is_composite_type, is_required_argument

from app.assembly.services import Services
from app.domain.limits import Rates
from app.domain.principal import Level
from app.identity.rates import RateLimiter
from tests.fixtures.inhabited import SUBJECT, Names, inhabit
from tests.fixtures.operations import BY_FIELD, OPERATIONS, Operation
from tests.fixtures.store import make_world
from tests.resilience.fuzzing import subscribe
from tests.retrieval.test_statements import statements
from tests.schema.conftest import Api, connect, token_of
from tests.schema.strings import Place, called

MORE = 12
FILL = """mutation($n: String!, $s: ID!, $a: ID!, $p: ID!) {
    createLens(input: {name: $n, spaceKey: "project", spaceIds: [$s]}) { id }
    createGroup(key: $n, spaceKey: "project") { id }
    own: remember(input: {text: $n, spaceKey: "project"}) { id }
    theirs: remember(input: {text: $n, spaceKey: "project", subjectId: $p}) { id }
    another: remember(input: {text: $n, spaceKey: "project", subjectId: $a}) { id }
    proposeMemory(changes: {text: $n}, spaceKey: "project") { memoryId }
    grantPermissions(
        input: {grantee: {kind: GROUP, name: $n}, permissions: [READ, SEARCH], spaceKey: "project"}
    ) { id }
    createApiKey(input: {name: $n, actions: [SEARCH]}) { secret }
}"""
ASK = """query($n: String!, $p: ID!) {
    retrieve(input: {query: $n, spaceKey: "project", subjectId: $p}) { requestId } }"""
#: At most so many, each transaction's settings and the look whether the token was revoked among them. A further one is
#: a round trip more for every caller: it needs a reason.
STATEMENTS: Mapping[str, int] = {
    "me": 4,
    "capabilities": 2,
    "spaces": 4,
    "status": 13,
    "levelWeights": 7,
    "lens": 7,
    "lenses": 6,
    "grants": 8,
    "retrieve": 15,
    "compareRetrievals": 18,
    "memory": 7,
    "memories": 9,
    "subjects": 5,
    "groups": 5,
    "proposals": 6,
    "documents": 7,
    "document": 7,
    "source": 5,
    "sources": 5,
    "job": 6,
    "jobs": 6,
    "jobProgress": 10,
    "history": 6,
    "attribution": 4,
    "evidence": 10,
    "attributions": 6,
    "trace": 6,
    "explainExclusion": 7,
    "modelCalls": 5,
    "inclusionProof": 8,
    "evidenceLeaf": 5,
    "replay": 20,
    "impact": 8,
    "staleAttributions": 10,
    "verifyChain": 12,
    "chainVerifications": 6,
    "checkpoint": 6,
    "consistencyProof": 7,
    "chainVerification": 4,
    "contextChanged": 8,
    "setActiveSpace": 9,
    "correctMemory": 11,
    "changeMemory": 9,
    "proposeMemory": 8,
    "acceptMemory": 16,
    "rejectMemory": 9,
    "retractMemory": 8,
    "createSubject": 7,
    "createGroup": 7,
    "setGroupMembership": 12,
    "forgetSubject": 17,
    "correctDocument": 30,
    "retractDocument": 21,
    "createSource": 8,
    "ingestDocuments": 24,
    "setSourceClassification": 7,
    "retryJob": 8,
    "syncSource": 8,
    "deleteSource": 8,
    "linkResponse": 11,
    "createSpace": 9,
    "setLevelWeights": 9,
    "createLens": 9,
    "changeLens": 11,
    "retractLens": 9,
    "grantPermissions": 14,
    "revokePermissions": 14,
    "apiKeys": 3,
    "createApiKey": 12,
    "revokeApiKey": 10,
    "revokeTokens": 10,
    "dlpPolicy": 7,
    "dlpFindings": 7,
    "setDlpPolicy": 13,
    "reindexSource": 8,
    "backfillEmbeddings": 10,
    "ensureSpace": 9,
    "remember": 13,
}
#: Those whose answers are longer where there is more.
PAGES = frozenset(
    {
        "spaces",
        "lenses",
        "grants",
        "retrieve",
        "compareRetrievals",
        "memories",
        "subjects",
        "groups",
        "documents",
        "sources",
        "evidence",
        "impact",
        "staleAttributions",
        "apiKeys",
        "dlpFindings",
    }
)


@pytest.fixture(scope="module")
async def both(parts: Services) -> AsyncIterator[list[tuple[Api, Names]]]:
    """The same organisation twice, once with a dozen more of everything."""
    limits = replace(parts.limits, cost=10**6, fields=10**5, aliases=10**3, depth=30)
    parts = replace(parts, limits=limits, rates=RateLimiter(parts.database, Rates(0)))
    async with connect(parts) as http:
        small, large = Api(await make_world(parts), http), Api(await make_world(parts), http)
        found = [(small, await inhabit(small)), (large, await inhabit(large))]
        for (api, names), number in zip(found, (1, MORE), strict=True):
            await fill(api, names, number)
            while await parts.sequencer.turn(api.world.organisation):
                pass
        yield found


async def fill(api: Api, names: Names, more: int) -> None:
    world = api.world
    for number in range(more):
        await world.add_space(f"more-{number}", Level.PROJECT)
        await world.add_source(f"more-{number}")
        await world.write(f"more-{number}.md", (f"# Ledger {number}\n\nThe ledger {number} is closed.", None, None))
        named = {"n": f"ledger {number}", "p": SUBJECT}
        await api.data(FILL, {**named, "s": names.space, "a": f"more-{number}"})
        await api.data(ASK, named)
    # What was delivered moves, of every delivery.
    for name in ("page.md", "more-0.md"):
        await world.write(name, (f"# Ledger\n\nThe ledger of {name} is open again.", None, None))
    await world.settle()


def everything(type_: Any, depth: int = 0) -> str:
    """Every field that needs no argument, to a depth at which types that hold each other end."""
    chosen = []
    for name, field in type_.fields.items():
        named = get_named_type(field.type)
        if any(map(is_required_argument, field.args.values())):
            continue
        if not is_composite_type(named):
            chosen.append(name)
        elif isinstance(named, GraphQLObjectType) and depth < 5:
            chosen.append(f"{name} {everything(named, depth + 1)}")
    return f"{{ {' '.join(chosen)} }}"


async def count(api: Api, names: Names, operation: Operation) -> tuple[int, Any]:
    """Statements, and the answer."""
    field = Place(operation, ()).field
    given = called(operation, names)
    if "first" in field.args:
        given["first"] = 50
    if isinstance(given.get("input"), dict) and "query" in given["input"]:
        # One that nobody asked before: what is remembered of searches is counted elsewhere.
        given["input"] |= {"query": f"ledger {uuid4().hex}", "topK": 50, "maxPerLevel": 50, "maxMemories": 50}
    named = get_named_type(field.type)
    below = everything(named) if is_composite_type(named) else ""
    signature = ", ".join(f"${name}: {field.args[name].type}" for name in given)
    passed = ", ".join(f"{name}: ${name}" for name in given)
    call = f"{operation.field}({passed})" if given else operation.field
    document = f"{operation.root}{f'({signature})' if given else ''} {{ {call} {below} }}"
    with statements(api.world.parts.database) as seen:
        if operation.root == "subscription":
            sent = json.dumps({"query": document, "variables": given})
            _, [first, *_] = await subscribe(api.http, sent, token_of(api.world), 1)
            body = json.loads(first)
        else:
            body = await api.ask(document, given)
    assert "errors" not in body, body
    return len(seen), body["data"][operation.field]


def size(value: Any) -> int:
    if isinstance(value, dict):
        return sum(map(size, value.values()))
    if isinstance(value, list):
        return len(value) + sum(map(size, value))
    return 0


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.field)
async def test_the_number_of_statements(both, operation: Operation) -> None:
    (small, few), (large, many) = both
    if operation.root == "query":
        # What is derived behind the chain is derived with the first look.
        for api, names in both:
            await count(api, names, operation)
    first, short = await count(small, few, operation)
    second, long = await count(large, many, operation)
    assert max(first, second) <= STATEMENTS[operation.field]
    # Nothing is looked up item by item.
    assert second <= first
    if operation.field in PAGES:
        assert size(long) >= size(short) + MORE - 1


def test_every_root_field_is_counted() -> None:
    assert set(STATEMENTS) == set(BY_FIELD)
