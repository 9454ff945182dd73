"""What the tests of replay, impact and staleness share."""

from app.domain.principal import Principal
from app.domain.replay import Drift
from app.evidence.replay import Replay, replay
from app.retrieval.again import rerun
from app.retrieval.answer import Answer
from tests.fixtures.store import World


async def replayed(
    world: World, answer: Answer, query: str | None = None, *, by: Principal | None = None, now: bool = False
) -> Replay:
    parts = world.parts
    return await replay(
        parts.database,
        parts.keys,
        rerun(parts.retriever),
        by or world.principal,
        str(answer.attribution_id),
        query,
        now=now,
    )


def why(found: Replay) -> set[Drift]:
    return {reason.reason for reason in found.reasons}
