"""The command line: `muniment …`."""

import asyncio
import signal
import sys
from pathlib import Path
from typing import Annotated
from uuid import UUID

import structlog
import typer
from pydantic import ValidationError

from app.assembly.installation import ROOT, Installation, migrate_database
from app.assembly.services import Services, services
from app.commands.api_keys import api_keys, revoke_tokens_
from app.commands.bundles import export_evidence, verify_bundle_
from app.commands.evidence import evidence_
from app.commands.grant import grant_
from app.commands.indexing import backfill_, print_findings, reindex_
from app.commands.keys import keys
from app.commands.replay import replay_
from app.commands.running import (
    Organisation,
    err,
    out,
    progress_bar,
    read_settings,
    require_known,
    tell_of_new_home,
    with_services,
)
from app.commands.signing_keys import signing
from app.commands.verification import verify_chain_
from app.commands.worker import worker
from app.domain.errors import MunimentError
from app.history.importing import HistoryImport
from app.history.lines import moments, read_lines
from app.identity.development import ORGANISATION, SUBJECT, DevelopmentKey
from app.identity.tree import space_for_ingestion
from app.ingestion.demo import PROJECT, ensure_demo
from app.ingestion.report import Report
from app.ingestion.sources import ensure_source, ingest_place, provider_of
from app.providers.embedded_postgres import EmbeddedPostgresError
from app.retrieval.request import SOURCE_KINDS
from app.server.collector import settle
from app.server.status import read_status
from app.serving import announcement, require_free, run_server, run_servers
from app.settings import PREFIX, Settings
from app.storage import catalogue, tenancy

log = structlog.get_logger()

KINDS = sorted(SOURCE_KINDS)

cli = typer.Typer(
    name="muniment",
    help="What should the model read? Answers, and proof of what was given.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)


def main() -> None:
    """Entry point: a failure that people can mend is one line on standard error, and exit code 1."""
    _end_as_on_interrupt()
    try:
        cli()
    except (MunimentError, EmbeddedPostgresError, ValueError, OSError) as error:
        err.print(f"muniment: {_sentence(error)}", style="red", soft_wrap=True, markup=False)
        sys.exit(1)
    except Exception as error:
        # A fault of ours. Its text may hold what users wrote, so only its kind is shown.
        log.error("command.failed", exc_info=error)
        err.print(f"muniment: an internal error ({type(error).__name__})", style="red", soft_wrap=True, markup=False)
        sys.exit(70)


def _end_as_on_interrupt() -> None:
    """SIGTERM and a closed terminal take the way of Ctrl-C: by default they would leave the database running."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # So it is in the background of a script: that way must be open there too.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, lambda _number, _frame: signal.raise_signal(signal.SIGINT))


def _sentence(error: Exception) -> str:
    """One line, naming the setting or file to mend; never the value of a setting."""
    if isinstance(error, ValidationError):
        return "; ".join(
            f"{PREFIX}{'_'.join(map(str, item['loc'])).upper()}: {item['msg'].removeprefix('Value error, ')}"
            for item in error.errors(include_input=False, include_url=False)
        )
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return " ".join(str(error).split())


@cli.command(epilog="Example: MUNIMENT_PORT=9000 muniment serve")
def serve(
    demo: Annotated[bool, typer.Option(help="Ingest this repository as the demo when its space is empty.")] = True,
    workers: Annotated[int, typer.Option(min=1, max=64, help="Server processes behind the one port.")] = 1,
) -> None:
    """Serve the API and the playground; Ctrl-C stops everything."""
    settings = read_settings()
    require_free(settings.host, settings.port)
    installation = Installation.open(settings)
    try:
        token = asyncio.run(_prepare(settings, installation, demo))

        def announce() -> None:
            for line in announcement(settings, token):
                out.print(line, soft_wrap=True, markup=False)

        def started() -> None:
            # The application holds the database from here on, and stops it with itself.
            installation.close()
            announce()

        if workers == 1:
            run_server(settings, started)
        else:
            run_servers(settings, workers, announce)
    finally:
        installation.close()


async def _prepare(settings: Settings, installation: Installation, demo: bool) -> str | None:
    async with services(settings, installation) as parts:
        if parts.development is None:
            return None
        if demo:
            settle()
            await ensure_demo(parts.database, ORGANISATION, SUBJECT)
            await _ingest_demo(parts)
        return parts.development.token(settings.jwt_issuer, settings.jwt_audience)


async def _ingest_demo(parts: Services) -> None:
    """This repository itself, when the demo's space holds nothing yet."""
    async with parts.database.snapshot(ORGANISATION) as session:
        space = await tenancy.find_space(session, PROJECT)
        if space is None or await tenancy.has_sources(session, space.id):
            return
    err.print("First start: ingesting this repository as the demo.")
    await _ingest(parts, ORGANISATION, PROJECT, ROOT, "muniment", "codebase", "english", wait=False)
    if parts.embedding is not None:
        waiting = await parts.embedding.depth(ORGANISATION)
        err.print(
            f"Searchable now. {waiting} embeddings follow in the background, what holds today first; "
            "`muniment status` counts them.",
            soft_wrap=True,
        )


@cli.command("migrate", epilog="Example: MUNIMENT_DATABASE_URL=postgresql://… muniment migrate")
def migrate_() -> None:
    """Bring the tables of the database up to date."""
    settings = read_settings()
    if settings.database_url is None:
        Installation.open(settings).close()
    else:
        migrate_database(settings)
    out.print("The tables are up to date.")


@cli.command(epilog="Example: muniment ingest ../handbook --space muniment --kind docs")
def ingest(
    place: Annotated[Path, typer.Argument(help="A folder, or a git repository with its history.")],
    space: Annotated[
        str, typer.Option(help="Key path of the space that it belongs to; made when it is not there.")
    ] = PROJECT,
    name: Annotated[str | None, typer.Option(help="Name of the source; the folder's by default.")] = None,
    kind: Annotated[str, typer.Option(help=f"Kind of the source: {', '.join(KINDS)}.")] = "docs",
    language: Annotated[str, typer.Option(help="Language of its prose, as Snowball names it.")] = "english",
    tag: Annotated[
        list[str] | None, typer.Option(help="Tag of every document; may be repeated. Without it tags stay as they are.")
    ] = None,
    organisation: Organisation = ORGANISATION,
) -> None:
    """Read a place into a space. Text is searchable at once, embeddings follow; reading twice changes nothing."""
    if kind not in SOURCE_KINDS:
        raise typer.BadParameter(f"a kind is one of {', '.join(KINDS)}", param_hint="--kind")
    place = place.resolve()
    if not place.is_dir():
        raise typer.BadParameter(f"{place} is not a folder", param_hint="place")

    async def work(parts: Services) -> Report:
        if organisation == ORGANISATION and parts.development is not None:
            await ensure_demo(parts.database, ORGANISATION, SUBJECT)
        await require_known(parts, organisation)
        return await _ingest(parts, organisation, space, place, name or place.name, kind, language, tag)

    report = with_services(work)
    for path, reason in sorted(report.failures.items()):
        err.print(f"{path}: {reason.removeprefix(f'{path}: ')}", soft_wrap=True, markup=False)
    raise typer.Exit(1 if report.failures else 0)


async def _ingest(
    parts: Services,
    organisation: UUID,
    space_key: str,
    place: Path,
    name: str,
    kind: str,
    language: str,
    tags: list[str] | None = None,
    wait: bool = True,
) -> Report:
    parts.preparer.analyser(language)
    space = await space_for_ingestion(parts.database, organisation, space_key)
    source = await ensure_source(
        parts.database, organisation, space, provider_of(place), name=name, kind=kind, language=language
    )
    async with parts.database.unstamped(organisation) as session:
        await catalogue.note_place(session, source.id, str(place))
    with progress_bar() as progress:
        task = progress.add_task(f"Reading {name}", total=None)
        report = await ingest_place(
            parts.database,
            organisation,
            source,
            place,
            parts.preparer,
            embed=parts.embedding is not None,
            tags=tags,
            total=lambda count: progress.update(task, total=count),
            progress=lambda count: progress.advance(task, count),
        )
    for line in report.skipped_kinds():
        err.print(line, soft_wrap=True, markup=False)
    for path, repair in sorted(report.repairs.items()):
        err.print(f"{path}: {repair}", soft_wrap=True, markup=False)
    err.print(
        f"{report.documents} documents changed, {report.versions} versions and {report.chunks} chunks written, "
        f"{len(report.failures)} files could not be read.",
        soft_wrap=True,
    )
    await print_findings(parts, organisation, source.id)
    if wait:
        await _embed(parts, organisation, source.id)
    return report


async def _embed(parts: Services, organisation: UUID, source: UUID) -> None:
    """Give the source its embeddings, whatever else waits; a server that runs beside may take some of them."""
    if parts.embedding is None:
        return
    waiting = await parts.embedding.depth(organisation, source)
    with progress_bar() as progress:
        task = progress.add_task("Embedding", total=waiting)
        await parts.embedding.drain(organisation, lambda count: progress.advance(task, count), source)
        progress.update(task, completed=waiting)


@cli.command(
    "import-history",
    epilog="Example: muniment import-history facts.jsonl --organisation 6f1d0c9e-4d1c-4a52-9b0e-2f5f4a3c1d77",
)
def import_history(
    file: Annotated[Path, typer.Argument(help="JSON lines: kind, fact, op, system, from, to, text …", exists=True)],
    organisation: Annotated[UUID, typer.Option(help="A new organisation to import into.")],
) -> None:
    """Move facts in that come with system times of their own, strictly increasing, into a new organisation.

    One JSON object a line. `op` is assert, update (only where something is believed), retract or erase; `from` and
    `to` bound the valid period, null or absent is open; `kind` is memory (the default) or document. Optional: title,
    tags, url, etag for documents; subject, importance, confidence, epistemicStatus, transformType, tags for memories.

    {"fact": "tea", "op": "assert", "system": "2026-01-01T09:00:00Z", "from": "2026-01-01T00:00:00Z", "text": "Tea"}

    {"fact": "tea", "op": "retract", "system": "2026-02-01T09:00:00Z", "from": "2026-02-01T00:00:00Z"}
    """

    async def work(parts: Services) -> None:
        run = HistoryImport(
            parts.database,
            parts.preparer,
            parts.memory.reviser,
            organisation,
            SUBJECT,
            embed=parts.embedding is not None,
        )
        with file.open(encoding="utf-8") as lines, progress_bar() as progress:
            # Read whole before anything is written: half an import could not be gone on with.
            total = sum(len(together) for _, together in moments(read_lines(lines)))
            lines.seek(0)
            task = progress.add_task("Importing", total=total)
            done = await run.run(read_lines(lines), lambda count: progress.advance(task, count))
        out.print(f"{done.operations} operations on {len(done.facts)} facts imported.")

    with_services(work)


@cli.command(epilog="Example: TOKEN=$(muniment token)")
def token(
    organisation: Organisation = ORGANISATION,
    subject: Annotated[str, typer.Option(help="Who it is for.")] = SUBJECT,
) -> None:
    """Print a fresh development token and nothing else."""
    settings = read_settings()
    if settings.jwt_key is not None:
        raise ValueError("a token key is set (MUNIMENT_JWT_KEY): its issuer makes the tokens")
    tell_of_new_home(settings)
    key = DevelopmentKey.load_or_create(settings.home / "keys" / "development.pem")
    made = key.token(settings.jwt_issuer, settings.jwt_audience, subject=subject, organisation=organisation)
    sys.stdout.write(made + "\n")


cli.command("grant", epilog="Example: muniment grant auth0|8f2c --organisation 6f1d0c9e-… --create 'Our bank'")(grant_)
cli.command("verify-chain", epilog="Example: muniment verify-chain && echo untouched")(verify_chain_)
cli.command(epilog="Example: MUNIMENT_DATABASE_URL=postgresql://… muniment worker")(worker)
cli.add_typer(keys)
cli.add_typer(signing)
cli.add_typer(api_keys)


@cli.command(epilog="Example: muniment status")
def status(organisation: Organisation = ORGANISATION) -> None:
    """Print how the store stands: chunks, embeddings, queues, chain."""

    async def work(parts: Services) -> None:
        await require_known(parts, organisation)
        embedder = parts.retriever.embedder
        model = embedder.model if embedder else None
        state = await read_status(parts.database, organisation, model)
        for label, value in (
            ("Home", parts.settings.home.absolute()),
            ("Search backend", parts.search_backend),
            ("Embedding model", model or "none"),
            ("Embeddings are made", embedder.locality if embedder else "nowhere"),
            ("Spaces", state.spaces),
            ("Chunks", state.chunks),
            ("Embedded chunks", state.embedded_chunks),
            ("Waiting for an embedding", state.embedding_queue_depth),
            ("Sources waiting to be indexed anew", state.reindex_queue_depth),
            ("Events waiting to be chained", state.queue_depth),
            ("Last sequence of the chain", state.chain_head_sequence),
        ):
            out.print(f"{label}: {value}")
        for space in state.coverage:
            out.print(
                f"{space.key_path}: {space.chunks} chunks, {space.embedded} embedded, {space.indexed} indexed as the "
                "policy says",
                markup=False,
                soft_wrap=True,
            )

    with_services(work)


cli.command("export-evidence", epilog="Example: muniment export-evidence --out evidence.zip")(export_evidence)
cli.command("verify-bundle", epilog="Example: muniment verify-bundle evidence.zip --key key.txt")(verify_bundle_)
cli.command("replay", epilog="Example: muniment replay 01a22c4e-2968-7457-9254-1a4081a5960e --now")(replay_)
cli.command(
    "evidence", epilog="Example: muniment evidence --format csv --from 2026-11-01T00:00:00Z --out november.csv"
)(evidence_)
cli.command("revoke-tokens", epilog="Example: muniment revoke-tokens --subject ada")(revoke_tokens_)
cli.command("reindex", epilog="Example: muniment reindex 01a22c4e-2968-7457-9254-1a4081a5960e")(reindex_)
cli.command("backfill", epilog="Example: MUNIMENT_EMBEDDINGS_MODEL=… muniment backfill")(backfill_)
