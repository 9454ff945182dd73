"""What one caller and one operation may ask for."""

from app.domain.limits import Limits
from app.settings import Settings


def limits(settings: Settings) -> Limits:
    """What one operation may ask for."""
    return Limits(
        tokens=settings.max_tokens,
        depth=settings.max_depth,
        aliases=settings.max_aliases,
        root_fields=settings.max_root_fields,
        fields=settings.max_fields,
        cost=settings.max_cost,
        list_items=settings.max_list_items,
        introspection=settings.introspection == "on",
    )


def share(part: float, whole: int) -> int:
    return max(1, int(part * whole))
