"""Which fields a client asked for."""

from collections.abc import Iterable

from strawberry.types.nodes import SelectedField, Selection

from schema.context import Info


def selects(info: Info, *path: str) -> bool:
    """Whether the field that is being resolved was asked for the field at `path` below it (as the client writes it)."""
    return any(_holds(field.selections, path) for field in info.selected_fields)


def _holds(selections: Iterable[Selection], path: tuple[str, ...]) -> bool:
    for item in selections:
        if _left_out(item):
            continue
        if not isinstance(item, SelectedField):
            found = _holds(item.selections, path)
        else:
            found = item.name == path[0] and (len(path) == 1 or _holds(item.selections, path[1:]))
        if found:
            return True
    return False


def _left_out(item: Selection) -> bool:
    return item.directives.get("skip", {}).get("if") is True or item.directives.get("include", {}).get("if") is False
