"""Accessibility by axe-core, both colour schemes, narrow screens, what is loaded first, and the README's picture."""

import os
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page, expect

from tests.browser.conftest import REPOSITORY, LiveServer, Visit
from tests.browser.test_inspector import ASKED, PATIENCE, answered

AXE = REPOSITORY / "playground" / "node_modules" / "axe-core" / "axe.min.js"
TABS = ("answer", "left-out", "history", "proof", "replay", "impact")


async def findings(page: Page) -> list[str]:
    """What axe-core calls serious or worse, each with the first place that it concerns."""
    if not AXE.is_file():
        pytest.fail("axe-core is missing: run `npm ci` in playground/.", pytrace=False)
    if not await page.evaluate("'axe' in window"):
        await page.evaluate(AXE.read_text(encoding="utf-8"))
    result: dict[str, Any] = await page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{item['id']}: {item['help']}: {item['nodes'][0]['html'][:200]}"
        for item in result["violations"]
        if item["impact"] in {"serious", "critical"}
    ]


@pytest.mark.parametrize(("scheme", "width"), [("light", 1440), ("dark", 390)])
async def test_every_state_can_be_read_and_fits(visit: Visit, live_server: LiveServer, scheme: Any, width: int) -> None:
    await visit.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    await visit.page.set_viewport_size({"width": width, "height": 844})
    page = await visit.open(live_server.token)
    await expect(page.get_by_role("button", name=ASKED["q"])).to_be_enabled()
    assert await findings(page) == []

    await visit.open(live_server.token, **ASKED, asOf="2026-11-30T08:20:00Z")
    for name in TABS:
        await page.locator(f"#tab-{name}").click()
        await (answered(page) if name == "answer" else settled(page))
        assert await findings(page) == [], name
        assert await page.evaluate("document.querySelector('.view').scrollWidth") <= width, name

    await page.get_by_role("link", name="Schema").click()
    await expect(page.locator(".type").first).to_be_visible(timeout=PATIENCE)
    assert await page.evaluate("document.querySelector('.view').scrollWidth") <= width
    await page.get_by_role("searchbox").fill("Passage")
    await expect(page.locator("#type-SpaceLevel")).to_have_count(0)
    assert await findings(page) == []
    assert await visit.all_complaints() == []


async def settled(page: Page) -> None:
    await expect(page.locator(".wide")).to_be_visible(timeout=PATIENCE)
    await expect(page.locator(".waiting")).to_have_count(0, timeout=PATIENCE)


async def test_the_switch_wins_over_the_system_and_stays(visit: Visit, live_server: LiveServer) -> None:
    await visit.page.emulate_media(color_scheme="light")
    page = await visit.open(live_server.token)
    paper = "getComputedStyle(document.body).backgroundColor"
    light = await page.evaluate(paper)
    await page.get_by_label("Colours").select_option("Dark")
    dark = await page.evaluate(paper)
    assert dark != light
    await page.reload()
    assert await page.evaluate(paper) == dark
    await page.get_by_label("Colours").select_option("Auto")
    assert await page.evaluate(paper) == light
    await page.emulate_media(color_scheme="dark")
    assert await page.evaluate(paper) == dark


async def test_the_editor_is_not_loaded_before_it_is_wanted(visit: Visit, live_server: LiveServer) -> None:
    page = await visit.open(live_server.token, **ASKED)
    await answered(page)
    await page.wait_for_load_state("networkidle")
    sizes: list[list[Any]] = await page.evaluate(
        "performance.getEntriesByType('resource').filter(e => /assets/.test(e.name))"
        ".map(e => [e.name, e.decodedBodySize])"
    )
    assert sum(size for _, size in sizes) < 500_000
    assert not [name for name, _ in sizes if "monaco" in name]
    shifts = """new Promise(done => new PerformanceObserver(list => done(list.getEntries()
        .filter(e => !e.hadRecentInput).reduce((sum, e) => sum + e.value, 0)))
        .observe({type: 'layout-shift', buffered: true}) || setTimeout(() => done(0), 500))"""
    assert await page.evaluate(shifts) < 0.1


async def test_the_picture_of_the_readme(visit: Visit, live_server: LiveServer, tmp_path: Path) -> None:
    """MUNIMENT_PICTURE names the file to make; the README shows `playground/inspector.png`."""
    await visit.page.emulate_media(color_scheme="light", reduced_motion="reduce")
    await visit.page.set_viewport_size({"width": 1280, "height": 860})
    page = await visit.open(live_server.token, **ASKED, asOf="2026-11-30T08:20:00Z")
    await answered(page)
    await expect(page.locator(".clock-marks").first.locator("line").nth(1)).to_be_attached(timeout=PATIENCE)
    picture = Path(os.environ.get("MUNIMENT_PICTURE") or tmp_path / "inspector.png")
    await page.screenshot(path=picture)
    assert 20_000 < picture.stat().st_size <= 300_000
