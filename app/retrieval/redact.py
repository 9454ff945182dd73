"""R8. Every text passes the organisation's data-loss policy on its way out, whatever it came from."""

from collections.abc import Mapping
from uuid import UUID

from app.domain.selection import Selection
from app.storage.passages import Passage

#: The policy in force: nothing is redacted until an organisation can set one.
POLICY_VERSION = "none"


def redact(selection: Selection, texts: Mapping[UUID, Passage]) -> tuple[Selection, Mapping[UUID, Passage]]:
    """The identity, at the place where a policy acts: after the last text was fetched and before tokens are counted."""
    return selection, texts


def outgoing(text: str) -> str:
    """What an endpoint may be sent of a text: the identity, at the place where a policy acts. Every text that leaves,
    be it a question or a passage, goes through here."""
    return text
