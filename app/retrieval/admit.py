"""Which of the permitted sources are searched: those that the credential admits, that may be delivered from, and that
the request asks for. What is set aside is told by provider, as far as the caller may know of it."""

from collections import Counter
from collections.abc import Mapping
from uuid import UUID

from app.domain.contract import Exclusion, sentence
from app.domain.lens import Lens, admits
from app.domain.principal import Principal, Source
from app.domain.selection import Reason
from app.retrieval.request import Parameters

STAGE = "authorise"

#: Providers that say who may read what. Without what they said at ingest, nothing of theirs is delivered.
KEEPS_ACCESS_POLICIES = frozenset({"notion", "slack", "google_drive", "gmail", "confluence", "sharepoint"})


def admit(
    permitted: Mapping[UUID, Source], principal: Principal, parameters: Parameters, lens: Lens | None = None
) -> tuple[dict[UUID, Source], tuple[Exclusion, ...]]:
    """The sources to search, and what was set aside, counted in sources. A provider that the credential does not admit
    is named without a number."""
    admitted: dict[UUID, Source] = {}
    barred: set[str] = set()
    aside: Counter[tuple[Reason, str, str]] = Counter()
    for id, source in permitted.items():
        if not principal.admits(source.provider):
            barred.add(source.provider)
        elif not _wanted(source, parameters, lens):
            aside[Reason.CALLER_FILTER, source.provider, source.kind] += 1
        elif source.provider in KEEPS_ACCESS_POLICIES and source.access_policy is None:
            aside[Reason.MISSING_ACCESS_POLICY, source.provider, source.kind] += 1
        else:
            admitted[id] = source
    return admitted, (
        *(
            Exclusion(Reason.PROVIDER_SCOPE, STAGE, provider, None, None, sentence(Reason.PROVIDER_SCOPE))
            for provider in sorted(barred)
        ),
        *(
            Exclusion(reason, STAGE, provider, kind, count, sentence(reason))
            for (reason, provider, kind), count in sorted(aside.items())
        ),
    )


def _wanted(source: Source, parameters: Parameters, lens: Lens | None) -> bool:
    """What both the request's own filters and the lens admit. A filter on tags that lists none admits no document."""
    return (
        parameters.tags != ()
        and admits(parameters.source_kinds, source.kind)
        and admits(parameters.providers, source.provider)
        and (lens is None or lens.admits(source))
    )
