"""An organisation's policy against leaks: for each class of text, what is done where a detector finds something."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from app.domain.dlp.finding import DETECTORS_VERSION
from app.domain.locality import Locality, may_be_sent


class Classification(StrEnum):
    """How freely what a source holds may be read."""

    PUBLIC = "public"
    INTERNAL = "internal"
    CONFIDENTIAL = "confidential"
    RESTRICTED = "restricted"
    REGULATED = "regulated"


class Action(StrEnum):
    """What becomes of texts of a class.

    `allow`: given and searched as they are. `redact`: what is found is masked, in what is searched and what is given.
    `drop`: a text in which something is found is not given. `block_source`: nothing is given of a source in which
    something is found. Texts of a class with one of the last two are sent to no endpoint.
    """

    ALLOW = "allow"
    REDACT = "redact"
    DROP = "drop"
    BLOCK_SOURCE = "block_source"


#: While an organisation has set nothing else.
DEFAULT: Mapping[Classification, Action] = {
    Classification.PUBLIC: Action.REDACT,
    Classification.INTERNAL: Action.REDACT,
    Classification.CONFIDENTIAL: Action.DROP,
    Classification.RESTRICTED: Action.DROP,
    Classification.REGULATED: Action.DROP,
}
#: The class of what people write themselves: memories.
OWN_WORDS = Classification.INTERNAL


@dataclass(frozen=True, slots=True)
class Policy:
    """`number` counts the policies of an organisation, 0 is the default; `actions` has every class, in their order."""

    number: int = 0
    actions: tuple[tuple[Classification, Action], ...] = tuple(DEFAULT.items())

    @classmethod
    def of(cls, number: int, actions: Mapping[Classification, Action]) -> "Policy":
        """Classes that are not named keep the default."""
        return cls(number, tuple({**DEFAULT, **actions}.items()))

    @property
    def version(self) -> str:
        """What evidence names: the policy, and what its detectors find."""
        return f"{self.number}/{DETECTORS_VERSION}"

    def action(self, classification: str) -> Action:
        """A class that nobody knows is treated as the strictest."""
        return {kind.value: action for kind, action in self.actions}.get(classification, Action.BLOCK_SOURCE)

    @property
    def barred(self) -> frozenset[str]:
        """Classes whose texts are sent to no endpoint."""
        return frozenset(kind.value for kind, action in self.actions if action in (Action.DROP, Action.BLOCK_SOURCE))

    def may_be_sent(self, classification: str, where: Locality) -> bool:
        """Whether an endpoint there may be sent texts of the class, redacted."""
        return may_be_sent(classification, where, self.barred)

    def kept_from(self, where: Locality) -> list[str]:
        """Classes whose texts an endpoint there may not be sent."""
        return [kind.value for kind, _ in self.actions if not self.may_be_sent(kind.value, where)]

    def masks_index(self, classification: str) -> bool:
        """Whether words that a detector found are kept out of what the text leg searches."""
        return self.action(classification) is not Action.ALLOW


DEFAULT_POLICY = Policy()


def tag(masks: bool) -> str:
    """What an indexed text says of the policy that it was indexed under: nothing but this of it shapes an index."""
    return f"{DETECTORS_VERSION}/{'masked' if masks else 'plain'}"
