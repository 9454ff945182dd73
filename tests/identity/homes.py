"""Homes beside the one that made the chains of the session's database."""

import base64
import os
from pathlib import Path
from typing import Any


def fresh_keys(folder: Path) -> dict[str, Any]:
    """Settings of a new home with keys of its own. Without any it would be refused beside chains made with others."""
    named = {name: f"own:{base64.b64encode(os.urandom(32)).decode()}" for name in ("keys", "signing_keys")}
    return {"home": folder / "home", **named}
