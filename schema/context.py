"""What every resolver may use: the services of the process, and the caller behind this request."""

from dataclasses import dataclass, field
from uuid import UUID

import strawberry
from starlette.requests import HTTPConnection

from app.bootstrap import Services
from app.domain.principal import Principal
from app.identity.client import header
from app.identity.tokens import bearer
from app.providers.ids import new_id


@dataclass
class Context:
    """One HTTP request. `request_id` names it in errors and logs."""

    services: Services
    connection: HTTPConnection
    request_id: UUID = field(default_factory=new_id)
    _principal: Principal | None = None

    @property
    def principal(self) -> Principal:
        """The authenticated caller; UNAUTHENTICATED when there is none."""
        if self._principal is None:
            headers = self.connection.headers
            self._principal = self.services.tokens.principal(bearer(headers), headers)
        return self._principal

    @property
    def default_space(self) -> str | None:
        """The space that `X-Muniment-Space` names, by id or key path."""
        return header(self.connection.headers, "space")


Info = strawberry.Info[Context, None]
