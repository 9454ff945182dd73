"""What a link in one document names among the documents beside it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.links import named


@pytest.mark.parametrize(
    ("path", "target", "expected"),
    [
        ("guide.md", "refunds.md", "refunds.md"),
        ("docs/guide.md", "refunds.md#rules", "docs/refunds.md"),
        ("docs/guide.md", "./deep/refunds.md?plain=1", "docs/deep/refunds.md"),
        ("docs/guide.md", "../refunds.md", "refunds.md"),
        ("docs/guide.md", "/refunds.md", "refunds.md"),
        ("docs/guide.md", "a%20b.md", "docs/a b.md"),
        ("docs/guide.md", "app\\a.py", "docs/app/a.py"),
        ("docs/guide.md", "deep/", "docs/deep/README.md"),
        ("docs/guide.md", "..", "README.md"),
        ("docs/guide.md", "refunds", "docs/refunds"),
    ],
)
def test_names(path, target, expected):
    assert named(path, target)[0] == expected


def test_a_name_without_a_suffix_may_be_a_page():
    assert "docs/refunds.md" in named("docs/guide.md", "refunds")
    assert "docs/refunds/index.md" in named("docs/guide.md", "refunds")


@pytest.mark.parametrize("target", ["", "#part", "?q=1", "../../out.md", "guide.md", "a\0b.md"])
def test_what_leads_nowhere_or_to_itself(target):
    assert named("docs/guide.md", target) == ()


@given(st.text(max_size=40), st.text("./ab%#?\\", max_size=20))
def test_a_name_never_leads_out_of_the_source(path, target):
    for name in named(path, target):
        assert not name.startswith("/")
        assert ".." not in name.split("/")
        assert name != path
