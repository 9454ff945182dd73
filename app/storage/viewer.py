"""Whose records, and which of the items that they name, a statement may speak of to one caller."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from app.storage.scope import believed_now, tenant


@dataclass(frozen=True, slots=True)
class Viewer:
    """All records count for an auditor, else those of `user` and those of `spaces`. Of the latter what they name counts
    where the caller audits the record's space (`audited`), or may see the space of the item (`known`)."""

    user: UUID
    auditor: bool
    spaces: Collection[UUID] = ()
    audited: Collection[UUID] = ()
    known: Collection[UUID] = ()

    @property
    def parameters(self) -> dict[str, Any]:
        """What the predicates below bind."""
        return {
            "user": self.user,
            "auditor": self.auditor,
            "spaces": list(self.spaces),
            "audited": list(self.audited),
            "known": list(self.known),
        }


def sees(alias: str) -> str:
    """The caller sees the record that a row of (user_id, space_id) belongs to."""
    return f"(:auditor OR {alias}.user_id = :user OR {alias}.space_id = ANY(CAST(:spaces AS uuid[])))"


def sees_item(alias: str) -> str:
    """The caller sees that record, and in it the item, of a row that has source_id and whole_id too."""
    return f"""
        (:auditor OR {alias}.user_id = :user OR {alias}.space_id = ANY(CAST(:spaces AS uuid[])) AND (
            {alias}.space_id = ANY(CAST(:audited AS uuid[]))
            OR EXISTS (SELECT FROM sources o WHERE {believed_now("o")} AND o.id = {alias}.source_id
                AND o.space_id = ANY(CAST(:known AS uuid[])))
            OR {alias}.source_id IS NULL AND EXISTS (SELECT FROM memories m WHERE {tenant("m")}
                AND m.id = {alias}.whole_id AND m.space_id = ANY(CAST(:known AS uuid[])))))
    """
