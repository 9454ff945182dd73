"""The syntax tree of a file, where it is one that code has. Following a tree costs more the deeper it is and the more
of it is broken; a text made for that would hold a whole process up."""

from time import thread_time
from typing import Final

from tree_sitter import Language as Grammar
from tree_sitter import Parser, Tree

#: Levels of a tree. Code that people write has some dozens; sums of many terms are the deepest.
MAX_DEPTH: Final = 500
#: Nodes right inside what the grammar could not make out. A file that is being written has some dozens.
MAX_BROKEN: Final = 2_000
#: Processor seconds to read one file. The largest takes less than one; what may mean several things can take hours.
MAX_SECONDS: Final = 3.0

_PIECE: Final = 65_536


class Tangled(Exception):
    """What was read is nested deeper, or broken more, than code is."""


def syntax_tree(grammar: Grammar, data: bytes) -> Tree:
    """Raises `Tangled`. One pass over the nodes, and no look back at parents."""
    until = thread_time() + MAX_SECONDS

    def stop(_offset: int, _error: bool) -> bool:
        # Called every hundred steps, it also lets other threads run.
        return thread_time() > until

    try:
        # A parser is not shared: the work of several files runs in several threads.
        tree = Parser(grammar).parse(lambda offset, _: data[offset : offset + _PIECE], progress_callback=stop)
    except ValueError as error:
        raise Tangled from error
    cursor = tree.walk()
    depth = broken = 0
    # Whether each of the nodes around is an error.
    around = [False]
    while True:
        node = cursor.node
        if around[-1]:
            broken += 1
        if depth > MAX_DEPTH or broken > MAX_BROKEN:
            raise Tangled
        if cursor.goto_first_child():
            depth += 1
            around.append(node is not None and node.is_error)
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return tree
            depth -= 1
            around.pop()
