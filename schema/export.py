"""Writes what is generated from the code, or says whether it is up to date: `python -m schema.export [--check]`.

That is `schema/schema.graphql` and the permission matrix in `schema/README.md`.
"""

import sys
from pathlib import Path

from schema.build import graphql_schema
from schema.permissions import TOKEN, Needs, needed

FOLDER = Path(__file__).parent
START, END = "<!-- permissions -->\n", "<!-- end of permissions -->"


def sdl() -> str:
    return graphql_schema.as_str().rstrip() + "\n"


def permission_matrix() -> str:
    """One row a root field, in the order of the schema."""
    rows = ["| | field | needs | checked |", "|---|---|---|---|"]
    for root in ("Query", "Mutation", "Subscription"):
        for field, needs in needed(graphql_schema, root).items():
            rows.append(f"| {root} | `{field}` | {_need(needs)} | {'' if needs is None else needs.where.value} |")
    return "\n".join(rows) + "\n"


def _need(needs: Needs | None) -> str:
    names = () if needs is None else needs.permissions
    return " or ".join("a token" if name == TOKEN else f"`{name}`" for name in names)


def generated() -> dict[Path, str]:
    """Every generated file, by its path, as it should be."""
    readme = FOLDER / "README.md"
    before, _, rest = readme.read_text().partition(START)
    _, _, after = rest.partition(END)
    return {
        FOLDER / "schema.graphql": sdl(),
        readme: f"{before}{START}{permission_matrix()}{END}{after}",
    }


def main(arguments: list[str]) -> int:
    stale = [path for path, text in generated().items() if not path.exists() or path.read_text() != text]
    if "--check" in arguments:
        for path in stale:
            sys.stderr.write(f"schema/{path.name} differs from the code: run `make schema` and commit it\n")
        return 1 if stale else 0
    for path, text in generated().items():
        path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
