"""A real Chromium and pages that note all that a strict visitor would object to."""

import os
import shutil
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlencode, urlsplit

import pytest
from playwright.async_api import Browser, ConsoleMessage, Page, Request, Response, async_playwright

REPOSITORY = Path(__file__).resolve().parents[2]
CHROMIUM_ARGUMENTS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


class LiveServer(Protocol):
    """The running server: its address and a development token."""

    url: str
    token: str
    home: Path

    def ask(
        self, query: str, variables: Mapping[str, Any] | None = None, token: str | None = None
    ) -> dict[str, Any]: ...


@dataclass
class Visit:
    """A page and what went wrong on it: console errors, exceptions, policy violations, foreign and failed requests."""

    page: Page
    origin: str
    complaints: list[str] = field(default_factory=list)

    def listen(self) -> None:
        self.page.on("console", self._on_console)
        self.page.on("pageerror", lambda error: self.complaints.append(f"exception: {error}"))
        self.page.on("request", self._on_request)
        self.page.on("response", self._on_response)

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type == "error" or "Content Security Policy" in message.text:
            self.complaints.append(f"console {message.type}: {message.text}")

    def _on_request(self, request: Request) -> None:
        parts = urlsplit(request.url)
        if parts.scheme not in {"data", "blob"} and f"{parts.scheme}://{parts.netloc}" != self.origin:
            self.complaints.append(f"request outside the origin: {request.url}")

    def _on_response(self, response: Response) -> None:
        if response.status >= 400:
            self.complaints.append(f"{response.status}: {response.url}")

    async def open(self, token: str | None, **state: str) -> Page:
        """The page in this state, as a link says it, with the token beside it."""
        said = state | ({"token": token} if token else {})
        await self.page.goto(f"{self.origin}/" + (f"#{urlencode(said)}" if said else ""))
        return self.page

    async def all_complaints(self) -> list[str]:
        """Everything noted so far, and what the browser refused under the content policy."""
        refused = await self.page.evaluate("window.policyViolations")
        return [*self.complaints, *(f"refused by the policy: {item}" for item in refused)]


@pytest.fixture(scope="session")
def chromium_path() -> str:
    """The system's Chromium; `MUNIMENT_CHROMIUM` names another one."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
    named = os.environ.get("MUNIMENT_CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    if not named or not Path(named).exists():
        pytest.fail(
            "The browser tests need Chromium: install it (apt-get install chromium) or name it in MUNIMENT_CHROMIUM.",
            pytrace=False,
        )
    return named


@pytest.fixture(scope="session")
def built_playground() -> Path:
    """`playground/dist`, which the server serves."""
    dist = REPOSITORY / "playground" / "dist"
    if not (dist / "index.html").is_file():
        pytest.fail(
            "playground/dist is missing: run `npm ci && npm run build` in playground/ (Node 20.19 or later).",
            pytrace=False,
        )
    return dist


@pytest.fixture(scope="session")
async def browser(chromium_path: str, built_playground: Path) -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium_path, args=CHROMIUM_ARGUMENTS)
        yield browser
        await browser.close()


@pytest.fixture
async def visit(browser: Browser, live_server: LiveServer) -> AsyncIterator[Visit]:
    """A page in a context of its own, on no address yet, whose events are being noted."""
    context = await browser.new_context(viewport={"width": 1280, "height": 800})
    await context.add_init_script(
        "window.policyViolations = [];"
        "addEventListener('securitypolicyviolation',"
        " e => window.policyViolations.push(`${e.violatedDirective}: ${e.blockedURI}`));"
    )
    noted = Visit(await context.new_page(), live_server.url.rstrip("/"))
    noted.listen()
    yield noted
    await context.close()
