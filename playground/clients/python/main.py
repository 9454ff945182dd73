"""Asks a question, cites what a model should read, says which response used it, and waits until any of it moves.

MUNIMENT_TOKEN=… python main.py "How are refunds authorised?" handbook
"""

import asyncio
import os
import sys
from contextlib import aclosing
from uuid import uuid4

from muniment_client import AskRetrievePassagesCitation, Muniment, RetrieveInput
from muniment_client.transport import ApiError


def place(citation: AskRetrievePassagesCitation) -> str:
    parts = [f"{citation.title} ({citation.external_id})"]
    if citation.heading_path:
        parts.append(citation.heading_path)
    if citation.page:
        parts.append(f"page {citation.page}")
    if citation.sheet:
        parts.append(f"sheet {citation.sheet}")
    if citation.row_start:
        parts.append(f"rows {citation.row_start}–{citation.row_end}")
    return ", ".join(parts)


async def run(muniment: Muniment, question: str, space_key: str | None) -> None:
    answer = (await muniment.ask(RetrieveInput(query=question, space_key=space_key, top_k=3))).retrieve
    for passage in answer.passages:
        print(f"[{passage.citation.index}] {place(passage.citation)}")
        since, until = passage.valid_from or "ever", passage.valid_to or "further notice"
        print(f"    holds from {since} to {until}, score {passage.score:.3f}")
        print(f"    {' '.join(passage.text.split()[:25])}")
    for exclusion in answer.exclusions:
        count = "some" if exclusion.count is None else exclusion.count
        print(f"left out at {exclusion.stage}: {count} {exclusion.type_.value}")
    for limitation in answer.limitations:
        print(f"{limitation.code.value}: {limitation.message}")
    if not answer.passages:
        return

    link = (await muniment.link(answer.attribution_id, f"response-{uuid4()}")).link_response
    record = (await muniment.record(link.attribution_id)).attribution
    print(f"{link.response_id} used {record.id}, which is {record.state.value.lower()}")

    print("following", flush=True)
    async with aclosing(muniment.follow(answer.attribution_id)) as events:
        async for event in events:
            for item in event.context_changed.moved:
                print(f"{item.movement.value} {item.whole_id} at {item.at or '?'}")
            if event.context_changed.moved:
                return


async def main(arguments: list[str]) -> int:
    if not arguments:
        print("usage: python main.py QUESTION [SPACE]", file=sys.stderr)
        return 2
    token = os.environ.get("MUNIMENT_TOKEN")
    if not token:
        print("MUNIMENT_TOKEN is not set: `muniment token` prints one", file=sys.stderr)
        return 1
    async with Muniment(os.environ.get("MUNIMENT_URL", "http://127.0.0.1:8000"), token) as muniment:
        try:
            await run(muniment, arguments[0], arguments[1] if len(arguments) > 1 else None)
        except ApiError as error:
            print(f"{error.refusal.code}: {error}" if error.refusal else error, file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1:])))
