"""Ranking measures over judged queries: nDCG@10 with gain 2^grade − 1, and recall@10."""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

Grades = Mapping[str, int]


class Collection(NamedTuple):
    """A test collection: documents and queries by id, grades by query and document id."""

    documents: dict[str, tuple[str, str]]
    queries: dict[str, str]
    judgements: dict[str, dict[str, int]]


def load(folder: Path) -> Collection:
    """Reads `corpus.jsonl` (id → title, text), `queries.jsonl` and `qrels.tsv`; unjudged queries are left out."""

    def lines(name: str) -> list[dict[str, str]]:
        return [json.loads(line) for line in (folder / name).read_text(encoding="utf-8").split("\n") if line]

    judgements: dict[str, dict[str, int]] = {}
    for line in (folder / "qrels.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        query, document, grade = line.split("\t")
        judgements.setdefault(query, {})[document] = int(grade)
    return Collection(
        {row["_id"]: (row.get("title", ""), row["text"]) for row in lines("corpus.jsonl")},
        {row["_id"]: row["text"] for row in lines("queries.jsonl") if row["_id"] in judgements},
        judgements,
    )


def ndcg(ranking: Sequence[str], grades: Grades, k: int = 10) -> float:
    """Normalised discounted cumulative gain of the first k, in [0, 1]; gain 2^grade − 1, discount log2(rank + 1).

    Järvelin and Kekäläinen, 2002, with the exponential gain of Burges et al., 2005. 0 when nothing is relevant.
    """

    def gain(values: Sequence[int]) -> float:
        return math.fsum((2**grade - 1) / math.log2(rank + 2) for rank, grade in enumerate(values[:k]))

    best = gain(sorted((grade for grade in grades.values() if grade > 0), reverse=True))
    return gain([max(0, grades.get(document, 0)) for document in ranking]) / best if best else 0.0


def recall(ranking: Sequence[str], grades: Grades, k: int = 10) -> float:
    """Share of the relevant documents (grade > 0) among the first k, in [0, 1]; 0 when nothing is relevant."""
    relevant = {document for document, grade in grades.items() if grade > 0}
    return len(relevant.intersection(ranking[:k])) / len(relevant) if relevant else 0.0


def mean(values: Sequence[float]) -> float:
    """The plain average; 0 of nothing."""
    return math.fsum(values) / len(values) if values else 0.0
