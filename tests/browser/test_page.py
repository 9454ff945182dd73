"""The explorer against the real server, as a visitor sees it."""

import asyncio
import json
import re
from typing import Any

from playwright.async_api import Locator, Page, expect

from tests.browser.conftest import LiveServer, Visit


async def open_page(visit: Visit, token: str | None) -> Page:
    """Opens the explorer, and waits until the operation stands in its editor."""
    await visit.open(token, view="explore")
    await expect(visit.page.locator(".graphiql-query-editor .view-lines")).to_contain_text("retrieve", timeout=20_000)
    return visit.page


def active_tab(page: Page) -> Locator:
    return page.get_by_role("tab", selected=True).get_by_role("button").first


async def editor_json(page: Page, tab: str) -> Any:
    """The value in the editor behind the tab "Variables" or "Headers". Lines are drawn one after the other, so it is
    read until it is whole."""
    await page.get_by_role("button", name=tab, exact=True).click()
    lines = page.locator(".graphiql-editor-tool .monaco-editor:visible .view-lines")
    await expect(lines).not_to_be_empty()
    async with asyncio.timeout(20):
        while True:
            try:
                return json.loads((await lines.inner_text()).replace("\u00a0", " "))
            except json.JSONDecodeError:
                await asyncio.sleep(0.05)


async def run(page: Page, operation: str) -> tuple[dict[str, Any], dict[str, str]]:
    """Presses the run button; the response body and the headers that were sent with `operation`."""
    await expect(active_tab(page)).to_have_text(operation)
    # The editor is filled after its tab was chosen.
    await expect(page.locator(".graphiql-query-editor .view-lines")).to_contain_text(operation)
    async with page.expect_response(
        lambda response: (
            response.url.endswith("/graphql")
            and json.loads(response.request.post_data or "{}")["operationName"] == operation
        )
    ) as waiting:
        await page.get_by_role("button", name="Execute query").click()
    response = await waiting.value
    return await response.json(), await response.request.all_headers()


async def test_it_loads_quietly_and_from_this_server_only(visit: Visit, live_server: LiveServer) -> None:
    page = await open_page(visit, live_server.token)
    await page.wait_for_load_state("networkidle")

    assert await page.title() == "Muniment playground"
    await expect(page.get_by_role("heading", level=1)).to_have_text("Muniment")
    await expect(page.get_by_label("Access token")).to_have_count(0)
    assert await visit.all_complaints() == []


async def test_the_token_moves_from_the_address_to_the_headers(visit: Visit, live_server: LiveServer) -> None:
    page = await open_page(visit, live_server.token)

    assert page.url == f"{visit.origin}/#view=explore"
    assert await editor_json(page, "Headers") == {"Authorization": f"Bearer {live_server.token}"}
    assert live_server.token not in json.dumps(await page.evaluate("({ ...localStorage })"))


async def test_the_first_operation_runs(visit: Visit, live_server: LiveServer) -> None:
    page = await open_page(visit, live_server.token)
    body, sent = await run(page, "Ask")

    assert "errors" not in body
    answer = body["data"]["retrieve"]
    assert answer["requestId"]
    assert answer["attributionId"]
    assert answer["passages"]
    assert all(passage["text"] for passage in answer["passages"])
    assert sent["authorization"] == f"Bearer {live_server.token}"
    # The editor breaks long lines wherever they are too long for it.
    shown = "".join(rf"{character}\s*" for character in answer["requestId"])
    await expect(page.locator(".graphiql-response .view-lines")).to_contain_text(re.compile(shown))
    assert await visit.all_complaints() == []


async def test_every_saved_operation_answers(visit: Visit, live_server: LiveServer) -> None:
    page = await open_page(visit, live_server.token)
    last, _ = await run(page, "Ask")

    saved = page.get_by_role("region", name="Saved operations").get_by_role("button")
    titles = [await button.locator("strong").inner_text() for button in await saved.all()]
    assert len(titles) >= 30
    for title in titles[1:]:
        await saved.filter(has=page.get_by_text(title, exact=True)).click()
        operation = "".join(word[0].upper() + word[1:] for word in title.split())
        body, sent = await run(page, operation)
        assert "errors" not in body, title
        assert sent["authorization"] == f"Bearer {live_server.token}"
        if operation == "Attribution":
            assert body["data"]["attribution"]["id"] == last["data"]["retrieve"]["attributionId"]
            assert body["data"]["attribution"]["requestId"] == last["data"]["retrieve"]["requestId"]
        if "retrieve" in body["data"]:
            last = body
    assert await visit.all_complaints() == []


async def test_a_reload_keeps_the_token_and_the_work(visit: Visit, live_server: LiveServer) -> None:
    page = await open_page(visit, live_server.token)
    await page.get_by_role("button", name="Who am I").click()
    # GraphiQL writes its tabs to storage half a second after the last change.
    await page.wait_for_function("() => localStorage.getItem('graphiql:tabState')?.includes('WhoAmI')")
    await page.reload()

    body, _ = await run(page, "WhoAmI")
    assert body["data"]["me"]["id"]
    await page.get_by_role("tab").get_by_role("button", name="Ask", exact=True).click()
    assert "query" in await editor_json(page, "Variables")
    body, _ = await run(page, "Ask")
    assert body["data"]["retrieve"]["passages"]


async def test_without_a_token_the_page_says_how_to_get_one(visit: Visit, live_server: LiveServer) -> None:
    page = await open_page(visit, None)
    banner = page.get_by_label("Access token")
    await expect(banner).to_contain_text("muniment token")
    assert await visit.all_complaints() == []

    await banner.get_by_label("Token", exact=True).fill("two words")
    await banner.get_by_role("button", name="Use token").click()
    await expect(banner.get_by_role("alert")).to_be_visible()

    await banner.get_by_label("Token", exact=True).fill(f"  Bearer {live_server.token}\n")
    await banner.get_by_role("button", name="Use token").click()
    await expect(banner).to_have_count(0)
    body, sent = await run(page, "Ask")
    assert body["data"]["retrieve"]["passages"]
    assert sent["authorization"] == f"Bearer {live_server.token}"


async def test_a_refused_token_is_told_and_a_new_link_repairs_it(visit: Visit, live_server: LiveServer) -> None:
    page = await open_page(visit, "not-a-token")
    await expect(page.get_by_label("Access token")).to_contain_text("did not accept")

    await page.evaluate("token => { location.hash = `view=explore&token=${token}` }", live_server.token)
    await expect(page.get_by_label("Access token")).to_have_count(0)
    assert page.url == f"{visit.origin}/#view=explore"
    body, _ = await run(page, "Ask")
    assert body["data"]["retrieve"]["passages"]


async def test_it_fits_a_phone(visit: Visit, live_server: LiveServer) -> None:
    await visit.page.set_viewport_size({"width": 390, "height": 844})
    page = await open_page(visit, live_server.token)
    body, _ = await run(page, "Ask")

    assert body["data"]["retrieve"]["passages"]
    assert await page.evaluate("document.documentElement.scrollWidth") <= 390
    response = page.locator(".graphiql-response .view-lines")
    await response.scroll_into_view_if_needed()
    await expect(response).to_be_in_viewport()
    await expect(response).to_contain_text("passages")
