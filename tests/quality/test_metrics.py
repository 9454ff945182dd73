import json

import pytest

from tests.quality.metrics import load, mean, ndcg, recall


def test_the_ideal_order_is_one_and_nothing_found_is_zero():
    grades = {"a": 2, "b": 1, "c": 0}
    assert ndcg(["a", "b", "c"], grades) == 1
    assert ndcg(["c", "x"], grades) == 0
    assert ndcg([], grades) == ndcg(["a"], {}) == ndcg(["c"], {"c": 0}) == 0


def test_a_gain_is_two_to_the_grade_less_one_discounted_by_rank():
    # DCG = 1/log2(2) + 3/log2(3); ideal = 3/log2(2) + 1/log2(3).
    assert ndcg(["b", "a"], {"a": 2, "b": 1}) == pytest.approx(
        (1 + 3 / 1.584962500721156) / (3 + 1 / 1.584962500721156)
    )


def test_only_the_first_ten_count():
    order = [*(f"x{i}" for i in range(10)), "a"]
    assert ndcg(order, {"a": 1}) == recall(order, {"a": 1}) == 0
    assert ndcg(order[1:], {"a": 1}) == pytest.approx(1 / 3.4594316186372973)
    assert ndcg([f"a{i}" for i in range(10)], {f"a{i}": 1 for i in range(12)}) == 1


def test_recall_is_the_share_of_relevant_documents():
    assert recall(["a", "x"], {"a": 1, "b": 2, "c": 0}) == 0.5
    assert recall(["a"], {}) == 0


def test_the_mean_of_nothing_is_nothing():
    assert mean([]) == 0
    assert mean([1, 0.5]) == 0.75


def test_a_collection_keeps_judged_queries_only(tmp_path):
    rows = [{"_id": "d1", "title": "t", "text": "one\u2028line"}, {"_id": "d2", "text": "x"}]
    (tmp_path / "corpus.jsonl").write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    (tmp_path / "queries.jsonl").write_text('{"_id": "q1", "text": "a"}\n{"_id": "q2", "text": "b"}\n')
    (tmp_path / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t0\n")
    collection = load(tmp_path)
    assert collection.documents == {"d1": ("t", "one\u2028line"), "d2": ("", "x")}
    assert collection.queries == {"q1": "a"}
    assert collection.judgements == {"q1": {"d1": 2, "d2": 0}}
