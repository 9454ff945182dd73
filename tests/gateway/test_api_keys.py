"""A program's key at the gateway: let in as at the API, and never seen by the provider."""

import httpx

from app.domain.principal import Permission
from app.identity.api_keys import Wanted, create_api_key, revoke_api_key
from tests.fixtures.upstream import COMPLETION

LINK = "x-muniment-context-link"


async def key(world, *actions, **options):
    wanted = Wanted("agent", actions or (Permission.SEARCH,), **options)
    return await create_api_key(world.parts.database, world.principal, wanted)


async def post(gateway, secret, **headers):
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    return await gateway.http.post(
        f"{gateway.url}/v1/chat/completions",
        json={"model": "m", "messages": []},
        headers={"Authorization": f"Bearer {secret}", **given},
    )


async def retrieved(gateway, secret) -> str:
    query = '{ retrieve(input: {query: "x", spaceKey: "project"}) { attributionId } }'
    answer = await gateway.http.post(
        f"{gateway.url}/graphql", json={"query": query}, headers={"Authorization": f"Bearer {secret}"}
    )
    found: str = answer.json()["data"]["retrieve"]["attributionId"]
    return found


async def test_a_key_is_let_in_and_goes_no_further(gateway, world):
    made, secret = await key(world)
    got = await post(gateway, secret, Cookie=f"token={secret}", X_Api_Key=secret, X_Muniment_Key=secret)
    assert got.json() == COMPLETION
    [exchange] = gateway.provider.exchanges
    for part in (secret, secret[9:], made.prefix):
        for name, value in exchange.headers:
            assert part.encode() not in name + value
        assert part.encode() not in exchange.line + exchange.body


async def test_a_key_links_what_was_retrieved_with_it_and_nothing_else(gateway, world):
    _, one = await key(world)
    _, other = await key(world)
    ours, theirs = await retrieved(gateway, one), await retrieved(gateway, other)
    got = await post(gateway, one, X_Muniment_Context_Request_Id=ours)
    assert (got.json(), got.headers[LINK]) == (COMPLETION, "linked")
    persons = str((await world.ask("x")).attribution_id)
    for others in (theirs, persons):
        got = await post(gateway, one, X_Muniment_Context_Request_Id=others)
        assert (got.json(), got.headers[LINK]) == (COMPLETION, "denied")
    # What an auditing key may read it still does not link.
    _, auditor = await key(world, Permission.AUDIT_READ, Permission.SEARCH)
    got = await post(gateway, auditor, X_Muniment_Context_Request_Id=persons)
    assert got.headers[LINK] == "denied"


async def test_a_revoked_key_and_a_cookie_are_refused(gateway, world):
    made, secret = await key(world)
    assert (await post(gateway, secret)).status_code == 200
    await revoke_api_key(world.parts.database, world.principal, made.id)
    refused = await post(gateway, secret)
    assert refused.status_code == 401
    _, good = await key(world)
    url = f"{gateway.url}/v1/chat/completions"
    signs = {"Cookie": f"token={good}", "Origin": gateway.url, "X-Muniment-Csrf": "1"}
    async with httpx.AsyncClient() as http:
        refused = await http.post(url, json={"model": "m", "messages": []}, headers=signs)
    assert refused.status_code == 401
    assert len(gateway.provider.exchanges) == 1
