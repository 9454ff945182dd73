"""The evaluation data on two clocks by the pure rules, all exact; and proof that the command can fail."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.quality.scenarios import main

DATA = Path(os.environ.get("MUNIMENT_TEST_DATA", Path(__file__).parents[2] / "../shared/data")) / "temporal"


def write(path: Path, records: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")


def op(kind: str, system: str, start: str | None, end: str | None, value: object = None, **more: str) -> dict[str, Any]:
    return {"op": kind, "system": system, "from": start, "to": end, "value": value, **more}


def as_of(valid: str, system: str | None, expect: object) -> dict[str, Any]:
    return {"q": "as_of", "valid": valid, "system": system, "expect": expect}


def timeline(system: str, *expect: list[object]) -> dict[str, Any]:
    return {"q": "timeline", "system": system, "expect": list(expect)}


def scenario(name: str, ops: list[dict[str, Any]], queries: list[dict[str, Any]]) -> dict[str, Any]:
    return {"id": name, "ops": ops, "queries": queries}


@pytest.fixture
def result(tmp_path: Path) -> Any:
    """Runs the command on `tmp_path`; gives its exit code and what it wrote."""

    def run(folder: Path = tmp_path) -> tuple[int, dict[str, Any]]:
        out = tmp_path / "out.json"
        code = main([str(folder), "--out", str(out), "--pure"])
        return code, json.loads(out.read_text("utf-8"))

    return run


@pytest.mark.skipif(not DATA.exists(), reason=f"the evaluation data is absent: {DATA} (see MUNIMENT_TEST_DATA)")
def test_every_question_of_the_evaluation_data_is_answered_exactly(
    result: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    scenarios = [json.loads(line) for line in (DATA / "scenarios.jsonl").read_bytes().splitlines()]
    asked = [line for name in ("asof", "bitemporal") for line in (DATA / f"docs-history/{name}_queries.jsonl").open()]
    total = sum(len(scenario["queries"]) for scenario in scenarios) + len(asked)
    code, written = result(DATA)
    assert capsys.readouterr().out == f"{total} of {total} exact\n"
    assert written == {"exact": total, "total": total, "failed": []}
    assert code == 0


def test_all_operations_and_questions(tmp_path: Path, result: Any) -> None:
    believed = op("assert", "2020-01-01", "2020-01-01", None, {"k": [1, None]})
    write(
        tmp_path / "scenarios.jsonl",
        [
            scenario(
                "update and retract",
                [
                    op("assert", "2020-01-01", "2020-01-01", "2020-03-01", 1),
                    op("update", "2020-01-02T09:00:00+09:00", "2020-02-01", "2020-05-01", 2),
                    op("retract", "2020-01-03", "2020-01-10", "2020-01-20"),
                ],
                [
                    timeline("2020-01-02", ["2020-01-01", "2020-02-01", 1], ["2020-02-01", "2020-03-01", 2]),
                    timeline(
                        "2999-01-01",
                        ["2020-01-01", "2020-01-10", 1],
                        ["2020-01-20", "2020-02-01", 1],
                        ["2020-02-01", "2020-02-10", 2],
                        ["2020-02-10", "2020-03-01", 2],
                    ),
                    as_of("2020-04-01", "2020-01-03", None),
                    as_of("2020-01-15", None, None),
                ],
            ),
            scenario(
                "one system instant",
                [
                    op("assert", "2020-01-01", None, None, "a"),
                    op("retract", "2020-01-01", None, "2020-06-01"),
                    op("assert", "2020-01-01", "2020-08-01", None, "b"),
                ],
                [
                    timeline("2020-01-01", ["2020-06-01", "2020-08-01", "a"], ["2020-08-01", None, "b"]),
                    timeline("2019-12-31T23:59:59.999999Z"),
                ],
            ),
            scenario(
                "erase",
                [
                    op("assert", "2020-01-01", None, None, "secret"),
                    {"op": "erase", "system": "2020-02-01"},
                    op("assert", "2020-03-01", "2020-03-01", None, "anew"),
                ],
                [timeline("2020-01-15"), timeline("2020-03-01", ["2020-03-01", None, "anew"])],
            ),
            scenario(
                "refusals",
                [believed, op("update", "2020-01-02", "2020-02-01", "2020-02-01", 9, on_empty="noop")],
                [
                    {"q": "reject", "op": op("assert", "2020-02-01", "2020-03-01", "2020-02-01", 9), "expect": "r"},
                    {"q": "reject", "op": op("assert", "2020-02-01", "2023-02-29", None, 9), "expect": "no such day"},
                    {"q": "reject", "op": op("assert", "2019-02-01", None, None, 9), "expect": "clock"},
                    {"q": "invalid_input", "value": "2023-02-29T00:00:00Z", "expect": "error"},
                    {"q": "invalid_input", "value": "2023-02-28", "expect": "error"},
                    as_of("2020-01-01", None, {"k": [1, None]}),
                ],
            ),
        ],
    )
    code, written = result()
    assert written == {"exact": 14, "total": 14, "failed": []}
    assert code == 0


def test_wrong_expectations_are_reported(tmp_path: Path, result: Any, capsys: pytest.CaptureFixture[str]) -> None:
    accepted = op("assert", "2020-03-01", None, None, 7)
    write(
        tmp_path / "scenarios.jsonl",
        [
            scenario(
                "W",
                [op("assert", "2020-01-01", "2020-01-01", None, 1)],
                [
                    as_of("2020-01-01", "2020-01-01", 1),
                    as_of("2020-01-01", "2020-01-01", 2),
                    as_of("2020-01-01", "2020-01-01", True),
                    as_of("2020-01-01", "2020-01-01", None),
                    as_of("2019-12-31", "2020-01-01", 1),
                    timeline("2020-01-01", ["2020-01-01", "2021-01-01", 1]),
                    timeline("2020-01-01"),
                    {"q": "invalid_input", "value": "2020-01-01T00:00:00Z", "expect": "error"},
                    {"q": "reject", "op": accepted, "expect": "anything"},
                    {"q": "unheard of"},
                    as_of("2020-01-01T00:00:00", "2020-01-01", 1),
                ],
            ),
            scenario(
                "unreadable", [op("merge", "2020-01-01", None, None, 1)], [as_of("2020-01-01", "2020-01-01", None)]
            ),
        ],
    )
    pages = [
        {"page": "p", "rev": 1, "op": "assert", "system_from": "2020-01-01T00:00:00Z", "valid_from": "2019-01-01"},
        {"page": "p", "rev": 2, "op": "assert", "system_from": "2020-02-01T00:00:00Z", "valid_from": "2020-01-01"},
        {"page": "p", "rev": 3, "op": "delete", "system_from": "2020-03-01T00:00:00Z", "valid_from": None},
    ]
    history = tmp_path / "docs-history"
    write(history / "revisions.jsonl", [{"blob": "b", "title": "t", "text": "", "system_to": None} | p for p in pages])
    asked = {"page": "p", "system_as_of": "2020-02-01T00:00:00Z"}
    write(
        history / "asof_queries.jsonl",
        [
            asked | {"id": "h-right", "expected_rev": 2, "expected_blob": "b", "expected_title": "t"},
            asked | {"id": "h-rev", "expected_rev": 1},
            asked | {"id": "h-blob", "expected_rev": 2, "expected_blob": "other"},
            asked | {"id": "h-deleted", "system_as_of": "2020-03-01T00:00:00Z", "expected_rev": None},
            asked | {"id": "h-not-deleted", "system_as_of": "2020-02-29T23:59:59Z", "expected_rev": None},
        ],
    )
    write(
        history / "bitemporal_queries.jsonl",
        [
            asked | {"id": "b-right", "valid_as_of": "2019-12-31", "expected_rev": 1},
            asked | {"id": "b-wrong", "valid_as_of": "2019-12-31", "expected_rev": 2},
        ],
    )
    code, written = result()
    failed = [f"W/{number}" for number in range(2, 12)] + [
        "unreadable/1",
        "h-rev",
        "h-blob",
        "h-not-deleted",
        "b-wrong",
    ]
    assert written == {"exact": 4, "total": 19, "failed": failed}
    assert code == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines[:-1]] == failed
    assert lines[-1] == "4 of 19 exact"


def test_a_folder_without_questions_is_not_a_success(tmp_path: Path, result: Any) -> None:
    code, written = result()
    assert written["total"] == 0
    assert code == 2
