"""One request, searched twice: the second time at the very point of both clocks that the first time found."""

from dataclasses import dataclass, replace

from app.domain.temporal import AsOf
from app.retrieval.authorise import Authorised
from app.retrieval.request import RetrievalRequest


@dataclass(frozen=True, slots=True)
class Pin:
    """Permissions are not part of it: they are read anew, so what was taken back in between is gone."""

    as_of: AsOf
    historical: bool

    @classmethod
    def of(cls, authorised: Authorised) -> "Pin":
        return cls(authorised.scope.as_of, authorised.historical)

    def request(self, request: RetrievalRequest) -> RetrievalRequest:
        """The request as it reads once both clocks are settled."""
        return replace(request, as_of=self.as_of.valid_at, known_at=self.as_of.system_at)

    def authorised(self, authorised: Authorised) -> Authorised:
        """A present that is a moment old by now was still asked about as the present."""
        return replace(authorised, historical=self.historical)
