"""What the GraphQL schema must keep to, or else `make lint` fails: `python -m tests.lints.schema_rules`.

Everything has a description; what is deprecated says why and since when; and nothing is taken away from clients of the
last release, but for what `schema/breaks.toml` lists under the tag of that release.
"""

import re
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pygit2
from graphql import (
    GraphQLEnumType,
    GraphQLInputObjectType,
    GraphQLInterfaceType,
    GraphQLObjectType,
    GraphQLSchema,
    build_schema,
    is_introspection_type,
    is_specified_directive,
    is_specified_scalar_type,
)
from graphql.utilities import BreakingChangeType, DangerousChangeType, find_schema_changes

from schema.export import sdl

ROOT = Path(__file__).resolve().parents[2]
SDL, BREAKS = "schema/schema.graphql", "schema/breaks.toml"

_SINCE = re.compile(r"\b20[0-9]{2}-[01][0-9]-[0-3][0-9]\b|\bv?[0-9]+\.[0-9]+(?:\.[0-9]+)?\b")
_WORDS = re.compile(r"[^\W\d_]{3,}")


@dataclass(frozen=True)
class Element:
    """A part of a schema, named as in `Type.field(argument)`."""

    name: str
    description: str | None
    deprecation_reason: str | None = None


def elements(schema: GraphQLSchema) -> Iterator[Element]:
    """Every type, field, argument, input field, enum value and directive that is the schema's own."""
    for name, type_ in schema.type_map.items():
        if is_introspection_type(type_) or is_specified_scalar_type(type_):
            continue
        yield Element(name, type_.description)
        if isinstance(type_, GraphQLEnumType):
            for value, item in type_.values.items():
                yield Element(f"{name}.{value}", item.description, item.deprecation_reason)
        if isinstance(type_, GraphQLInputObjectType):
            for key, given in type_.fields.items():
                yield Element(f"{name}.{key}", given.description, given.deprecation_reason)
        if isinstance(type_, GraphQLObjectType | GraphQLInterfaceType):
            for key, member in type_.fields.items():
                yield Element(f"{name}.{key}", member.description, member.deprecation_reason)
                for argument, taken in member.args.items():
                    yield Element(f"{name}.{key}({argument})", taken.description, taken.deprecation_reason)
    for directive in schema.directives:
        if not is_specified_directive(directive):
            yield Element(f"@{directive.name}", directive.description)
            for argument, taken in directive.args.items():
                yield Element(f"@{directive.name}({argument})", taken.description, taken.deprecation_reason)


def undescribed(schema: GraphQLSchema) -> list[str]:
    return [element.name for element in elements(schema) if not (element.description or "").strip()]


def undated(schema: GraphQLSchema) -> list[str]:
    """What is deprecated without saying in words why, and by a date or a version since when."""
    found = []
    for element in elements(schema):
        reason = element.deprecation_reason
        if reason is not None and not (_SINCE.search(reason) and _WORDS.search(_SINCE.sub("", reason))):
            found.append(element.name)
    return found


@dataclass(frozen=True)
class Release:
    """The nearest tag behind the checked-out commit, and the schema that was committed there."""

    tag: str
    sdl: str


def last_release(root: Path) -> Release | str:
    """The release, or in a sentence why there is none to compare with."""
    try:
        repository = pygit2.Repository(str(root))
    except pygit2.GitError:
        return "this is no git repository"
    shallow = ", as far as this shallow clone reaches" if repository.is_shallow else ""
    try:
        tag = repository.describe(describe_strategy=pygit2.enums.DescribeStrategy.TAGS, abbreviated_size=0)
        tree = repository.revparse_single(f"refs/tags/{tag}").peel(pygit2.Tree)
    except (KeyError, pygit2.GitError):
        return f"there is no tag{shallow}"
    if SDL not in tree:
        return f"{tag} has no {SDL}"
    blob = tree[SDL]
    assert isinstance(blob, pygit2.Blob)
    return Release(tag, blob.data.decode())


@dataclass
class Report:
    """What must be mended, and what is only said."""

    faults: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def intended(root: Path, tag: str) -> dict[str, str]:
    """The breaks that are meant, since that tag: what breaks → why."""
    path = root / BREAKS
    listed = tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return {str(what): str(why).strip() for what, why in listed.get(tag, {}).items()}


def compare(schema: GraphQLSchema, root: Path) -> Report:
    """The schema beside that of the last release."""
    release = last_release(root)
    if isinstance(release, str):
        return Report(notes=[f"not compared with a release: {release}"])
    report = Report()
    listed = intended(root, release.tag)
    found = find_schema_changes(build_schema(release.sdl), schema)
    breaking = [change.description for change in found if isinstance(change.type, BreakingChangeType)]
    for what in breaking:
        if what not in listed:
            report.faults.append(f"breaks clients of {release.tag}: {what} (if it is meant, list it in {BREAKS})")
    for what, why in listed.items():
        if what not in breaking:
            report.faults.append(f"{BREAKS} lists what does not break clients of {release.tag}: {what}")
        elif not why:
            report.faults.append(f"{BREAKS} does not say why: {what}")
        else:
            report.notes.append(f"breaks clients of {release.tag}, as intended: {what} {why}")
    report.notes += [
        f"dangerous for clients of {release.tag}: {change.description}"
        for change in found
        if isinstance(change.type, DangerousChangeType)
    ]
    return report


def check(schema: GraphQLSchema, root: Path) -> Report:
    report = compare(schema, root)
    report.faults += [f"{name} has no description" for name in undescribed(schema)]
    report.faults += [f"{name} is deprecated without a reason and its date or version" for name in undated(schema)]
    return report


def main() -> int:
    report = check(build_schema(sdl()), ROOT)
    for note in report.notes:
        sys.stdout.write(f"schema: {note}\n")
    for fault in report.faults:
        sys.stderr.write(f"schema: {fault}\n")
    return 1 if report.faults else 0


if __name__ == "__main__":
    sys.exit(main())
