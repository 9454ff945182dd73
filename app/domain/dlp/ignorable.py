"""Characters that a reader does not see, and that stand between others only to hide them from a search.

They are those of the category Cf, and those that Unicode calls Default_Ignorable_Code_Point, as in
DerivedCoreProperties.txt: selectors of a variation, fillers, tags, and the code points that are kept for more of them.
"""

import unicodedata
from functools import cache
from itertools import chain

import numpy as np
from numpy.typing import NDArray

#: First and last of each stretch; what has the category Cf besides is asked of the database of characters.
_DEFAULT_IGNORABLE = (
    (0x00AD, 0x00AD), (0x034F, 0x034F), (0x061C, 0x061C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F),
    (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF),
)  # fmt: skip


@cache
def ignorable() -> tuple[int, ...]:
    """Their code points, in order; none is ASCII."""
    listed = chain.from_iterable(range(first, last + 1) for first, last in _DEFAULT_IGNORABLE)
    # No plane but these two and that of the tags has characters of the category.
    formats = (code for code in range(0x80, 0x20000) if unicodedata.category(chr(code)) == "Cf")
    return tuple(sorted({*listed, *formats}))


@cache
def _table() -> NDArray[np.bool_]:
    table = np.zeros(0x110000, dtype=np.bool_)
    table[list(ignorable())] = True
    return table


def holds_ignorable(text: str) -> bool:
    """Whether one of them stands in the text: one look-up a character, many times as fast as a pattern."""
    return bool(_table()[np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")].any())
