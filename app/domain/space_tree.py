"""The tree of spaces: what a key may be, and which level may stand below which."""

import re
import unicodedata
from collections.abc import Sequence

from app.domain.errors import bad_input
from app.domain.principal import Level

#: Key path of the organisation's own space.
ROOT_KEY = "/"
MAX_KEY = 128
#: A key path stands in an index, whose rows are of limited length.
MAX_KEY_PATH_BYTES = 2000
MAX_DEPTH = 32
MAX_NAME = 256
#: What a key of a personal space begins with.
PERSONAL = "~"

#: From the widest to the narrowest. A personal space belongs to its owner and stands in no such order.
ORDER: Sequence[Level] = (
    Level.ORGANISATION,
    Level.BUSINESS_UNIT,
    Level.DEPARTMENT,
    Level.GROUP,
    Level.TEAM,
    Level.PROJECT,
    Level.SUBPROJECT,
)

#: Unicode categories: control, format (invisible), surrogate, private use, unassigned; line and paragraph separators.
_NOT_IN_KEYS = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
#: Characters of other categories that show nothing: fillers, joiners and variation selectors.
_UNSEEN = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")

KEY_RULE = (
    f"a key is 1 to {MAX_KEY} characters in Unicode form NFC, without '/', control or invisible characters and "
    f"surrounding space, not '.' or '..', and does not begin with '{PERSONAL}', which marks personal spaces"
)


def check_key(key: str, field: str = "key") -> str:
    """One step of a key path; BAD_USER_INPUT for what cannot be one."""
    if (
        not 0 < len(key) <= MAX_KEY
        or "/" in key
        or key in {".", ".."}
        or key.startswith(PERSONAL)
        or key != key.strip()
        or any(unicodedata.category(character) in _NOT_IN_KEYS for character in key)
        or _UNSEEN.search(key)
        or not unicodedata.is_normalized("NFC", key)
    ):
        raise bad_input(KEY_RULE, field)
    return key


def check_name(name: str, field: str = "name") -> str:
    """What a space or a lens is called; BAD_USER_INPUT for what no store keeps."""
    unkept = "\x00" in name or any("\ud800" <= character <= "\udfff" for character in name)
    if unkept or not name.strip() or len(name) > MAX_NAME:
        raise bad_input(f"1 to {MAX_NAME} characters that are not all blank, without NUL or lone surrogates", field)
    return name


def parse_key_path(key_path: str, field: str = "spaceKey") -> tuple[str, ...]:
    """The keys of a path below the organisation's space, which is `()`. A `/` at either end does not count.

    BAD_USER_INPUT when a key is none, or the path is too long or too deep.
    """
    inner = key_path.removeprefix("/").removesuffix("/")
    if not inner:
        if key_path != ROOT_KEY:
            raise bad_input(KEY_RULE, field)
        return ()
    keys = tuple(check_key(key, field) for key in inner.split("/"))
    check_path(keys, field)
    return keys


def check_path(keys: Sequence[str], field: str) -> None:
    """BAD_USER_INPUT when keys, each good in itself, make too long a path."""
    if len(keys) > MAX_DEPTH or len(join_keys(keys).encode()) > MAX_KEY_PATH_BYTES:
        raise bad_input(f"a key path has at most {MAX_DEPTH} keys and {MAX_KEY_PATH_BYTES} bytes", field)


def join_keys(keys: Sequence[str]) -> str:
    return "/".join(keys) or ROOT_KEY


def split_keys(key_path: str) -> tuple[str, ...]:
    """The keys of a path that is already stored."""
    return () if key_path == ROOT_KEY else tuple(key_path.split("/"))


def default_level(parent: Level) -> Level:
    """What a space is when nobody says: a project, or part of one."""
    return Level.SUBPROJECT if parent in {Level.PROJECT, Level.SUBPROJECT} else Level.PROJECT


def check_level(level: Level, parent: Level) -> Level:
    """A child's level is not above its parent's; BAD_USER_INPUT otherwise, and for personal spaces."""
    if level is Level.PERSONAL:
        raise bad_input("a personal space comes with its owner; it is not made", "level")
    if parent is Level.PERSONAL:
        raise bad_input("a personal space has no spaces below it", "parentId")
    if level is Level.ORGANISATION:
        raise bad_input("an organisation has one space of this level", "level")
    if ORDER.index(level) < ORDER.index(parent):
        raise bad_input(f"a space of level {level} cannot stand below one of level {parent}", "level")
    return level


def levels_of_path(parent: Level, leaf: Level | None, count: int) -> list[Level]:
    """Levels of `count` new spaces, each below the one before and the first below `parent`.

    The last is `leaf`, or the default; those on the way to it are of the default level, or of the leaf's when that is
    wider. BAD_USER_INPUT as in `check_level`.
    """
    levels: list[Level] = []
    for last in [False] * (count - 1) + [True] * (count > 0):
        wanted = default_level(parent)
        if leaf is not None:
            wanted = leaf if last or leaf not in ORDER else min(wanted, leaf, key=ORDER.index)
        parent = check_level(wanted, parent)
        levels.append(parent)
    return levels
