"""What every resolver may use: the services of the process, and the caller behind this request."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

import strawberry
from starlette.requests import HTTPConnection

from app.bootstrap import Services
from app.domain.errors import MunimentError
from app.domain.principal import Principal
from app.identity.client import header
from app.identity.tokens import bearer, unauthenticated
from app.providers.ids import new_id
from app.server.tracing import Tracing

_NO_TRACING = Tracing()


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

    @property
    def principal(self) -> Principal:
        """The authenticated caller; UNAUTHENTICATED when there is none. A socket may outlive its credential, so there
        it is looked at for each operation."""
        if self._principal is None or self._is_socket:
            self._principal = self.services.tokens.principal(self._token, self.connection.headers)
        return self._principal

    def note_stranger(self) -> None:
        """Count a request without a valid credential; RATE_LIMITED when its address sent too many."""
        try:
            _ = self.principal
        except MunimentError:
            client = self.connection.client
            self.services.strangers.note(client.host if client else None)

    async def admit(self, actions: Mapping[str, int]) -> None:
        """Count the calls of an operation; RATE_LIMITED when they are too many. Who has no credential is told so by
        each field, and counted by address."""
        try:
            principal = self.principal
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

    def refresh(self) -> None:
        """UNAUTHENTICATED unless the credential is still believed, and still the same caller's."""
        before, self._principal = self._principal, None
        if before is not None and self.principal.id != before.id:
            raise unauthenticated()

    @property
    def tracing(self) -> Tracing:
        """Of the process; one that does nothing where none was set up."""
        found: Tracing = getattr(self.connection.app.state, "tracing", _NO_TRACING)
        return found

    @property
    def expires_at(self) -> datetime:
        """When the credential ends."""
        return self.services.tokens.expires_at(self._token)

    @property
    def _is_socket(self) -> bool:
        return bool(self.connection.scope["type"] == "websocket")

    @property
    def _token(self) -> str:
        """A socket brings it in `connection_init`: a page can set no header of one, and cookies count for nothing."""
        if not self._is_socket:
            return bearer(self.connection.headers)
        said = (self.connection_params or {}).items()
        given = {name.lower(): value for name, value in said if isinstance(value, str)}
        return bearer(given)

    @property
    def default_space(self) -> str | None:
        """The space that `X-Muniment-Space` names, by id or key path."""
        return header(self.connection.headers, "space")


Info = strawberry.Info[Context, None]
