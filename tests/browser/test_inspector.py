"""The inspector against the real server: its whole path, by mouse and by keyboard, and what a link restores."""

import re
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.async_api import Locator, Page, expect

from tests.browser.conftest import LiveServer, Visit

QUESTION = "How is a cursor decoded?"
ASKED = {"q": QUESTION, "space": "muniment"}
PATIENCE = 30_000


@pytest.fixture(scope="session")
def subject(live_server: LiveServer) -> str:
    """Somebody with two memories, one of which was corrected."""
    remember = "mutation($i: RememberInput!) { remember(input: $i) { id } }"
    given = {"subjectId": "grace", "spaceKey": "muniment", "validFrom": "2026-01-01T00:00:00Z"}
    texts = ("Grace decodes every cursor twice.", "Grace works on Tuesdays.")
    first, _ = (
        live_server.ask(remember, {"i": {"text": text, **given}}, live_server.token)["data"]["remember"]["id"]
        for text in texts
    )
    correct = 'mutation($id: ID!) { correctMemory(id: $id, changes: {text: "Grace decodes a cursor once."}) { id } }'
    assert "errors" not in live_server.ask(correct, {"id": first}, live_server.token)
    return "grace"


def tab(page: Page, name: str) -> Locator:
    return page.get_by_role("tab", name=name, exact=True)


async def number(of: Locator) -> int:
    return int((await of.inner_text()).replace("−", "-").replace(",", ""))


async def answered(page: Page) -> None:
    await expect(page.locator(".inspect")).to_have_attribute("aria-busy", "false", timeout=PATIENCE)
    await expect(page.get_by_role("article").first).to_be_visible(timeout=PATIENCE)


def said(page: Page) -> dict[str, str]:
    """What the address says."""
    return {name: values[0] for name, values in parse_qs(urlsplit(page.url).fragment).items()}


async def test_an_answer_with_its_account(visit: Visit, live_server: LiveServer, subject: str) -> None:
    page = await visit.open(live_server.token)
    await expect(page.get_by_role("heading", level=1)).to_have_text("Muniment")
    await page.get_by_role("button", name=QUESTION).click()
    await answered(page)
    assert said(page) == ASKED
    assert live_server.token not in page.url

    # The parts of a score add up to it.
    card = page.get_by_role("article").first
    parts = await card.locator(".part-said").all_inner_texts()
    factors = {text.split()[0]: [float(item) for item in re.findall(r"\d+\.\d+", text)] for text in parts}
    (level,) = factors.pop("level", [1.0])
    total = sum(share * value for share, value in factors.values()) * level
    assert total == pytest.approx(float(await card.locator(".card-score").inner_text()), abs=0.002)

    # What was left out adds up to the candidates.
    flow = page.locator(".flow")
    numbers = [await number(item) for item in await flow.locator(".num").all()]
    assert sum(numbers[:-1]) == numbers[-1] == await page.get_by_role("article").count()
    assert numbers[0] > 20
    await expect(page.get_by_text("Only what you may read was searched.")).to_be_visible()

    # A budget that is too small, and somebody's memories.
    await page.get_by_label("Token budget").fill("200")
    await page.get_by_label("Subject").fill(subject)
    await page.get_by_role("button", name="Ask", exact=True).click()
    await expect(page.get_by_text("would keep one more")).to_be_visible(timeout=PATIENCE)
    memory = page.get_by_role("region", name="Memories", exact=True).get_by_role("article").first
    for part in ("similarity", "recency", "importance", "frequency"):
        await expect(memory.locator(".score")).to_contain_text(part)
    numbers = [await number(item) for item in await flow.locator(".num").all()]
    assert sum(numbers[:-1]) == numbers[-1] == await page.get_by_role("article").count()
    await memory.get_by_role("button", name="History").click()
    await expect(page.locator(".belief")).to_have_count(2)
    assert await visit.all_complaints() == []


async def test_the_clocks_and_the_history(visit: Visit, live_server: LiveServer) -> None:
    page = await visit.open(live_server.token, **ASKED)
    await answered(page)
    await expect(page.locator(".clock-marks").first.locator("line").nth(1)).to_be_attached(timeout=PATIENCE)

    back = page.get_by_role("button", name="True at: the change before")
    await back.click()
    await expect(page.get_by_text("Not today’s answer.")).to_be_visible(timeout=PATIENCE)
    assert said(page)["asOf"] < "2100"
    difference = page.get_by_role("region", name="Difference to now")
    while "Today’s is the same" in await difference.inner_text() and await back.is_enabled():
        before = page.url
        await back.click()
        await expect(page).not_to_have_url(before)
        await expect(page.locator(".inspect")).to_have_attribute("aria-busy", "false", timeout=PATIENCE)
    await page.get_by_text("What is different").click()
    await expect(difference.get_by_role("heading").first).to_be_visible()
    await page.get_by_role("button", name="True at: now").click()
    await expect(difference).to_have_count(0, timeout=PATIENCE)
    assert said(page) == ASKED

    await page.get_by_role("button", name=re.compile("History of .1. ")).click()
    beliefs = page.locator(".belief")
    await expect(beliefs.first).to_be_visible(timeout=PATIENCE)
    assert await beliefs.count() == await page.get_by_role("region", name="Beliefs").get_by_role("row").count() - 1
    await beliefs.first.focus()
    await page.keyboard.press("Enter")
    await expect(page.locator(".belief-text pre")).not_to_have_text("Nothing.", timeout=PATIENCE)
    await page.get_by_role("button", name="Ask again at that moment").click()
    await expect(page.get_by_text("Not today’s answer.")).to_be_visible(timeout=PATIENCE)
    assert said(page)["asOf"].endswith("Z")
    assert await visit.all_complaints() == []


async def test_what_was_left_out_and_what_follows_from_the_record(visit: Visit, live_server: LiveServer) -> None:
    page = await visit.open(live_server.token, **ASKED)
    await answered(page)

    await tab(page, "Left out").click()
    rows = page.get_by_role("region", name="Candidates").get_by_role("row")
    await expect(rows.nth(5)).to_be_visible(timeout=PATIENCE)
    chunk = await rows.nth(1).get_by_role("button").get_attribute("title")
    assert chunk is not None
    await page.get_by_label("Why is this not in the answer?").fill(chunk.removeprefix("Chunk "))
    await page.get_by_role("button", name="Explain").click()
    await expect(page.get_by_text("It was a candidate and was left out.")).to_be_visible(timeout=PATIENCE)

    await tab(page, "Proof").click()
    proof = page.get_by_role("tabpanel", name="Proof")
    await expect(proof.get_by_text("Proven.")).to_be_visible(timeout=PATIENCE)
    assert await proof.locator(".check-good").count() == 5
    await expect(proof.get_by_role("img", name=re.compile("Inclusion proof of"))).to_be_visible()
    await proof.get_by_role("button", name="Verify").click()
    await expect(proof.get_by_text("VALID.")).to_be_visible(timeout=PATIENCE)

    await tab(page, "Replay").click()
    await expect(page.get_by_text("Reproduced: the same items")).to_be_visible(timeout=PATIENCE)
    await page.get_by_role("button", name="As of now").click()
    await expect(page.get_by_role("button", name="Replay again")).to_be_enabled(timeout=PATIENCE)

    await tab(page, "Impact").click()
    used = page.get_by_role("region", name="Retrievals").get_by_role("row")
    await expect(used.nth(1)).to_be_visible(timeout=PATIENCE)
    assert await visit.all_complaints() == []


async def test_the_keyboard_alone(visit: Visit, live_server: LiveServer) -> None:
    page = await visit.open(live_server.token)
    await expect(page.get_by_label("Space")).to_have_value("muniment", timeout=PATIENCE)
    names = []
    for _ in range(8):
        await page.keyboard.press("Tab")
        names.append(await page.evaluate("document.activeElement.labels?.[0]?.textContent"))
        if names[-1] == "Question":
            break
    assert names[-1] == "Question"
    assert await page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    await page.keyboard.type(QUESTION)
    await page.keyboard.press("Enter")
    await answered(page)

    await tab(page, "Answer").focus()
    for name in ("Left out", "History"):
        await page.keyboard.press("ArrowRight")
        await expect(tab(page, name)).to_be_focused()
    slider = page.get_by_role("slider", name="True at")
    await expect(page.locator(".clock-marks").first.locator("line").nth(1)).to_be_attached(timeout=PATIENCE)
    await slider.focus()
    await page.keyboard.press("Home")
    await expect(slider).not_to_have_attribute("aria-valuetext", "now")
    assert "asOf" in said(page)
    await page.keyboard.press("End")
    await expect(slider).to_have_attribute("aria-valuetext", "now")
    assert "asOf" not in said(page)
    assert await visit.all_complaints() == []


async def test_a_link_restores_what_it_showed(visit: Visit, live_server: LiveServer, subject: str) -> None:
    state = {**ASKED, "subject": subject, "budget": "300", "topK": "4", "related": "no", "asOf": "2999-01-01T00:00:00Z"}
    page = await visit.open(live_server.token, **state, tab="left-out")
    await expect(page.get_by_role("region", name="Candidates")).to_be_visible(timeout=PATIENCE)
    assert said(page) == {**state, "tab": "left-out"}
    assert await page.get_by_label("Question").input_value() == QUESTION
    assert await page.get_by_label("Token budget").input_value() == "300"
    assert await page.get_by_label("Subject").input_value() == subject
    await expect(tab(page, "Left out")).to_have_attribute("aria-selected", "true")

    await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    await page.get_by_role("button", name="Copy link").click()
    await expect(page.get_by_role("button", name="Copied")).to_be_visible()
    link = await page.evaluate("navigator.clipboard.readText()")
    assert "token" not in link
    pinned = {name: values[0] for name, values in parse_qs(urlsplit(link).fragment).items()}
    assert pinned["knownAt"].endswith("Z")
    assert {**pinned, "asOf": state["asOf"]} == {**state, "tab": "left-out", "knownAt": pinned["knownAt"]}

    await tab(page, "Answer").click()
    await answered(page)
    await page.go_back()
    await expect(tab(page, "Left out")).to_have_attribute("aria-selected", "true")
    assert await visit.all_complaints() == []


async def test_failures_say_what_to_do(visit: Visit, live_server: LiveServer) -> None:
    page = await visit.open(live_server.token, q=QUESTION, space="nowhere")
    await expect(page.get_by_role("alert")).to_contain_text("Choose a space from the list", timeout=PATIENCE)

    await page.get_by_label("Space").select_option("muniment")
    await page.route("**/graphql", lambda route: route.abort())
    await page.get_by_role("button", name="Ask", exact=True).click()
    await expect(page.get_by_role("alert")).to_contain_text("The server does not answer.", timeout=PATIENCE)
    await page.unroute("**/graphql")
    await page.get_by_role("button", name="Try again").click()
    await answered(page)

    await page.get_by_text("More", exact=True).click()
    await page.get_by_label("Least score").fill("1")
    await page.get_by_role("button", name="Ask", exact=True).click()
    await expect(page.get_by_role("heading", name="Nothing to read")).to_be_visible(timeout=PATIENCE)
    await page.get_by_role("button", name="Forget token").click()
    await expect(page.get_by_label("Access token")).to_contain_text("muniment token")


async def test_the_schema_is_all_there_and_found_by_words(visit: Visit, live_server: LiveServer) -> None:
    page = await visit.open(live_server.token, view="schema")
    types = page.locator(".type")
    await expect(types.first).to_have_attribute("aria-label", "Query", timeout=PATIENCE)
    introspection = """{ __schema { types {
        name description fields { description args { description } } enumValues { description } } } }"""
    schema: Any = live_server.ask(introspection, token=live_server.token)["data"]["__schema"]["types"]
    own = [item for item in schema if not item["name"].startswith("__")]
    assert await types.count() == len(own)
    text = " ".join((await page.get_by_role("region", name="Descriptions").inner_text()).split())
    described = [
        entry["description"] for item in own for entry in (item, *(item["fields"] or ()), *(item["enumValues"] or ()))
    ] + [argument["description"] for item in own for entry in item["fields"] or () for argument in entry["args"]]
    missing = [words for words in described if " ".join((words or "").replace("`", "").split()) not in text]
    assert missing == []

    await page.get_by_role("searchbox").fill("signed checkpoint")
    await expect(page.locator("#type-Checkpoint")).to_be_visible()
    await expect(page.locator("#type-SpaceLevel")).to_have_count(0)
    assert said(page) == {"view": "schema", "find": "signed checkpoint"}
    assert await visit.all_complaints() == []
