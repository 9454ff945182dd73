"""What commands share: the parts of an installation, opened for one piece of work, and the two consoles."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Annotated, TypeVar
from uuid import UUID

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from app.assembly.installation import Installation
from app.assembly.services import Services, services
from app.identity.development import ORGANISATION
from app.server.collector import settle
from app.server.log import configure_logging
from app.settings import Settings
from app.storage import tenancy

T = TypeVar("T")

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)

Organisation = Annotated[UUID, typer.Option(help="The organisation; the demo by default.")]


def read_settings() -> Settings:
    """What is logged goes to standard error from here on: a command's output is its answer and nothing else."""
    settings = Settings()
    configure_logging(settings.log_level)
    return settings


def tell_of_new_home(settings: Settings) -> None:
    """A command in another folder finds another home, and that is empty: better to say so."""
    if not settings.home.exists():
        err.print(
            f"There is no home at {settings.home.absolute()}: an empty one is made. MUNIMENT_HOME names another.",
            soft_wrap=True,
            markup=False,
        )


def with_services(work: Callable[[Services], Awaitable[T]]) -> T:
    """Open the installation, run `work` with its parts, and let go."""
    settings = read_settings()
    tell_of_new_home(settings)
    installation = Installation.open(settings)

    async def run() -> T:
        async with services(settings, installation) as parts:
            settle()
            return await work(parts)

    try:
        return asyncio.run(run())
    finally:
        installation.close()


async def require_known(parts: Services, organisation: UUID) -> None:
    """An organisation that does not exist has an empty chain, and empty is VALID: better to say what is wrong."""
    async with parts.database.snapshot(organisation) as session:
        if organisation != ORGANISATION and await tenancy.find_space(session, "/") is None:
            raise typer.BadParameter(f"no organisation {organisation}", param_hint="--organisation")


def progress_bar() -> Progress:
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=err,
    )
