"""Writes `schema/schema.graphql`, or says whether it is what the code has: `python -m schema.export [--check]`."""

import sys
from pathlib import Path

from schema.build import graphql_schema

SDL = Path(__file__).with_name("schema.graphql")


def main(arguments: list[str]) -> int:
    text = graphql_schema.as_str().rstrip() + "\n"
    if "--check" in arguments:
        if SDL.read_text() == text:
            return 0
        sys.stderr.write("schema/schema.graphql differs from the code: run `make schema` and commit it\n")
        return 1
    SDL.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
