"""From what a request shows to who asks: a token, a key of a program, or either of them in a cookie."""

import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field

import structlog

from app.domain.errors import Code, MunimentError
from app.domain.principal import Client, Principal
from app.identity.client import declared_client, header
from app.identity.cookie import SIGN, cookie, require_same_site
from app.identity.key_secret import KeySecret
from app.identity.key_use import KeyUse
from app.identity.standing import Standing
from app.identity.tokens import TokenVerifier, bearer, unauthenticated
from app.storage import api_keys, revocations
from app.storage.engine import Database

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Credentials:
    """`origins`: of other hosts, whose pages may use the cookie."""

    database: Database
    tokens: TokenVerifier
    uses: KeyUse
    origins: frozenset[str] = frozenset()
    standing: Standing = field(default_factory=Standing)

    def shown(self, method: str, headers: Mapping[str, str]) -> str:
        """The credential of an HTTP request. UNAUTHENTICATED without one, FORBIDDEN for a cookie that another site may
        have had sent; by GET a cookie is not looked at."""
        if "authorization" in headers or method != "POST":
            return bearer(headers)
        found = cookie(headers)
        if found is None:
            raise unauthenticated()
        require_same_site(method, headers, header(headers, SIGN), self.origins)
        return found

    async def principal(self, credential: str, headers: Mapping[str, str], *, look_up: bool = True) -> Principal:
        """UNAUTHENTICATED unless it is believed, and was not revoked. `look_up` False leaves the last of a token to the
        caller, who is about to read it anyhow; a key is always looked up."""
        secret = KeySecret.read(credential)
        if secret is not None:
            return await self._of_key(secret, headers)
        await self.tokens.ready(credential)
        principal = self.tokens.principal(credential, headers)
        if look_up:
            await self.require_standing(principal)
        return principal

    async def require_standing(self, principal: Principal) -> None:
        """UNAUTHENTICATED when the token was revoked."""
        token = principal.token
        if token is None:
            return
        async with self.database.snapshot(principal.organisation) as session:
            revoked = await revocations.is_revoked(session, principal.id, token)
        if revoked:
            self.standing.forget(principal.id, token)
            raise unauthenticated()
        self.standing.found(principal.id, token)

    async def principal_in_outage(self, credential: str, headers: Mapping[str, str]) -> Principal:
        """The same for a caller that does not need the database: while it is away, a token counts that stood lately."""
        try:
            return await self.principal(credential, headers)
        except MunimentError as error:
            if error.code is not Code.SEARCH_UNAVAILABLE or KeySecret.read(credential) is not None:
                raise
            principal = self.tokens.principal(credential, headers)
            if principal.token is None or not self.standing.lately(principal.id, principal.token):
                raise
            log.warning("credentials.not_looked_up", organisation=str(principal.organisation))
            return principal

    async def _of_key(self, secret: KeySecret, headers: Mapping[str, str]) -> Principal:
        async with self.database.snapshot(secret.organisation) as session:
            found = await api_keys.find(session, secret.prefix)
        if found is None or not hmac.compare_digest(found[1], secret.digest):
            raise unauthenticated()
        key = found[0]
        self.uses.used(secret.organisation, key.id)
        name, version = declared_client(headers)
        return Principal(
            organisation=secret.organisation,
            id=key.principal_id,
            external_id=str(key.id),
            actor_type=key.actor_type,
            api_key_id=key.id,
            client=Client(key.prefix, name, version),
            allowed_providers=None if key.providers is None else frozenset(key.providers),
            expires_at=key.expires_at,
        )
