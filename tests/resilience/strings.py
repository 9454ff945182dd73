"""Each naughty string in each place of the schema that takes one:

    python -m tests.resilience.strings [--share N]

No answer is INTERNAL, and what a write gives back, or a later reading, is what was sent, byte for byte. `--share N`: of
the strings each place is tried with one of N, in turn, so that all of them are used. The exit code is 0 when it holds.
"""

import argparse
import asyncio
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from app.assembly.services import Services
from app.domain.limits import Rates
from app.identity.rates import RateLimiter
from tests.fixtures.inhabited import Names, inhabit
from tests.fixtures.own import own_store
from tests.fixtures.store import make_world
from tests.schema.conftest import Api, connect, token_of
from tests.schema.strings import NAUGHTY, Place, cursor, echoed, generated, naughty, places

#: By which field an object of a type is read again.
READ: Final = {"Memory": "memory", "Lens": "lens", "Source": "source", "Document": "document"}
CODES: Final = frozenset(
    {"BAD_USER_INPUT", "NOT_FOUND", "SPACE_NOT_FOUND", "ATTRIBUTION_NOT_FOUND", "FORBIDDEN", "CONFLICT"}
)


@dataclass
class Report:
    calls: int = 0
    answers: Counter[str] = field(default_factory=Counter)
    compared: int = 0
    read_again: int = 0
    wrong: list[str] = field(default_factory=list)

    def lines(self) -> Iterator[str]:
        yield f"calls           {self.calls}"
        yield f"answers by code {dict(self.answers.most_common())}"
        yield f"given back      {self.compared}, read again {self.read_again}"
        yield f"wrong           {len(self.wrong)}"
        yield from self.wrong[:40]


@dataclass
class Trial:
    api: Api
    names: Names
    token: str
    report: Report = field(default_factory=Report)

    async def post(self, document: str, variables: Any) -> Any:
        answer = await self.api.http.post(
            "/graphql",
            content=json.dumps({"query": document, "variables": variables}),
            headers={"Content-Type": "application/json", "Authorization": f"Bearer {self.token}"},
        )
        self.report.calls += 1
        if answer.status_code >= 500:
            self.report.wrong.append(f"{answer.status_code}: {document[:200]}")
        return answer.json()

    async def attempt(self, place: Place, value: str) -> None:
        document, variables = place.asked(self.names, value)
        body = await self.post(document, variables)
        codes = {error["extensions"]["code"] for error in body.get("errors", ())}
        self.report.answers.update(codes or {"OK"})
        if unknown := codes - CODES:
            self.report.wrong.append(f"{place} {ascii(value)[:60]}: {unknown}")
        if codes or place.operation.root == "query":
            return
        back = echoed(place, body["data"])
        if back:
            self.report.compared += 1
            if value not in back:
                self.report.wrong.append(f"{place} {ascii(value)[:60]}: gave back {ascii(back)[:80]}")
        await self._again(place, value, body["data"][place.operation.field], back)

    async def _again(self, place: Place, value: str, made: Any, back: Sequence[Any]) -> None:
        type_ = str(place.field.type).strip("!")
        if not back or type_ not in READ or not isinstance(made, dict) or place.leaf == "id":
            return
        body = await self.post(
            f"query($id: ID!) {{ one: {READ[type_]}(id: $id) {{ {place.leaf} }} }}", {"id": made["id"]}
        )
        found = echoed(place, (body.get("data") or {}).get("one") or {})
        if found:
            self.report.read_again += 1
            if value not in found:
                self.report.wrong.append(f"{place} {ascii(value)[:60]}: read again {ascii(found)[:80]}")

    async def cursors(self, place: Place, values: Sequence[str]) -> None:
        """Behind the name of a real collection, where it has a page to begin with."""
        document = place.operation.document.replace("pageInfo {", "pageInfo { endCursor")
        body = await self.post(document, dict(place.operation.variables(self.names)))
        [page] = (body.get("data") or {"": None}).values()
        if page and page["pageInfo"]["endCursor"]:
            for value in values:
                if value.isprintable() or not any("\ud800" <= character <= "\udfff" for character in value):
                    await self.attempt(place, cursor(page["pageInfo"]["endCursor"], value))


async def attempt_all(parts: Services, values: Sequence[str], share: int) -> Report:
    """Each place with one of `share` of the strings."""
    parts = replace(parts, rates=RateLimiter(parts.database, Rates(0)))
    async with connect(parts) as http:
        api = Api(await make_world(parts), http)
        trial = Trial(api, await inhabit(api), token_of(api.world))
        for number, place in enumerate(places()):
            trial.token = token_of(api.world)
            mine = values[number % share :: share]
            for value in mine:
                await trial.attempt(place, value)
            if place.leaf == "after":
                await trial.cursors(place, mine)
    return trial.report


async def _main(share: int) -> int:
    begun = time.monotonic()
    values = [*(naughty() if NAUGHTY.exists() else ()), *generated()]
    async with own_store() as parts:
        report = await attempt_all(parts, values, share)
    sys.stdout.write(f"places          {len(places())}, strings {len(values)}, share {share}\n")
    sys.stdout.write("\n".join(report.lines()) + f"\n{time.monotonic() - begun:.0f} s\n")
    return 1 if report.wrong else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=int, default=1)
    return asyncio.run(_main(parser.parse_args().share))


if __name__ == "__main__":
    sys.exit(main())
