"""`muniment api-keys …` and `muniment revoke-tokens`: credentials, for who holds the deployment itself."""

import sys
from datetime import datetime
from enum import StrEnum
from typing import Annotated, TypeVar

import typer

from app.assembly.services import Services
from app.commands.running import Organisation, out, require_known, with_services
from app.domain.instant import format_instant, parse_instant
from app.domain.principal import ActorType, Permission
from app.identity.api_keys import Wanted, create_for_operator, revoke_for_operator
from app.identity.development import ORGANISATION
from app.identity.revocation import revoke_for_operator as revoke_tokens_for_operator
from app.storage import api_keys as stored

api_keys = typer.Typer(
    name="api-keys",
    help="Keys of programs, which they show in place of a token.",
    epilog="Example: muniment api-keys list",
    no_args_is_help=True,
    rich_markup_mode=None,
)

E = TypeVar("E", bound=StrEnum)

_PAGE = 100


@api_keys.command(epilog="Example: muniment api-keys create indexer --action context:space:search --space muniment")
def create(
    name: Annotated[str, typer.Argument(help="What it is for.")],
    action: Annotated[
        list[str], typer.Option(help=f"Permission that it holds; may be repeated. One of {', '.join(Permission)}.")
    ],
    space: Annotated[
        list[str] | None, typer.Option(help="Space that it is for, by id or key path; may be repeated. All without.")
    ] = None,
    provider: Annotated[
        list[str] | None, typer.Option(help="Provider that it admits; may be repeated. All without.")
    ] = None,
    actor_type: Annotated[str, typer.Option(help=f"One of {', '.join(ActorType)}.")] = ActorType.APPLICATION.value,
    expires: Annotated[str | None, typer.Option(help="When it ends, as 2027-01-01T00:00:00Z; never without.")] = None,
    organisation: Organisation = ORGANISATION,
) -> None:
    """Make a key, and print it and nothing else. It is not kept and cannot be shown again."""
    wanted = Wanted(
        name=name,
        actions=[_one_of(Permission, value, "--action") for value in action],
        providers=provider,
        spaces=space,
        actor_type=_one_of(ActorType, actor_type, "--actor-type"),
        expires_at=_instant(expires),
    )

    async def work(parts: Services) -> str:
        await require_known(parts, organisation)
        return (await create_for_operator(parts.database, organisation, wanted))[1]

    sys.stdout.write(with_services(work) + "\n")


@api_keys.command("list", epilog="Example: muniment api-keys list --revoked")
def list_(
    revoked: Annotated[bool, typer.Option("--revoked", help="Those that were revoked as well.")] = False,
    organisation: Organisation = ORGANISATION,
) -> None:
    """Print the keys, oldest first: prefix, name, actions, when each was used last, and whether it stands."""

    async def work(parts: Services) -> None:
        await require_known(parts, organisation)
        after, more = None, True
        while more:
            async with parts.database.snapshot(organisation) as session:
                keys = await stored.listed(session, None, revoked=revoked, after=after, limit=_PAGE)
            for key in keys:
                used = f"used {format_instant(key.used_at)}" if key.used_at else "never used"
                end = "stands" if key.expires_at is None else f"stands until {format_instant(key.expires_at)}"
                state = end if key.revoked_at is None else "revoked"
                out.print(
                    f"{key.prefix}  {key.name}  {','.join(key.actions)}  {used}  {state}", soft_wrap=True, markup=False
                )
            more = len(keys) == _PAGE
            after = keys[-1].id if keys else None

    with_services(work)


@api_keys.command(epilog="Example: muniment api-keys revoke mnmA1b2C")
def revoke(
    prefix: Annotated[str, typer.Argument(help="The first 8 characters of the key.")],
    organisation: Organisation = ORGANISATION,
) -> None:
    """From now on the key, and the keys that were made with it, count for nothing; running servers follow at once."""

    async def work(parts: Services) -> None:
        await require_known(parts, organisation)
        key = await revoke_for_operator(parts.database, organisation, prefix)
        out.print(f"{key.prefix}  {key.name}  revoked", soft_wrap=True, markup=False)

    with_services(work)


def revoke_tokens_(
    token: Annotated[str | None, typer.Option(help="The `jti` of one token.")] = None,
    subject: Annotated[str | None, typer.Option(help="The subject whose tokens are meant.")] = None,
    before: Annotated[
        str | None, typer.Option(help="Of the subject's those issued before, as 2026-11-30T12:00:00Z; now without.")
    ] = None,
    organisation: Organisation = ORGANISATION,
) -> None:
    """End one token, or a subject's tokens, before their time; running servers follow at once."""
    moment = _instant(before)

    async def work(parts: Services) -> None:
        await require_known(parts, organisation)
        until = await revoke_tokens_for_operator(
            parts.database, organisation, token_id=token, subject=subject, issued_before=moment
        )
        what = f"the token {token} is"
        if until is not None:
            what = f"what was issued to {subject} before {format_instant(until)} is"
        out.print(f"From now on {what} refused.", soft_wrap=True, markup=False)

    with_services(work)


def _one_of(kind: type[E], value: str, option: str) -> E:
    try:
        return kind(value)
    except ValueError:
        raise typer.BadParameter(f"one of {', '.join(kind)}", param_hint=option) from None


def _instant(value: str | None) -> datetime | None:
    return None if value is None else parse_instant(value)
