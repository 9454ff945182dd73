"""From a retrieval over HTTP to a bundle that is checked with the public key alone, all by `muniment …`."""

import csv
import hashlib
import json
import time
import urllib.request

import pytest
from typer.testing import CliRunner

from app.cli import cli
from app.server.keys import PATH
from tests.fixtures.server import LiveServer

ASK = """{ retrieve(input: {query: "evidence", spaceKey: "muniment"}) { requestId attributionId certificate } }"""


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    server = LiveServer(
        tmp_path_factory.mktemp("bundles"),
        options={"MUNIMENT_CHECKPOINT_SECONDS": "0.2", "MUNIMENT_DEPLOYMENT": "evidence.example"},
    )
    folder = tmp_path_factory.mktemp("handbook")
    (folder / "evidence.md").write_text("Evidence is chained.")
    assert server.run("ingest", str(folder)).returncode == 0
    server.start("--no-demo")
    yield server
    server.stop()


def verified(bundle, key):
    """`muniment verify-bundle` in this process: it opens no installation. Exit code and output lines."""
    done = CliRunner().invoke(cli, ["verify-bundle", str(bundle), "--key", str(key)])
    return done.exit_code, done.stdout.splitlines()


def checkpoint(server, size):
    """The newest checkpoint, once it covers so many records."""
    for _ in range(200):
        found = server.ask("{ checkpoint { treeSize note keyId } }", token=server.token)["data"]["checkpoint"]
        if found and found["treeSize"] >= size:
            return found
        # The sequencer and the signer want the processor too.
        time.sleep(0.05)
    raise AssertionError("no checkpoint was signed")


def test_from_retrieval_to_a_bundle_that_others_check(served, tmp_path):
    answers = [served.ask(ASK, token=served.token)["data"]["retrieve"] for _ in range(3)]
    assert all(answer["certificate"].count(".") == 2 for answer in answers)
    signed = checkpoint(served, 3)
    assert signed["note"].startswith("evidence.example/")
    outside = list((served.home / "checkpoints").glob("*.log"))
    assert json.loads(outside[0].read_text().splitlines()[-1])["note"] == signed["note"]
    [(key_id, public, state)] = [line.split() for line in served.run("signing-keys", "list").stdout.splitlines()]
    assert (signed["keyId"], state) == (key_id, "signs")
    with urllib.request.urlopen(f"{served.url}{PATH}") as answer:
        assert [key["kid"] for key in json.load(answer)["keys"]] == [key_id]
    whole, one, key = tmp_path / "whole.zip", tmp_path / "one.zip", tmp_path / "key.txt"
    made = served.run("export-evidence", "--out", str(whole))
    assert (made.returncode, made.stdout.splitlines()[0].split(" to ")[0]) == (0, "3 records, 1"), made.stderr
    assert public in made.stderr
    assert served.run("export-evidence", "--out", str(one), "--request-id", answers[1]["requestId"]).returncode == 0
    key.write_text(f"{public}\n")
    for bundle, count in ((whole, 3), (one, 1)):
        for given in (public, key):
            code, lines = verified(bundle, given)
            assert (code, lines[0], lines[1].split(" (")[0]) == (0, "VALID", f"{count} records")
    content = bytearray(whole.read_bytes())
    content[len(content) // 4] ^= 1
    whole.write_bytes(content)
    code, lines = verified(whole, public)
    assert (code, lines[0]) == (1, "INVALID")
    assert lines[-1].startswith("First bad record: ")
    assert verified(one, "nonsense")[0] == 2
    # A rotation is followed by the running server; what the old key signed is still told by its public half.
    fresh = served.run("signing-keys", "rotate").stdout.strip()
    served.ask(ASK, token=served.token)
    assert checkpoint(served, 4)["keyId"] == fresh
    with urllib.request.urlopen(f"{served.url}{PATH}") as answer:
        assert [item["kid"] for item in json.load(answer)["keys"]] == [key_id, fresh]
    assert verified(one, public)[0] == 0
    reports(served, tmp_path, answers[1])
    none = served.run("export-evidence", "--out", str(tmp_path / "none.zip"), "--from", "99")
    assert (none.returncode, none.stderr.strip().splitlines()[-1]) == (1, "muniment: no such records")


def reports(served, tmp_path, answer):
    """The same records as a table and as lines, by `muniment evidence`."""
    table = tmp_path / "evidence.csv"
    made = served.run("evidence", "--format", "csv", "--out", str(table))
    assert (made.returncode, made.stdout, made.stderr.splitlines()[-1]) == (0, "", "4 records.")
    rows = list(csv.DictReader(table.read_text().splitlines()))
    assert [row["sequence"] for row in rows] == ["1", "2", "3", "4"]
    assert rows[1]["id"] == answer["attributionId"]
    assert table.stat().st_mode & 0o777 == 0o600
    lines = served.run(
        "evidence", "--category", "context_attribution", "--from", rows[1]["issuedAt"]
    ).stdout.splitlines()
    records = [json.loads(line) for line in lines]
    assert [record["sequence"] for record in records] == [2, 3, 4]
    assert hashlib.sha256(records[0]["payload"].encode()).hexdigest() == rows[1]["payloadSha256"]
    assert served.run("evidence", "--pseudonym", "0" * 64).stdout == ""
    for wrong in (["--from", "yesterday"], ["--format", "xml"], ["--space", "nowhere"]):
        refused = served.run("evidence", *wrong, "--out", str(tmp_path / "nothing"))
        assert refused.returncode in (1, 2)
        assert not (tmp_path / "nothing").exists()
