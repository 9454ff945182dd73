"""A short run of the fuzzing; the command does 20,000 operations."""

from app.assembly.services import Services
from tests.resilience.fuzzing import fuzz


async def test_nothing_is_internal_or_another_organisations_or_unrecorded(parts: Services) -> None:
    report = await fuzz(parts, 240, seed=7, life=120)
    assert report.internal == []
    assert report.leaks == []
    assert report.unrecorded == []
    assert report.delivered > 0
    assert report.answers["OK"] > 20
    assert len(report.fields) > 40
