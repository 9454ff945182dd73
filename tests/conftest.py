"""Loads the fixtures; they live in `tests/fixtures`."""

pytest_plugins = [
    "tests.fixtures.store",
    "tests.fixtures.endpoint",
    "tests.fixtures.owner",
    "tests.fixtures.ingestion",
    "tests.fixtures.loaded",
    "tests.fixtures.server",
    "tests.fixtures.upstream",
]
