"""Tokens that were revoked before their time."""

from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from sqlalchemy import text

from app.domain.principal import Token
from app.storage.engine import Session, WriteSession
from app.storage.scope import tenant

#: How far an issuer's clock may be ahead of the database's: a token is believed that much before it was issued, and so
#: counts as issued that much earlier.
SKEW: Final = timedelta(seconds=5)


def revoked() -> str:
    """Whether the caller's token is; binds what `token_parameters` gives. One that does not say when it was issued is,
    as soon as anything of its subject's is."""
    return (
        f"(CAST(:has_token AS boolean) AND (EXISTS (SELECT FROM revoked_tokens v WHERE {tenant('v')} "
        "AND v.token_id = CAST(:token_id AS text)) "
        f"OR EXISTS (SELECT FROM revoked_subjects w WHERE {tenant('w')} AND w.principal_id = CAST(:token_user AS uuid) "
        "AND w.issued_before > coalesce(CAST(:token_issued AS timestamptz), '-infinity'))))"
    )


def token_parameters(user: UUID, token: Token | None) -> dict[str, Any]:
    issued = None if token is None else token.issued_at
    return {
        "has_token": token is not None,
        "token_id": None if token is None else token.id,
        "token_user": user,
        "token_issued": None if issued is None else issued - SKEW,
    }


_REVOKED = text(f"SELECT {revoked()}")


async def is_revoked(session: Session, user: UUID, token: Token) -> bool:
    return bool(await session.value(_REVOKED, {"organisation": session.organisation, **token_parameters(user, token)}))


_REVOKE_TOKEN = text(
    "INSERT INTO revoked_tokens (organisation_id, token_id, revoked_by, system_from) "
    "VALUES (:organisation, :token_id, CAST(:by AS uuid), :stamp) ON CONFLICT DO NOTHING"
)
_REVOKE_SUBJECT = text(
    "INSERT INTO revoked_subjects (organisation_id, principal_id, subject, issued_before, revoked_by, system_from) "
    "VALUES (:organisation, :principal, :subject, :before, CAST(:by AS uuid), :stamp) ON CONFLICT DO NOTHING"
)


async def revoke_token(session: WriteSession, token_id: str, by: UUID | None) -> None:
    """For ever; once is enough."""
    await session.run(
        _REVOKE_TOKEN,
        {"organisation": session.organisation, "token_id": token_id, "by": by, "stamp": session.stamp},
    )


async def revoke_subject(
    session: WriteSession, principal: UUID, subject: str, before: datetime, by: UUID | None
) -> None:
    """Every token of the subject that was issued before that moment."""
    await session.run(
        _REVOKE_SUBJECT,
        {
            "organisation": session.organisation,
            "principal": principal,
            "subject": subject,
            "before": before,
            "by": by,
            "stamp": session.stamp,
        },
    )
