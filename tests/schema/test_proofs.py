"""Checkpoints, proofs and certificates as a client sees them, checked with nothing but the public keys."""

import base64
import hashlib
import json
from dataclasses import replace

import jwt
import pytest

from app.domain.certificate import TYPE, certificate, claims
from app.domain.checkpoint import key_hash, open_note, parse_checkpoint
from app.domain.merkle import consistent, included
from app.domain.principal import Permission
from app.providers.signing import genuine
from app.server.keys import PATH
from tests.schema.conftest import Api, token_of

ASK = """query($i: RetrieveInput!) { retrieve(input: $i) { certificate attributionId requestId
    contract { validAt knownAt issuedAt } passages { contentSha256 } memories { contentSha256 }
    searchMeta { cacheHit } } }"""
INCLUSION = """query($a: ID, $s: BigInt, $t: BigInt) { inclusionProof(attributionId: $a, sequence: $s, treeSize: $t) {
    attributionId sequence treeSize leafHash root hashes checkpoint { origin treeSize root note keyId issuedAt } } }"""
CONSISTENCY = """query($f: BigInt!, $t: BigInt!) { consistencyProof(from: $f, to: $t) {
    fromSize toSize fromRoot toRoot hashes } }"""
LEAF = "query($a: ID, $s: BigInt) { evidenceLeaf(attributionId: $a, sequence: $s) { attributionId sequence data } }"
CHECKPOINT = "{ checkpoint { origin treeSize root note keyId issuedAt } }"


async def shelf(api: Api) -> None:
    for number in range(3):
        await api.world.write(f"{number}.md", (f"refunds in memo {number}", None, None))
    await api.world.settle()


async def ask(api: Api, **options):
    asked = {"query": "refunds", "spaceKey": "project"}
    return (await api.data(ASK, {"i": asked}, **options))["retrieve"]


async def chain(api: Api) -> None:
    while await api.world.parts.sequencer.turn(api.world.organisation):
        pass


async def published(api: Api):
    answer = await api.http.get(PATH)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/jwk-set+json"
    return jwt.PyJWKSet.from_json(answer.text)


def raw(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


async def test_the_public_keys_are_there_for_anyone(api: Api) -> None:
    answer = await api.http.get(PATH)
    keys = answer.json()["keys"]
    assert [key["kid"] for key in keys] == list(api.world.parts.signing.public_keys)
    assert {key["kty"] for key in keys} == {"OKP"}
    assert all(set(key) == {"kty", "crv", "use", "alg", "kid", "x"} for key in keys)
    assert (await api.http.post(PATH)).status_code == 405


async def test_each_retrieval_has_a_certificate_that_others_can_check(api: Api) -> None:
    await shelf(api)
    answer = await ask(api)
    token = answer["certificate"]
    header = jwt.get_unverified_header(token)
    assert (header["alg"], header["typ"]) == ("EdDSA", TYPE)
    key = (await published(api))[header["kid"]].key
    said = jwt.decode(token, key, algorithms=["EdDSA"])
    assert said == {
        "requestId": answer["requestId"],
        "attributionId": answer["attributionId"],
        "organisationId": str(api.world.organisation),
        "passages": [passage["contentSha256"] for passage in answer["passages"]],
        "memories": [],
        "validAt": answer["contract"]["validAt"],
        "knownAt": answer["contract"]["knownAt"],
        "issuedAt": answer["contract"]["issuedAt"],
    }
    assert len(said["passages"]) == 3
    for place in (0, len(token) // 2, len(token) - 3):
        edited = token[:place] + ("A" if token[place] != "A" else "B") + token[place + 1 :]
        with pytest.raises(jwt.PyJWTError):
            jwt.decode(edited, key, algorithms=["EdDSA"])


async def test_a_certificate_is_made_again_from_the_record(api: Api) -> None:
    await shelf(api)
    answer = await ask(api)
    found = await api.data("query($id: ID!) { attribution(id: $id) { record } }", {"id": answer["attributionId"]})
    record = found["attribution"]["record"]
    signer = api.world.parts.signing.signer
    assert certificate(record, signer.key_id, signer.sign) == answer["certificate"]
    assert list(claims(record)) == [
        "requestId", "attributionId", "organisationId", "passages", "memories", "validAt", "knownAt", "issuedAt",
    ]  # fmt: skip
    again = await ask(api)
    assert again["searchMeta"]["cacheHit"]
    assert again["certificate"] != answer["certificate"]


async def test_memories_are_in_the_certificate(api: Api) -> None:
    remember = """mutation($i: RememberInput!) { remember(input: $i) { __typename } }"""
    await api.data(remember, {"i": {"spaceKey": "project", "text": "Refunds are paid on Fridays."}})
    answer = await ask(api)
    key = next(iter((await published(api)).keys)).key
    said = jwt.decode(answer["certificate"], key, algorithms=["EdDSA"])
    assert said["memories"] == [memory["contentSha256"] for memory in answer["memories"]]
    assert len(said["memories"]) == 1


async def test_a_record_is_proven_with_the_public_key_alone(api: Api) -> None:
    await shelf(api)
    assert (await api.data(CHECKPOINT))["checkpoint"] is None
    answers = [await ask(api) for _ in range(3)]
    await chain(api)
    unsigned = (await api.data(INCLUSION, {"a": answers[0]["attributionId"]}))["inclusionProof"]
    assert unsigned["checkpoint"] is None
    await api.world.parts.checkpoints.sign(api.world.organisation)
    shown = (await api.data(INCLUSION, {"a": answers[1]["attributionId"]}))["inclusionProof"]
    checkpoint = (await api.data(CHECKPOINT))["checkpoint"]
    assert shown["checkpoint"] == checkpoint
    # From here on as somebody who has the note, the proof and the public key.
    name, public = checkpoint["origin"], (await published(api))[checkpoint["keyId"]].key.public_bytes_raw()
    assert name == f"muniment/{api.world.organisation}"
    note = open_note(checkpoint["note"].encode(), {(name, key_hash(name, public)): public}, genuine)
    tree = parse_checkpoint(note.text)
    assert (tree.size, tree.root) == (checkpoint["treeSize"], raw(checkpoint["root"]))
    path = [raw(item) for item in shown["hashes"]]
    assert included(shown["sequence"] - 1, tree.size, raw(shown["leafHash"]), path, tree.root)
    leaf = (await api.data(LEAF, {"s": shown["sequence"]}))["evidenceLeaf"]
    assert leaf == (await api.data(LEAF, {"a": answers[1]["attributionId"]}))["evidenceLeaf"]
    assert hashlib.sha256(b"\0" + raw(leaf["data"])).digest() == raw(shown["leafHash"])
    data = raw(leaf["data"])
    assert json.loads(data[len("muniment/leaf/v1\0") + 24 + 1 + data[41] + 64 :])["id"] == leaf["attributionId"]
    by_place = (await api.data(INCLUSION, {"s": shown["sequence"], "t": tree.size}))["inclusionProof"]
    assert by_place == shown


async def test_a_later_tree_goes_on_from_an_earlier_one(api: Api) -> None:
    for _ in range(5):
        await ask(api)
    await chain(api)
    shown = (await api.data(CONSISTENCY, {"f": 2, "t": "5"}))["consistencyProof"]
    assert (shown["fromSize"], shown["toSize"]) == (2, 5)
    path = [raw(item) for item in shown["hashes"]]
    assert consistent(2, 5, path, raw(shown["fromRoot"]), raw(shown["toRoot"]))
    error = await api.error(CONSISTENCY, {"f": 2, "t": 6})
    assert (error["extensions"]["code"], error["extensions"]["field"]) == ("BAD_USER_INPUT", "from")


async def test_who_may_not_see_the_record_gets_no_proof_of_it(api: Api) -> None:
    answer = await ask(api)
    await chain(api)
    await api.world.add_person("reader", (api.world.project, Permission.SEARCH))
    reader = token_of(api.world, "reader")
    for query in (INCLUSION, LEAF):
        for variables in ({"a": answer["attributionId"]}, {"s": 1}):
            error = await api.error(query, variables, token=reader)
            assert error["extensions"]["code"] == "ATTRIBUTION_NOT_FOUND"
            error = await api.error(query, variables, token="")
            assert error["extensions"]["code"] == "UNAUTHENTICATED"
        assert (await api.error(query, {}))["extensions"]["code"] == "BAD_USER_INPUT"
        assert (await api.error(query, {"s": 2}))["extensions"]["code"] == "ATTRIBUTION_NOT_FOUND"
    for query, variables in ((CHECKPOINT, {}), (CONSISTENCY, {"f": 1, "t": 1})):
        error = await api.error(query, variables, token=reader)
        assert error["extensions"]["code"] == "FORBIDDEN"
    # An administrator sees of a record what they may see elsewhere; its bytes cannot be cut to that.
    await api.world.add_person("administrator", (api.world.project, Permission.ADMIN))
    administrator = token_of(api.world, "administrator")
    assert (await api.data(INCLUSION, {"s": 1}, token=administrator))["inclusionProof"]["sequence"] == 1
    error = await api.error(LEAF, {"s": 1}, token=administrator)
    assert error["extensions"]["code"] == "ATTRIBUTION_NOT_FOUND"
    own = await ask(api, token=reader)
    await chain(api)
    shown = (await api.data(INCLUSION, {"a": own["attributionId"]}, token=reader))["inclusionProof"]
    assert shown["sequence"] == 2


async def test_without_signing_keys_there_is_no_certificate(api: Api) -> None:
    await shelf(api)
    world = api.world
    retriever = replace(world.parts.retriever, signing=None)
    answer = await replace(world, parts=replace(world.parts, retriever=retriever)).ask("refunds")
    assert answer.certificate is None


def test_a_certificate_has_one_form() -> None:
    record = {
        "requestId": "r", "attributionId": "a", "organisationId": "o", "chunks": [{"sha256": "c", "x": 1}],
        "memories": [{"sha256": "m"}], "validAt": "v", "knownAt": "k", "issuedAt": "i", "parameters": {},
    }  # fmt: skip
    token = certificate(record, "kid", lambda message: b"signature of " + message[:3])
    header, payload, signature = (base64.urlsafe_b64decode(part + "==") for part in token.split("."))
    assert header == b'{"alg":"EdDSA","kid":"kid","typ":"muniment-certificate+jws"}'
    assert payload == json.dumps(claims(record), sort_keys=True, separators=(",", ":")).encode()
    assert signature == b"signature of eyJ"
