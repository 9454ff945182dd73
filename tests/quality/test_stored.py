"""The scenarios, and some pages of the document history, through the real store and over HTTP.

The whole is `make scenarios`; here a slice of the pages, chosen so that each kind of question is among them.
"""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.quality.scenarios import run_stored

ROOT = Path(__file__).parents[2]
DATA = Path(os.environ.get("MUNIMENT_TEST_DATA", ROOT.parent / "shared" / "data")) / "temporal"
PAGES = 15


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


def write(path: Path, records: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")


def cut(folder: Path) -> int:
    """The scenarios whole, a slice of the pages, and one wrong expectation; the number of questions."""
    scenarios = read(DATA / "scenarios.jsonl")
    write(folder / "scenarios.jsonl", scenarios)
    revisions = read(DATA / "docs-history" / "revisions.jsonl")
    asked = {name: read(DATA / "docs-history" / f"{name}_queries.jsonl") for name in ("asof", "bitemporal")}
    deleted = {revision["page"] for revision in revisions if revision["op"] == "delete"}
    both = {question["page"] for question in asked["bitemporal"]}
    pages = sorted(both & deleted)[:5] + sorted(both - deleted)[:: max(1, len(both - deleted) // 10)]
    kept = set(pages[:PAGES])
    assert len(kept) == PAGES
    history = folder / "docs-history"
    write(history / "revisions.jsonl", [revision for revision in revisions if revision["page"] in kept])
    total = sum(len(scenario["queries"]) for scenario in scenarios)
    for name, questions in asked.items():
        mine = [question for question in questions if question["page"] in kept]
        assert len(mine) > PAGES
        write(history / f"{name}_queries.jsonl", mine)
        total += len(mine)
    wrong = {**mine[0], "id": "wrong", "expected_rev": 10_000}
    write(history / "bitemporal_queries.jsonl", [*mine, wrong])
    return total + 1


@pytest.mark.skipif(not DATA.exists(), reason=f"the evaluation data is absent: {DATA} (see MUNIMENT_TEST_DATA)")
async def test_every_question_is_answered_exactly_by_the_real_store(tmp_path: Path) -> None:
    total = cut(tmp_path / "data")
    report = await run_stored(tmp_path / "data")
    assert [question for question, _ in report.failures] == ["wrong"]
    assert report.total == total
