"""Keys and levels of the tree of spaces."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.errors import MunimentError
from app.domain.principal import Level
from app.domain.space_tree import (
    MAX_DEPTH,
    MAX_KEY,
    ORDER,
    check_key,
    check_level,
    check_name,
    default_level,
    join_keys,
    levels_of_path,
    parse_key_path,
    split_keys,
)

BAD_KEYS = [
    "",
    " ",
    "a/b",
    "/",
    ".",
    "..",
    "~ann",
    " a",
    "a ",
    "a\x00b",
    "a\ud800b",
    "a\nb",
    "a\u200bb",
    "\u202eabc",
    "e\u0301",
    "\u2028",
    "x" * (MAX_KEY + 1),
]


@pytest.mark.parametrize("key", BAD_KEYS)
def test_what_is_no_key(key: str) -> None:
    with pytest.raises(MunimentError) as caught:
        check_key(key)
    assert (caught.value.code, caught.value.field) == ("BAD_USER_INPUT", "key")


@pytest.mark.parametrize(
    "key", ["a", "A b", "a.b", "...", "a~", "é", "部署", "%", "_", "'; DROP", "👩", "x" * MAX_KEY, "0", "-"]
)
def test_what_is_a_key(key: str) -> None:
    assert check_key(key) == key
    assert parse_key_path(f"a/{key}") == ("a", key)


@pytest.mark.parametrize("path", ["", "//", "///", "a//b", "//a", "a//", "a/../b", "~ann", "a/~b", "a/ b", "a/\x00"])
def test_what_is_no_key_path(path: str) -> None:
    with pytest.raises(MunimentError) as caught:
        parse_key_path(path)
    assert caught.value.field == "spaceKey"


def test_a_path_is_bounded() -> None:
    assert len(parse_key_path("/".join(["k"] * MAX_DEPTH))) == MAX_DEPTH
    for path in ("/".join(["k"] * (MAX_DEPTH + 1)), "/".join(["部" * MAX_KEY] * 6)):
        with pytest.raises(MunimentError):
            parse_key_path(path)


@given(st.text(max_size=12))
def test_every_text_is_a_key_path_or_refused(path: str) -> None:
    try:
        keys = parse_key_path(path)
    except MunimentError:
        return
    assert split_keys(join_keys(keys)) == keys
    assert join_keys(keys) == (path.strip("/") or "/")
    assert all(unicodedata.is_normalized("NFC", key) and check_key(key) for key in keys)


@pytest.mark.parametrize("name", ["", "  ", "\x00", "a\ud800", "x" * 257])
def test_what_is_no_name(name: str) -> None:
    with pytest.raises(MunimentError):
        check_name(name)


@pytest.mark.parametrize("parent", ORDER)
@pytest.mark.parametrize("level", Level)
def test_a_level_is_not_above_its_parents(parent: Level, level: Level) -> None:
    allowed = level in ORDER[1:] and ORDER.index(level) >= ORDER.index(parent)
    if allowed:
        assert check_level(level, parent) is level
    else:
        with pytest.raises(MunimentError) as caught:
            check_level(level, parent)
        assert caught.value.field == "level"


@pytest.mark.parametrize("level", Level)
def test_nothing_stands_below_a_personal_space(level: Level) -> None:
    with pytest.raises(MunimentError):
        check_level(level, Level.PERSONAL)


@given(st.sampled_from(ORDER), st.one_of(st.none(), st.sampled_from(list(Level))), st.integers(1, 5))
def test_levels_of_a_path_never_rise(parent: Level, leaf: Level | None, count: int) -> None:
    try:
        levels = levels_of_path(parent, leaf, count)
    except MunimentError:
        assert leaf is not None
        assert leaf not in ORDER[1:] or ORDER.index(leaf) < ORDER.index(parent)
        return
    places = [ORDER.index(level) for level in (parent, *levels)]
    assert places == sorted(places)
    assert len(levels) == count
    assert levels[-1] is (leaf or levels[-1])


def test_what_a_space_is_when_nobody_says() -> None:
    assert levels_of_path(Level.ORGANISATION, None, 3) == [Level.PROJECT, Level.SUBPROJECT, Level.SUBPROJECT]
    assert levels_of_path(Level.ORGANISATION, Level.TEAM, 2) == [Level.TEAM, Level.TEAM]
    assert levels_of_path(Level.TEAM, Level.SUBPROJECT, 2) == [Level.PROJECT, Level.SUBPROJECT]
    assert default_level(Level.TEAM) is Level.PROJECT
