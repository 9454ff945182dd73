"""CASE 26: where the machine stands makes no difference. Clocks, memories and ingestion once more in two far zones."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CHECKS = [
    "tests/domain/test_instant.py",
    "tests/memory/test_writing.py",
    "tests/retrieval/test_clocks.py",
    "tests/ingestion/test_git_source.py::test_valid_time_is_commit_time",
    "tests/ingestion/test_folder_source.py::test_a_file_holds_since_it_was_written",
]
#: Runs the checks with a database of their own, which takes its zone from the machine too.
INNER = """
import sys, time, pytest
assert time.timezone == int(sys.argv[1]), time.timezone
sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", *sys.argv[2:]]))
"""


@pytest.mark.parametrize(("zone", "west"), [("Pacific/Kiritimati", -14 * 3600), ("Pacific/Midway", 11 * 3600)])
def test_the_same_in_any_zone(zone: str, west: int) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(
        [sys.executable, "-c", INNER, str(west), *CHECKS],
        cwd=ROOT,
        env={**environment, "TZ": zone},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
