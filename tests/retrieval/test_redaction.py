"""What is given passes today's policy: masked where it stands, left out with its reason, recorded as it was given."""

import hashlib
from uuid import UUID

import pytest

from app.domain.dlp.policy import Action, Classification
from app.domain.document import DocumentFacts
from app.domain.errors import MunimentError
from app.domain.replay import Drift, ReplayVerdict
from app.domain.selection import Reason
from app.domain.temporal import Period, Portion
from app.evidence.replay import replay
from app.history.rectangles import history
from app.ingestion.listing import list_documents
from app.ingestion.policy import read_findings, read_policy, set_policy
from app.ingestion.reconcile import cut_of
from app.ingestion.store import Moved, Wanted, write_batch
from app.memory.resolve import Named
from app.memory.revision import Changes
from app.providers.parsers.registry import parse
from app.retrieval.again import rerun
from app.storage import evidence

TEXT = "# Desk\n\nRefunds: write to jane@example.org\nor call +49 30 901820.\n"
MASKED = "# Desk\n\nRefunds: write to [EMAIL*********]\nor call [PHONE******].\n".strip()


async def under(world, action, *kinds):
    chosen = kinds or tuple(Classification)
    return await set_policy(world.parts.database, world.principal, [(kind, action) for kind in chosen])


async def reindexed(world):
    await world.parts.reindexer.drain(world.organisation)
    await world.settle()


async def record_of(world, answer):
    async with world.parts.database.snapshot(world.organisation) as session:
        return (await evidence.find_record(session, answer.attribution_id)).payload


@pytest.fixture
async def desk(world):
    await world.write("desk.md", (TEXT, None, None))
    await world.write("clean.md", ("# Clean\n\nRefunds are paid at once.\n", None, None))
    await world.settle()
    return world


def given(answer):
    return {item.passage.external_id: item for item in answer.passages}


async def listed(world, source):
    return await list_documents(
        world.parts.database, world.principal, str(source.id), None, None, after=UUID(int=0), limit=10
    )


def left_out(answer):
    return {(item.type, item.stage): item.count for item in answer.exclusions}


async def test_by_default_what_is_found_is_masked_in_its_place(desk):
    found = given(await desk.ask("refunds"))["desk.md"]
    assert found.passage.text == MASKED
    assert len(MASKED) == len(TEXT.strip())
    assert found.content_sha256 == hashlib.sha256(MASKED.encode()).hexdigest()
    assert found.passage.tokens == desk.parts.retriever.tokens.count(MASKED)


async def test_the_counted_tokens_are_those_of_what_is_given(desk):
    answer = await desk.ask("refunds")
    assert answer.tokens_total == sum(desk.parts.retriever.tokens.count(item.passage.text) for item in answer.passages)


async def test_what_is_allowed_is_given_as_it_is(desk):
    await under(desk, Action.ALLOW)
    assert given(await desk.ask("refunds"))["desk.md"].passage.text == TEXT.strip()


async def test_a_dropped_passage_is_counted_and_its_source_goes_on(desk):
    await under(desk, Action.DROP)
    answer = await desk.ask("refunds")
    assert set(given(answer)) == {"clean.md"}
    assert left_out(answer)[Reason.DLP_BLOCKED, "redact"] == 1
    assert answer.search.candidates == 2


async def test_a_blocked_source_gives_nothing_while_anything_is_found_in_it(desk):
    await under(desk, Action.BLOCK_SOURCE)
    answer = await desk.ask("refunds")
    assert given(answer) == {}
    assert left_out(answer)[Reason.DLP_BLOCKED, "redact"] == 2
    await desk.write("desk.md", ("# Desk\n\nRefunds: ask the desk.\n", None, None))
    assert set(given(await desk.ask("refunds"))) == {"clean.md", "desk.md"}


@pytest.mark.parametrize("kind", [Classification.CONFIDENTIAL, Classification.RESTRICTED, Classification.REGULATED])
async def test_by_default_the_stricter_classes_are_dropped(world, kind):
    source = await world.add_source(kind.value, classification=kind.value)
    await world.write("desk.md", (TEXT, None, None), source=source)
    await world.write("clean.md", ("# Clean\n\nRefunds are paid at once.\n", None, None), source=source)
    await world.settle()
    assert set(given(await world.ask("refunds"))) == {"clean.md"}


async def test_the_policy_of_today_holds_for_every_moment(desk):
    before = (await desk.ask("refunds")).contract.known_at
    await under(desk, Action.ALLOW)
    await under(desk, Action.DROP)
    assert set(given(await desk.ask("refunds", known_at=before))) == {"clean.md"}


async def test_a_cached_search_passes_the_policy_of_now(desk):
    first = await desk.ask("refunds")
    again = await desk.ask("refunds")
    assert again.search.cache_hit
    assert given(again)["desk.md"].passage.text == given(first)["desk.md"].passage.text == MASKED


async def test_names_and_headings_are_masked_too(world):
    await world.write("jane@example.org.txt", ("# Of jane@example.org\n\nRefunds are due.\n", None, None))
    await world.settle()
    (found,) = (await world.ask("refunds")).passages
    shown = (found.passage.external_id, found.passage.title, *found.passage.heading_path, found.passage.text)
    assert not [part for part in shown if "jane@" in part]


async def test_tags_are_masked_and_drop_as_the_text_does(world):
    await world.write("a.md", ("Refunds are due.", None, None), tags=("of jane@example.org", "desk"))
    await world.settle()
    (found,) = (await world.ask("refunds")).passages
    assert found.passage.tags == ["of [EMAIL*********]", "desk"]
    (found,) = (await world.ask("refunds", tags=("of jane@example.org",))).passages
    assert found.passage.tags == ["of [EMAIL*********]", "desk"]
    (entry,) = await listed(world, world.source)
    assert entry.tags == ["of [EMAIL*********]", "desk"]
    await under(world, Action.DROP)
    answer = await world.ask("refunds")
    assert answer.passages == ()
    assert left_out(answer)[Reason.DLP_BLOCKED, "redact"] == 1
    await under(world, Action.ALLOW)
    (found,) = (await world.ask("refunds")).passages
    assert found.passage.tags == ["of jane@example.org", "desk"]


async def test_what_is_said_of_a_source_is_masked_and_bars_nothing(world):
    source = await world.add_source("desk of jane@example.org")
    await world.write("a.md", ("Refunds are due.", None, None), source=source)
    await world.settle()
    for action, name in (
        (Action.REDACT, "desk of [EMAIL*********]"),
        (Action.DROP, "desk of [EMAIL*********]"),
        (Action.ALLOW, "desk of jane@example.org"),
    ):
        await under(world, action)
        answer = await world.ask("refunds")
        assert [item.source.name for item in answer.sources] == [name]
        assert [item.source.name for item in answer.passages] == [name]


async def test_a_listing_and_a_history_say_of_a_document_what_an_answer_says(world):
    await world.write("jane@example.org.txt", ("# Of jane@example.org\n\nRefunds.\n", None, None), tags=("jane@x.org",))
    (entry,) = await listed(world, world.source)
    (version,) = await history(world.parts.database, world.principal, str(entry.document_id))
    assert "jane" not in f"{entry} {version}"
    assert (entry.tags, version.value["tags"]) == (["[EMAIL***]"], ["[EMAIL***]"])
    await under(world, Action.ALLOW)
    (entry,) = await listed(world, world.source)
    (version,) = await history(world.parts.database, world.principal, str(entry.document_id))
    assert (entry.external_id, version.value["externalId"]) == ("jane@example.org.txt", "jane@example.org.txt")
    assert (entry.tags, version.value["tags"]) == (["jane@x.org"], ["jane@x.org"])


async def test_a_private_key_that_is_cut_in_two_is_masked_in_both(world):
    body = "\n".join("MIIEowIBAAKCAQEA0123456789abcdefghijklmnopqrstuvwxyzABCDEFGH" for _ in range(60))
    key = f"# Key\n\nBefore.\n\n-----BEGIN RSA PRIVATE KEY-----\n{body}\n-----END RSA PRIVATE KEY-----\n\nAfter.\n"
    written = await world.write("key.md", (key, None, None))
    assert written.chunks > 2
    await world.settle()
    answer = await world.ask("key before after", max_passages_per_document=50, top_k=50, max_per_level=50)
    assert answer.passages
    assert not [item for item in answer.passages if "MIIE" in item.passage.text]


async def test_the_rows_of_a_table_are_masked_where_they_stand(world):
    """The head that is repeated before them moves them in the text, not in the document."""
    rows = [f"{number},name{number}@example.org,refund {number} of the desk is open for now" for number in range(200)]
    await world.write("list.csv", ("\n".join(["id,mail,state", *rows]), None, None))
    await world.settle()
    answer = await world.ask("refund desk open", max_passages_per_document=50, top_k=50, max_per_level=50)
    assert len(answer.passages) > 3
    for item in answer.passages:
        assert "id,mail,state" in item.passage.text
        assert "@" not in item.passage.text
        for line in item.passage.text.splitlines()[1:]:
            assert line.endswith("of the desk is open for now")
    await under(world, Action.ALLOW)
    await reindexed(world)
    await under(world, Action.REDACT)
    again = await world.ask("refund desk open", max_passages_per_document=50, top_k=50, max_per_level=50)
    assert {item.passage.text for item in again.passages} == {item.passage.text for item in answer.passages}


async def test_what_is_masked_is_not_found_by_its_words(world):
    await world.write("a.md", ("The desk says password: Zanzibar77Quagga to nobody.", None, None))
    await world.write("b.md", ("Nothing of the kind is written here.", None, None))
    await world.settle()
    answer = await world.ask('"Zanzibar77Quagga"')
    assert not [item for item in answer.passages if item.candidate.scores.text]


async def test_memories_are_masked_as_what_is_internal(world):
    await world.parts.memory.remember(
        world.principal,
        Named(space_key="project"),
        Changes(text="Ask jane@example.org.", tags=("jane@example.org",)),
        since=None,
        until=None,
        from_now=True,
    )
    answer = await world.ask(None)
    (memory,) = answer.memories
    assert (memory.text.text, memory.text.tags) == ("Ask [EMAIL*********].", ["[EMAIL*********]"])
    assert memory.candidate.hit.text_sha256 == hashlib.sha256(b"Ask [EMAIL*********].").digest()
    assert answer.tokens_total == world.parts.retriever.tokens.count("Ask [EMAIL*********].")
    await under(world, Action.DROP, Classification.INTERNAL)
    answer = await world.ask(None)
    assert answer.memories == ()
    assert left_out(answer)[Reason.DLP_BLOCKED, "redact"] == 1


async def test_the_trace_and_the_hash_are_of_the_redacted_question(desk):
    question = "refunds of jane@example.org"
    answer = await desk.ask(question)
    hidden = "refunds of [EMAIL*********]"
    record = await record_of(desk, answer)
    assert hashlib.sha256(hidden.encode()).hexdigest().encode() in record
    assert b'"policyVersion":"0/2"' in record
    assert answer.query == question
    verdict = await replay(desk.parts.database, desk.parts.keys, rerun(desk.parts.retriever), desk.principal,
                           str(answer.attribution_id), question)  # fmt: skip
    assert verdict.verdict is ReplayVerdict.REPRODUCED


async def test_a_replay_says_that_the_policy_changed_where_texts_did(desk):
    answer = await desk.ask("refunds")
    untouched = await desk.ask("paid at once", top_k=1)

    async def verdict(of):
        return await replay(
            desk.parts.database, desk.parts.keys, rerun(desk.parts.retriever), desk.principal, str(of.attribution_id)
        )

    assert (await verdict(answer)).verdict is ReplayVerdict.REPRODUCED
    for action in (Action.ALLOW, Action.DROP, Action.BLOCK_SOURCE):
        await under(desk, action)
        await reindexed(desk)
        told = await verdict(answer)
        assert told.verdict is ReplayVerdict.DRIFTED
        assert [reason.reason for reason in told.reasons] == [Drift.POLICY_CHANGED]
    await under(desk, Action.ALLOW)
    assert (await verdict(untouched)).verdict is ReplayVerdict.REPRODUCED


async def test_the_policy_is_versioned_and_the_same_again_is_no_version(world):
    first = await under(world, Action.DROP, Classification.PUBLIC)
    assert (first.policy.version, first.policy.action("public")) == ("1/2", Action.DROP)
    assert await under(world, Action.DROP, Classification.PUBLIC) != first
    assert (await read_policy(world.parts.database, world.principal)).policy == first.policy
    second = await set_policy(world.parts.database, world.principal, [])
    assert (second.policy.number, second.policy.action("public")) == (2, Action.REDACT)
    then = await read_policy(world.parts.database, world.principal, first.known_at)
    assert then.policy == first.policy
    with pytest.raises(MunimentError, match="changed meanwhile"):
        await set_policy(world.parts.database, world.principal, [], expected=first.known_at)
    with pytest.raises(MunimentError, match="twice"):
        await set_policy(world.parts.database, world.principal, [(Classification.PUBLIC, Action.DROP)] * 2)
    stranger = await world.add_person("stranger")
    with pytest.raises(MunimentError, match="org:admin"):
        await set_policy(world.parts.database, stranger, [])


async def test_another_policy_makes_the_index_anew_and_nothing_else(desk):
    plain = "jane"
    assert not [item for item in (await desk.ask(plain)).passages if item.candidate.scores.text]
    await under(desk, Action.ALLOW)
    _, (found,) = await read_findings(desk.parts.database, desk.organisation, source=desk.source.id)
    assert found.stale == 1
    await reindexed(desk)
    _, (found,) = await read_findings(desk.parts.database, desk.organisation, source=desk.source.id)
    assert found.stale == 0
    assert {kind.name: count for kind, count in found.counts.items()} == {"PHONE": 1, "EMAIL": 1}
    (hit,) = [item for item in (await desk.ask(plain)).passages if item.candidate.scores.text]
    assert hit.passage.text == TEXT.strip()
    await under(desk, Action.REDACT)
    await reindexed(desk)
    assert not [item for item in (await desk.ask(plain)).passages if item.candidate.scores.text]
    assert await desk.parts.embedding.depth(desk.organisation) == 0


async def test_a_slice_is_told_from_the_same_words_in_other_company(world):
    """Half of a private key is nothing without the other half."""
    half = "\n".join("MIIEowIBAAKCAQEA0123456789abcdefghijklmnopqrstuvwxyzABCDEFGH" for _ in range(60))
    key = f"-----BEGIN RSA PRIVATE KEY-----\n{half}\n-----END RSA PRIVATE KEY-----\n"
    await world.write("key.txt", (key, None, None))
    await world.write("key.txt", (half, None, None))
    _, (found,) = await read_findings(world.parts.database, world.organisation, source=world.source.id)
    assert found.counts == {}


async def test_what_was_prepared_under_another_policy_is_not_written(world):
    parsed = parse("a.md", b"ask jane@example.org")
    content = world.parts.preparer.content("a.md", parsed, "english", True)
    facts = DocumentFacts(content.sha256, "a.md", content.title, content.mime)
    wanted = [Wanted("a.md", (Portion(Period(None, None), facts),))]
    await under(world, Action.ALLOW)
    with pytest.raises(Moved):
        await write_batch(
            world.parts.database, world.organisation, world.source, wanted, {cut_of(facts): content}, embed=False
        )
