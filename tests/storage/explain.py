"""What a statement really does: the plan of every statement that the code runs, as the application's role."""

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import text

from app.storage.engine import Database, Session


@dataclass(frozen=True)
class Plan:
    """One executed plan. Rows count over all loops."""

    statement: str
    root: dict[str, Any]

    @property
    def nodes(self) -> list[dict[str, Any]]:
        return list(self._below(self.root))

    def _below(self, node: dict[str, Any]) -> Iterator[dict[str, Any]]:
        yield node
        for child in node.get("Plans", ()):
            yield from self._below(child)

    @property
    def indexes(self) -> set[str]:
        return {node["Index Name"] for node in self.nodes if "Index Name" in node}

    @property
    def scanned(self) -> set[str]:
        """Tables that were read from end to end."""
        return {node["Relation Name"] for node in self.nodes if "Seq Scan" in node["Node Type"]}

    @property
    def removed(self) -> int:
        """Rows that were fetched and thrown away."""
        return sum(
            (node.get("Rows Removed by Filter", 0) + node.get("Rows Removed by Index Recheck", 0))
            * node["Actual Loops"]
            for node in self.nodes
        )

    @property
    def fetched(self) -> int:
        """Rows that the scans of tables passed on or threw away."""
        return self.removed + sum(
            round(node["Actual Rows"] * node["Actual Loops"]) for node in self.nodes if "Relation Name" in node
        )

    @property
    def buffers(self) -> int:
        """Pages touched, in memory or on disk."""
        return int(self.root["Shared Hit Blocks"] + self.root["Shared Read Blocks"])

    def __str__(self) -> str:
        return f"{self.statement}\n{json.dumps(self.root, indent=1)}"


class Explained(Session):
    """A session that explains each statement before it runs it."""

    def __init__(self, session: Session) -> None:
        super().__init__(session._connection, session._organisation)
        self.plans: list[Plan] = []

    async def _explain(self, statement: Any, parameters: Any) -> None:
        prefixed = text(f"EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) {statement.text}")
        found = (await self._connection.execute(prefixed, parameters)).scalar()
        found = json.loads(found) if isinstance(found, str) else found
        self.plans.append(Plan(statement.text, found[0]["Plan"]))

    async def rows(self, statement: Any, parameters: Any = None) -> Any:
        await self._explain(statement, parameters)
        return await super().rows(statement, parameters)

    async def row(self, statement: Any, parameters: Any = None) -> Any:
        await self._explain(statement, parameters)
        return await super().row(statement, parameters)

    async def value(self, statement: Any, parameters: Any = None) -> Any:
        await self._explain(statement, parameters)
        return await super().value(statement, parameters)

    async def run(self, statement: Any, parameters: Any = None) -> int:
        """For effect: explaining it has run it."""
        for one in parameters if isinstance(parameters, list) else [parameters]:
            await self._explain(statement, one)
        return 1


@asynccontextmanager
async def explained(database: Database, organisation: UUID) -> AsyncIterator[Explained]:
    """A snapshot as the application takes it, whose statements are explained."""
    async with database.snapshot(organisation) as session:
        yield Explained(session)
