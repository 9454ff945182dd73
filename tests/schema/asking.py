"""Any operation of the table, asked as anybody; subscriptions by server-sent events, to their end."""

import json
from collections.abc import Mapping
from typing import Any

from tests.fixtures.operations import Operation
from tests.schema.conftest import Api


async def ask(api: Api, operation: Operation, variables: Mapping[str, Any], token: str) -> dict[str, Any]:
    """The answer; of a subscription the last event, or the first error."""
    if operation.root != "subscription":
        return await api.ask(operation.document, variables, token=token)
    answer = await api.http.post(
        "/graphql",
        content=json.dumps({"query": operation.document, "variables": dict(variables)}),
        headers={
            "Content-Type": "application/json",
            "Accept": "text/event-stream",
            "Authorization": f"Bearer {token}",
        },
    )
    lines = [line[len("data:") :].strip() for line in answer.text.splitlines() if line.startswith("data:")]
    events: list[dict[str, Any]] = [json.loads(line) for line in lines if line] or [answer.json()]
    return next((event for event in events if "errors" in event), events[-1])


def code(body: Mapping[str, Any]) -> str | None:
    """The code of the one error; None of an answer without one."""
    errors = body.get("errors") or []
    return errors[0]["extensions"]["code"] if errors else None


def nothing(body: dict[str, Any]) -> bool:
    """Whether an answer shows nothing: null, no items, no names."""
    [found] = body["data"].values()

    def empty(value: Any) -> bool:
        if isinstance(value, dict):
            return all(empty(item) for name, item in value.items() if name != "limitations")
        if isinstance(value, list):
            return all(empty(item) for item in value)
        return not value

    return empty(found)
