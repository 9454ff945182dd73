"""Serves the page built from `playground/`: `/` and `/assets`, from this server only, under a strict content policy."""

from pathlib import Path
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

CONTENT_SECURITY_POLICY: Final = "; ".join(
    (
        "default-src 'self'",
        "script-src 'self'",
        # The editor writes its rules into <style> elements at run time.
        "style-src 'self' 'unsafe-inline'",
        "worker-src 'self' blob:",
        "font-src 'self' data:",
        "img-src 'self' data:",
        "connect-src 'self'",
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)

SECURITY_HEADERS: Final = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
}

# The system's table of types may be missing or wrong, and a wrong one stops scripts under `nosniff`.
MEDIA_TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".ttf": "font/ttf",
    ".woff2": "font/woff2",
}

NOT_BUILT: Final = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Muniment</title>
<style>
  :root { color-scheme: light dark }
  body { max-width: 36em; margin: 12vh auto; padding: 0 16px; font: 16px/1.5 system-ui, sans-serif }
  pre { overflow-x: auto }
</style>
<h1>Muniment is running</h1>
<p>The API answers at <code>POST /graphql</code>. The playground was not built; it needs Node 20.19 or later.</p>
<p>Install Node, then run this in the repository and reload the page:</p>
<pre>cd playground
npm ci
npm run build</pre>
</html>
"""


class _Assets(StaticFiles):
    """Files whose names carry a hash of their content: a name never means other bytes, so it may be kept for ever."""

    async def check_config(self) -> None:
        """Nothing: a folder that does not exist yet is a page that is not built yet, and answers 404."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        try:
            response = await super().get_response(path, scope)
        except HTTPException as failure:
            response = PlainTextResponse(failure.detail, failure.status_code, failure.headers)
        else:
            response.headers["Cache-Control"] = "public, max-age=31536000, immutable"
            if media_type := MEDIA_TYPES.get(Path(path).suffix):
                response.headers["Content-Type"] = media_type
        response.headers.update(SECURITY_HEADERS)
        return response


def playground_routes(dist: Path) -> list[BaseRoute]:
    """Routes for the page at `/` and its files under `/assets`.

    `dist` is what `npm run build` writes. Until it exists, `/` says how to build it; it is looked for at each
    request, so a build needs no restart.
    """
    index = dist / "index.html"

    async def page(_: Request) -> Response:
        # A new build names new assets: the page itself is asked for again every time.
        headers = {**SECURITY_HEADERS, "Cache-Control": "no-cache"}
        if index.is_file():
            return FileResponse(index, media_type="text/html; charset=utf-8", headers=headers)
        return HTMLResponse(NOT_BUILT, headers=headers)

    return [
        Route("/", page, methods=["GET"], name="playground"),
        Mount("/assets", app=_Assets(directory=dist / "assets", check_dir=False), name="playground-assets"),
    ]
