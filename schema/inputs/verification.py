"""What of a chain is to be verified."""

from typing import Annotated

import strawberry

from schema.scalars import BigInt

FromSequence = Annotated[
    BigInt | None, strawberry.argument(description="First record to check; the first of the chain by default.")
]
ToSequence = Annotated[
    BigInt | None, strawberry.argument(description="Last record to check; the last of the chain by default.")
]
SinceLastRun = Annotated[
    bool,
    strawberry.argument(
        description="Check only what was chained since a run last found everything before it VALID. That run left a "
        "sealed mark; without one the whole chain is checked."
    ),
]
