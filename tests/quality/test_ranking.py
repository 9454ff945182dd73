"""The instrument that measures ranking: which folders it takes, which it averages, and that it runs the product."""

import json

import pytest

from app.assembly.services import services
from app.settings import Settings
from tests.quality import ranking
from tests.quality.ranking import Figures


def write_set(folder, documents, queries, judged):
    folder.mkdir(parents=True)
    rows = [{"_id": id, "title": title, "text": body} for id, (title, body) in documents.items()]
    (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n", "utf-8")
    asked = [{"_id": id, "text": body} for id, body in queries.items()]
    (folder / "queries.jsonl").write_text("\n".join(map(json.dumps, asked)) + "\n", "utf-8")
    lines = ["query-id\tcorpus-id\tscore", *(f"{query}\t{document}\t1" for query, document in judged)]
    (folder / "qrels.tsv").write_text("\n".join(lines) + "\n", "utf-8")


@pytest.fixture
def sets(tmp_path):
    documents = {
        "1": ("Boundary layers", "The flow separates behind the wing."),
        "2": ("", "Quarterly refunds are authorised by the controller.\u2028They are paid in May."),
        "3": ("Empty", ""),
    }
    queries = {"a": "who authorises refunds", "b": "boundary layers", "unjudged": "nothing"}
    write_set(tmp_path / "one", documents, queries, [("a", "2"), ("b", "1")])
    write_set(tmp_path / "more" / "de", documents, queries, [("a", "1")])
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "corpus.jsonl").write_text("")
    return tmp_path


def test_a_set_is_a_folder_with_all_three_files_however_deep(sets):
    assert ranking.find_sets(sets) == {"more/de": sets / "more" / "de", "one": sets / "one"}
    assert ranking.find_sets(sets / "one") == {"one": sets / "one"}


def test_language_goes_by_the_folders_name(tmp_path):
    names = {"de": "german", "zh": "simple", "scifact": "english", "en": "english"}
    assert {name: ranking.language_of(tmp_path / name) for name in names} == names


def test_the_average_is_of_the_three_where_they_are_and_of_all_otherwise():
    def figures(value):
        return Figures(default=value, vector=value, text=value)

    some = {"scifact": figures(0.8), "ir/cosqa": figures(0.4), "de": figures(0.0)}
    assert ranking.average(some)["default"] == pytest.approx(0.6)
    assert ranking.average({"de": figures(0.5), "x": figures(0.1)})["text"] == pytest.approx(0.3)


async def test_a_set_is_asked_through_the_product(sets, installation, settings):
    local = Settings(home=settings.home, embedder="local", pool_size=4)
    async with services(local, installation) as parts:
        figures = await ranking.measure(parts, await ranking.ingest(parts, "one", sets / "one"))
    assert figures == Figures(default=1.0, vector=1.0, text=1.0)


def test_a_folder_without_sets_is_said_to_be_one(tmp_path, capsys):
    assert ranking.main([str(tmp_path)]) == 2
    assert "corpus.jsonl" in capsys.readouterr().err
