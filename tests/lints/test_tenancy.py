"""What the lint of SQL refuses, and that nothing in the tree is refused."""

import pytest

from tests.lints.tenancy import ROOT, STORAGE, faults, main

INSIDE, OUTSIDE = STORAGE / "made_up.py", ROOT / "app" / "memory" / "made_up.py"
HEAD = "from app.storage.scope import believed_now, known, live, tenant\n"


def test_the_tree_is_clean() -> None:
    assert main([]) == 0


@pytest.mark.parametrize(
    "source",
    [
        'STATEMENT = "SELECT id FROM chunks"',
        'def f(x):\n    return f"UPDATE grants SET valid_to = now() WHERE id = {x}"',
        'RUN = "delete from texts"',
        'WITH = """\n    WITH a AS (SELECT 1) SELECT * FROM a\n"""',
    ],
)
def test_sql_outside_storage(source: str) -> None:
    assert [fault.split(": ")[1] for fault in faults(OUTSIDE, source)] == ["SQL stands in app/storage and nowhere else"]


def test_prose_outside_storage_is_not_sql() -> None:
    assert faults(OUTSIDE, 'TEXT = "Select what you like from the list."\n"""SELECT id FROM chunks"""') == []


@pytest.mark.parametrize(
    "source",
    [
        'A = text("SELECT c.id FROM chunks c WHERE c.id = :id")',
        "A = text(f\"SELECT c.id FROM chunks c JOIN texts t ON t.sha256 = c.text_sha256 WHERE {tenant('c')}\")",
        "A = text(f\"DELETE FROM grants g WHERE {tenant('h')} AND g.id = :id\")",
        'A = text("UPDATE grants SET valid_to = now()")',
        'PART = "true"\nA = text(f"SELECT c.id FROM chunks c WHERE {PART}")',
        'def f(now):\n    p = tenant("c") if now else "true"\n    return f"SELECT c.id FROM chunks c WHERE {p}"',
        'def f(x):\n    return [f"SELECT c.id FROM chunks c WHERE {p}" for p in (live("c", True), "true")]',
    ],
)
def test_a_table_without_its_predicate(source: str) -> None:
    assert any("is read without the predicate" in fault for fault in faults(INSIDE, HEAD + source))


@pytest.mark.parametrize(
    "source",
    [
        "A = text(f\"SELECT c.id FROM chunks c WHERE {tenant('c')}\")",
        'PART = f"{believed_now(\'c\')} AND true"\nA = text(f"SELECT c.id FROM chunks c WHERE {PART}")',
        'def f(now):\n    p = tenant("c") if now else known("c")\n    return f"SELECT c.id FROM chunks c WHERE {p}"',
        'def f(x):\n    return [f"SELECT c.id FROM chunks c WHERE {p}" for p in (live("c", True), known("c"))]',
        'A = text("INSERT INTO grants (organisation_id) VALUES (:organisation)")',
    ],
)
def test_a_table_with_its_predicate(source: str) -> None:
    assert faults(INSIDE, HEAD + source) == []


def test_a_predicate_by_hand() -> None:
    source = 'A = text("SELECT c.id FROM chunks c WHERE c.organisation_id = :organisation")'
    assert any("scope.py only" in fault for fault in faults(INSIDE, source))
