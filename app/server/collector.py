"""How often Python looks for cycles among its objects."""

import gc
from typing import Final

#: Work here makes thousands of short-lived objects at a time, and trees of millions when code is read: by default the
#: collector would walk through everything that was loaded again and again, for more time than the work itself takes.
GENERATIONS: Final = (20_000, 20, 20)


def settle() -> None:
    """All that is loaded by now stays, and need not be walked through any more."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GENERATIONS)
