"""What every resolver may use: the services of the process, and the caller behind this request."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

import strawberry
from starlette.requests import HTTPConnection

from app.assembly.services import Services
from app.domain.errors import MunimentError
from app.domain.principal import Principal
from app.identity.client import header
from app.identity.tokens import bearer, unauthenticated
from app.providers.ids import new_id
from app.server.tracing import Tracing

_NO_TRACING = Tracing()

NEVER: Final = datetime.max.replace(tzinfo=UTC)


@dataclass
class Context:
    """One HTTP request. `request_id` names it in errors and logs."""

    services: Services
    connection: HTTPConnection
    request_id: UUID = field(default_factory=new_id)
    #: What a WebSocket said of itself when it was opened.
    connection_params: Mapping[str, Any] | None = None
    #: When an operation of this request must be over, by the loop's clock; on a socket each root field counts anew.
    _until: float | None = None
    _principal: Principal | None = None
    #: Whether it was looked up that the token was not revoked.
    _standing: bool = False
    _refused: MunimentError | None = None

    async def authenticate(self, *, look_up: bool = True, anew: bool = False) -> Principal:
        """The caller; UNAUTHENTICATED when there is none. `look_up` as in `Credentials.principal`; `anew`: whatever was
        found before."""
        if self._refused is not None:
            raise self._refused
        if self._principal is None or anew:
            try:
                self._principal = await self.services.credentials.principal(
                    self._shown, self.connection.headers, look_up=look_up
                )
            except MunimentError as error:
                self._principal = None
                if not self._is_socket:
                    self._refused = error
                raise
            self._standing = look_up
        elif look_up and not self._standing:
            await self.services.credentials.require_standing(self._principal)
            self._standing = True
        return self._principal

    async def look_again(self) -> None:
        """UNAUTHENTICATED when the credential has ended since, or was revoked, or is another caller's."""
        found = await self.services.credentials.principal(self._shown, self.connection.headers)
        if found.id != self.principal.id:
            raise unauthenticated()

    @property
    def principal(self) -> Principal:
        """Who was authenticated; every root field sees to that first."""
        if self._principal is None:
            raise unauthenticated()
        return self._principal

    async def note_stranger(self) -> None:
        """Count a request without a valid credential; RATE_LIMITED when its address sent too many."""
        try:
            await self.authenticate(look_up=False)
        except MunimentError as error:
            # Where nobody can be looked up, nobody is a stranger.
            if not error.retryable:
                client = self.connection.client
                self.services.strangers.note(client.host if client else None)

    async def admit(self, actions: Mapping[str, int]) -> None:
        """Count the calls of an operation; RATE_LIMITED when they are too many. Who has no credential is told so by
        each field, and counted by address. A socket may outlive its credential, so there it is looked at anew."""
        try:
            principal = await self.authenticate(look_up=False, anew=self._is_socket)
        except MunimentError:
            return
        await self.services.rates.admit(principal, actions)

    @property
    def until(self) -> float:
        """When work must be over, by the event loop's clock."""
        now, seconds = asyncio.get_running_loop().time(), self.services.settings.request_timeout_ms / 1000
        if self._is_socket:
            return now + seconds
        if self._until is None:
            self._until = now + seconds
        return self._until

    @property
    def tracing(self) -> Tracing:
        """Of the process; one that does nothing where none was set up."""
        found: Tracing = getattr(self.connection.app.state, "tracing", _NO_TRACING)
        return found

    @property
    def expires_at(self) -> datetime:
        """When the credential ends."""
        return self.principal.expires_at or NEVER

    @property
    def _is_socket(self) -> bool:
        return bool(self.connection.scope["type"] == "websocket")

    @property
    def _shown(self) -> str:
        """A socket brings it in `connection_init`: a page can set no header of one, and cookies count for nothing."""
        if not self._is_socket:
            return self.services.credentials.shown(self.connection.scope.get("method", ""), self.connection.headers)
        said = (self.connection_params or {}).items()
        given = {name.lower(): value for name, value in said if isinstance(value, str)}
        return bearer(given)

    @property
    def default_space(self) -> str | None:
        """The space that `X-Muniment-Space` names, by id or key path."""
        return header(self.connection.headers, "space")


Info = strawberry.Info[Context, None]
