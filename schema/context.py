"""What every resolver may use: the services of the process, and the caller behind this request."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

import strawberry
from starlette.requests import HTTPConnection

from app.bootstrap import Services
from app.domain.principal import Principal
from app.identity.client import header
from app.identity.tokens import bearer
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
    _principal: Principal | None = None

    @property
    def principal(self) -> Principal:
        """The authenticated caller; UNAUTHENTICATED when there is none. A socket may outlive its credential, so there
        it is looked at for each operation."""
        if self._principal is None or self._is_socket:
            self._principal = self.services.tokens.principal(self._token, self.connection.headers)
        return self._principal

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
