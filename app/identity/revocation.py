"""Revoking tokens before their time: one by its `jti`, or all of a person's that were issued before a moment.

The list is read with every request, in the transaction that a retrieval makes anyhow, so it holds at once in every
process."""

from datetime import UTC, datetime
from uuid import UUID

from app.domain.errors import bad_input
from app.domain.instant import FIRST, as_utc, format_instant
from app.domain.principal import Permission, Principal, principal_id
from app.identity.authorisation import require
from app.identity.claims import ClaimError, text_of
from app.identity.credential_log import log_change
from app.storage import revocations
from app.storage.engine import Database


async def revoke_tokens(
    database: Database,
    principal: Principal,
    *,
    token_id: str | None,
    subject: str | None,
    issued_before: datetime | None,
) -> datetime | None:
    """For who holds `org:admin`. The moment before which a subject's tokens must have been issued; None for one token.
    BAD_USER_INPUT unless either a token or a subject is named."""
    await require(database, principal, Permission.ORG_ADMIN)
    return await _revoke(database, principal.organisation, principal.id, token_id, subject, issued_before)


async def revoke_for_operator(
    database: Database, organisation: UUID, *, token_id: str | None, subject: str | None, issued_before: datetime | None
) -> datetime | None:
    """The same for who holds the deployment itself."""
    return await _revoke(database, organisation, None, token_id, subject, issued_before)


async def _revoke(
    database: Database,
    organisation: UUID,
    by: UUID | None,
    token_id: str | None,
    subject: str | None,
    issued_before: datetime | None,
) -> datetime | None:
    if (token_id is None) == (subject is None):
        raise bad_input("name either one token or one subject", "tokenId")
    if token_id is not None and issued_before is not None:
        raise bad_input("one token is revoked whenever it was issued", "issuedBefore")
    named, field = (token_id, "tokenId") if subject is None else (subject, "subject")
    try:
        text_of(named)
    except ClaimError:
        raise bad_input("no token has such a claim", field) from None
    if issued_before is not None and as_utc(issued_before, "issuedBefore") > datetime.now(UTC):
        # It cannot be taken back: nobody is to be shut out for longer than it takes to sign in again.
        raise bad_input("must not lie in the future", "issuedBefore")
    if issued_before == FIRST:
        raise bad_input("no token was issued before that", "issuedBefore")
    async with database.write(organisation) as session:
        if subject is None:
            assert token_id is not None
            await revocations.revoke_token(session, token_id, by)
            await log_change(session, "token_revoked", by, {"tokenId": token_id})
            return None
        before = session.stamp if issued_before is None else issued_before
        person = principal_id(organisation, "person", subject)
        await revocations.revoke_subject(session, person, subject, before, by)
        about = {"principalId": str(person), "issuedBefore": format_instant(before)}
        await log_change(session, "subject_revoked", by, about)
        return before
