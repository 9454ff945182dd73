"""Which fields a client asked for."""

from collections.abc import Iterable

from strawberry.types.nodes import SelectedField, Selection

from schema.context import Info


def selects(info: Info, name: str) -> bool:
    """Whether the field that is being resolved was asked for its field `name` (as the client writes it)."""
    return any(_holds(field.selections, name) for field in info.selected_fields)


def _holds(selections: Iterable[Selection], name: str) -> bool:
    for item in selections:
        if isinstance(item, SelectedField):
            if item.name == name and not _left_out(item):
                return True
        elif not _left_out(item) and _holds(item.selections, name):
            return True
    return False


def _left_out(item: Selection) -> bool:
    return item.directives.get("skip", {}).get("if") is True or item.directives.get("include", {}).get("if") is False
