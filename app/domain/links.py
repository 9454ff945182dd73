"""What a link in one document names among the documents beside it."""

from pathlib import PurePosixPath
from urllib.parse import unquote

#: What a name without a suffix may stand for.
_SUFFIXES = (".md", ".html")
_INDEXES = ("README.md", "index.md", "index.html")


def named(path: str, target: str) -> tuple[str, ...]:
    """The names, likeliest first, that a link written `target` in the document `path` may mean in its source. None
    where it leads out of the source or to the document itself."""
    plain = unquote(target.split("#", 1)[0].split("?", 1)[0]).replace("\\", "/")
    if not plain or "\0" in plain:
        return ()
    steps = [] if plain.startswith("/") else list(PurePosixPath(path.lstrip("/")).parts[:-1])
    for step in plain.split("/"):
        if step == "..":
            if not steps:
                return ()
            steps.pop()
        elif step not in {"", "."}:
            steps.append(step)
    name = "/".join(steps)
    if plain.endswith("/") or not name:
        found = tuple(f"{name}/{index}".lstrip("/") for index in _INDEXES)
    elif PurePosixPath(name).suffix:
        found = (name,)
    else:
        found = (name, *(f"{name}{suffix}" for suffix in _SUFFIXES), *(f"{name}/{index}" for index in _INDEXES))
    own = "/".join(part for part in path.split("/") if part)
    return tuple(item for item in found if item not in {path, own})
