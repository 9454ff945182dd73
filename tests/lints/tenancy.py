"""Refuses SQL outside `app/storage`, and tenant tables that are read there without the predicate of `scope.py`.

python -m tests.lints.tenancy [FILE …]

A statement is a string; what it is put together from is followed through the assignments of its own file. In it each
`table alias` after FROM, JOIN, UPDATE or DELETE FROM needs a call of `scope.py` that names the alias.
"""

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from app.storage.tables import metadata

ROOT = Path(__file__).resolve().parents[2]
STORAGE = ROOT / "app" / "storage"
#: The only place where the predicates are written.
SCOPE = STORAGE / "scope.py"
#: Written before there are tenants, or what the tenants' columns are.
EXEMPT = {SCOPE, STORAGE / "migration.py", STORAGE / "vector_index.py"}
#: What the workers read of all organisations at once, under a policy of its own, and the clock that stamps a write.
EVERY_ORGANISATION = {
    ("delivered.py", "organisation_clocks"),
    ("embeddings.py", "embedding_queue"),
    ("engine.py", "organisation_clocks"),
    ("jobs.py", "jobs"),
    ("polling.py", "organisation_clocks"),
    ("queue.py", "attribution_queue"),
    ("queue.py", "embedding_queue"),
    ("reindexing.py", "reindex_queue"),
    ("tenancy.py", "organisation_clocks"),
    ("verifications.py", "organisation_clocks"),
    ("verifications.py", "verification_schedules"),
}
#: Statements whose predicate comes in by a way that is not followed here: `tests/storage/test_bound_statements.py` runs
#: them for another organisation.
UNFOLLOWED = {
    ("api_keys.py", "api_keys"),
    ("delivered.py", "delivered_items"),
    ("delivered.py", "evidence"),
    ("delivered.py", "delivered_progress"),
    ("search_text.py", "postings"),
}
#: SQL that has no tenant and stands elsewhere: the embedded server is set up by its own provider.
ELSEWHERE = {"embedded_postgres.py"}
#: Functions of `scope.py` that bind an alias to the tenant.
BINDING = {"tenant", "tenant_checked", "believed_now", "known", "visible", "live", "ended", "closed", "missed"}

_SQL = re.compile(
    r"\s*(SELECT\s+.+?\s+FROM\s|INSERT\s+INTO\s|UPDATE\s+\w+.*?\sSET\s|DELETE\s+FROM\s|WITH\s+\w+\s+AS\s*\(|TRUNCATE\s"
    r"|(CREATE|ALTER|DROP)\s+(TABLE|INDEX|ROLE|POLICY)\s)",
    re.DOTALL,
)
_TABLES = "|".join(sorted(metadata.tables, key=len, reverse=True))
_READ = re.compile(
    rf"\b(?:FROM|JOIN|UPDATE)\s+({_TABLES})\b(?:\s+(?:AS\s+)?(?!SET\b|WHERE\b|ON\b|JOIN\b|LIMIT\b|UNION\b)(\w+))?",
    re.IGNORECASE,
)
_BOUND = re.compile(r"⟨(\w+)⟩")
_HAND_WRITTEN = re.compile(r"\borganisation_id\s*(=|IS\s+NOT\s+DISTINCT|IN\b)", re.IGNORECASE)


class Rendered(ast.NodeVisitor):
    """Strings of one file, with what they are put together from."""

    def __init__(self, tree: ast.Module) -> None:
        self._assigned: dict[str, list[ast.expr]] = defaultdict(list)
        #: Functions of the file that bind the alias which they are given first.
        self._binding = set(BINDING)
        for node in ast.walk(tree):
            match node:
                case ast.Assign(targets=targets, value=value):
                    for target in targets:
                        if isinstance(target, ast.Name):
                            self._assigned[target.id].append(value)
                case ast.comprehension(target=ast.Name(id=name), iter=source):
                    self._assigned[name].append(source)
                case ast.FunctionDef(name=name, args=ast.arguments(args=[first, *_])):
                    if any(self._binds(call, first.arg) for call in ast.walk(node)):
                        self._binding.add(name)

    @staticmethod
    def _binds(node: ast.AST, alias: str) -> bool:
        match node:
            case ast.Call(func=ast.Name(id=name), args=[ast.Name(id=given), *_]):
                return name in BINDING and given == alias
        return False

    def text(self, node: ast.AST, deep: int = 0) -> str:
        """The string, calls of `scope.py` as `⟨alias⟩`, what cannot be followed as nothing."""
        match node:
            case ast.Constant(value=str() as value):
                return value
            case ast.JoinedStr(values=values):
                return "".join(self.text(value, deep) for value in values)
            case ast.FormattedValue(value=value):
                return self.text(value, deep)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return self.text(left, deep) + self.text(right, deep)
            case ast.IfExp(body=body, orelse=orelse):
                return self._every([self.text(way, deep) for way in (body, orelse)])
            case ast.Call(func=ast.Name(id=name), args=[first, *_]) if name in self._binding:
                return f"⟨{self._alias(first)}⟩"
            case ast.List(elts=elements) | ast.Tuple(elts=elements):
                return self._every([self.text(element, deep) for element in elements])
            case ast.Starred(value=value):
                return self.text(value, deep)
            case ast.Call(func=ast.Attribute(attr="join"), args=[ast.GeneratorExp(elt=elt) | ast.ListComp(elt=elt)]):
                return self.text(elt, deep)
            case ast.Name(id=name) if deep < 5:
                return " ".join(dict.fromkeys(self.text(value, deep + 1) for value in self._assigned.get(name, ())))
        return ""

    @staticmethod
    def _every(ways: list[str]) -> str:
        """Of alternatives only what all of them bind counts as bound; one that is empty is none."""
        said = [rest for way in ways if (rest := _open(way)) not in {"", "NULL"}]
        bound = [set(_BOUND.findall(way)) for way in said]
        common = set.intersection(*bound) if bound else set()
        return " ".join(_BOUND.sub("", way) for way in said) + "".join(f"⟨{alias}⟩" for alias in sorted(common))

    def _alias(self, node: ast.expr) -> str:
        return node.value if isinstance(node, ast.Constant) else ast.unparse(node)


def _open(way: str) -> str:
    """An alternative without what it reads and binds itself."""
    own = set(_BOUND.findall(way))
    return _READ.sub(lambda read: "" if read[2] in own else read[0], way)


def _strings(tree: ast.Module) -> Iterator[ast.expr]:
    """Whole strings, not their pieces; no docstrings."""
    inner: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            inner.add(id(node.value))
        if id(node) in inner:
            inner.update(id(child) for child in ast.walk(node) if child is not node and isinstance(child, ast.Constant))
        if isinstance(node, ast.JoinedStr | ast.Constant) and id(node) not in inner:
            if isinstance(node, ast.JoinedStr):
                inner.update(id(child) for child in ast.walk(node) if child is not node)
                yield node
            elif isinstance(node.value, str):
                yield node


def faults(path: Path, source: str | None = None) -> list[str]:
    """A sentence for each."""
    source = path.read_text(encoding="utf-8") if source is None else source
    tree = ast.parse(source)
    rendered = Rendered(tree)
    found = []

    def fault(node: ast.expr, sentence: str) -> None:
        found.append(f"{path.name}:{node.lineno}: {sentence}")

    inside = STORAGE in path.parents
    for node in _strings(tree):
        statement = rendered.text(node)
        if not inside:
            said = _SQL.match(statement) or (_SQL.match(statement.upper()) and _READ.search(statement))
            if said and path.name not in ELSEWHERE:
                fault(node, "SQL stands in app/storage and nowhere else")
            continue
        if path in EXEMPT:
            continue
        own = "".join(
            piece.value for piece in ast.walk(node) if isinstance(piece, ast.Constant) and isinstance(piece.value, str)
        )
        if _HAND_WRITTEN.search(own) and path.name not in {"engine.py", "verifications.py"}:
            fault(node, "predicates of the tenant are written in scope.py only")
        bound = set(_BOUND.findall(statement))
        for table, alias in _READ.findall(statement):
            if alias not in bound and (path.name, table) not in EVERY_ORGANISATION | UNFOLLOWED:
                fault(node, f"{table} {alias or '(without an alias)'} is read without the predicate of scope.py")
    return found


def main(arguments: list[str]) -> int:
    paths = [Path(name).resolve() for name in arguments] or sorted(
        path for folder in ("app", "schema") for path in (ROOT / folder).rglob("*.py")
    )
    found = [fault for path in paths for fault in faults(path)]
    for fault in found:
        sys.stderr.write(f"{fault}\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
