"""The page's routes: headers, caching, media types, and the page that stands in when nothing was built."""

from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette

from app.server.playground import SECURITY_HEADERS, playground_routes


def client(dist: Path) -> httpx.AsyncClient:
    app = Starlette(routes=playground_routes(dist))
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test")


@pytest.fixture
def dist(tmp_path: Path) -> Path:
    (tmp_path / "dist" / "assets").mkdir(parents=True)
    (tmp_path / "dist" / "index.html").write_text("<!doctype html><title>built</title>")
    (tmp_path / "dist" / "assets" / "index-1a2b.js").write_text("export {}")
    (tmp_path / "dist" / "assets" / "codicon-3c4d.ttf").write_bytes(b"\0")
    (tmp_path / "secret.txt").write_text("not for the web")
    return tmp_path / "dist"


def assert_secured(response: httpx.Response) -> None:
    for name, value in SECURITY_HEADERS.items():
        assert response.headers.get_list(name) == [value]


async def test_the_page_is_served_and_asked_for_again_each_time(dist: Path) -> None:
    async with client(dist) as http:
        response = await http.get("/")
        head = await http.head("/")
    assert response.status_code == head.status_code == 200
    assert "built" in response.text
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    assert response.headers["cache-control"] == "no-cache"
    assert_secured(response)


@pytest.mark.parametrize(
    ("name", "media_type"),
    [("index-1a2b.js", "text/javascript; charset=utf-8"), ("codicon-3c4d.ttf", "font/ttf")],
)
async def test_assets_are_kept_for_ever(dist: Path, name: str, media_type: str) -> None:
    async with client(dist) as http:
        response = await http.get(f"/assets/{name}")
        again = await http.get(f"/assets/{name}", headers={"If-None-Match": response.headers["etag"]})
    assert response.status_code == 200
    assert again.status_code == 304
    assert response.headers["content-type"] == media_type
    assert "immutable" in response.headers["cache-control"]
    assert_secured(response)
    assert_secured(again)


@pytest.mark.parametrize(
    "path", ["absent.js", "%2e%2e/index.html", "..%2f..%2fsecret.txt", "%2e%2e%2f%2e%2e%2fsecret.txt", ""]
)
async def test_what_is_not_an_asset_is_not_found_and_not_kept(dist: Path, path: str) -> None:
    async with client(dist) as http:
        response = await http.get(f"/assets/{path}")
    assert response.status_code == 404
    assert "cache-control" not in response.headers
    assert_secured(response)


async def test_an_unbuilt_page_says_so_until_it_is_built(tmp_path: Path, dist: Path) -> None:
    later = tmp_path / "later"
    async with client(later) as http:
        before = await http.get("/")
        asset = await http.get("/assets/index-1a2b.js")
        dist.rename(later)
        after = await http.get("/")
    assert before.status_code == 200
    assert "was not built" in before.text
    assert "npm run build" in before.text
    assert asset.status_code == 404
    assert "built</title>" in after.text
    assert_secured(before)


def test_the_policy_lets_nothing_in_from_elsewhere() -> None:
    policy = SECURITY_HEADERS["Content-Security-Policy"]
    directives = dict(part.split(" ", 1) for part in policy.split("; "))
    allowed = {"'self'", "'none'", "'unsafe-inline'", "data:", "blob:"}
    assert directives["script-src"] == "'self'"
    assert {source for sources in directives.values() for source in sources.split()} <= allowed
