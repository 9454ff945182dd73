"""What a calling program says of itself: taken when it is well formed, else dropped."""

import pytest

from app.identity.client import declared_client, header


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("agent/1.0", ("agent", "1.0")),
        ("my.agent-2_x/2026.11.30-rc1+build", ("my.agent-2_x", "2026.11.30-rc1+build")),
        ("a/1", ("a", "1")),
        (f"{'n' * 64}/{'1' * 32}", ("n" * 64, "1" * 32)),
    ],
)
@pytest.mark.parametrize("name", ["x-muniment-client", "x-keystone-client"])
def test_well_formed(name: str, value: str, expected: tuple[str, str]) -> None:
    assert declared_client({name: value}) == expected


@pytest.mark.parametrize(
    "value",
    [
        "",
        "agent",
        "agent/",
        "/1.0",
        "agent/1.0/2",
        "agent 1.0",
        "agent/1.0 ",
        " agent/1.0",
        "agent/1.0\n",
        "agent/1.0\nX: y",
        "äg/1",
        "agent/١",
        "-agent/1",
        ".agent/1",
        f"{'n' * 65}/1",
        f"n/{'1' * 33}",
        "agent/1\0",
        "<script>/1",
    ],
    ids=ascii,
)
def test_malformed_is_dropped(value: str) -> None:
    assert declared_client({"x-muniment-client": value}) == (None, None)


def test_no_header() -> None:
    assert declared_client({}) == (None, None)


def test_our_own_spelling_counts_first() -> None:
    headers = {"x-muniment-space": "ours", "x-keystone-space": "theirs"}
    assert header(headers, "space") == "ours"
    assert header({"x-keystone-space": "theirs"}, "space") == "theirs"
    assert header({}, "space") is None
