"""`muniment export-evidence` and `muniment verify-bundle`."""

import base64
from pathlib import Path
from typing import Annotated

import typer

from app.assembly.services import Services
from app.commands.running import Organisation, err, out, progress_bar, require_known, with_services
from app.evidence.bundle_verifier import read_key, verify_bundle
from app.evidence.exporting import export_bundle
from app.identity.development import ORGANISATION


def export_evidence(
    target: Annotated[Path, typer.Option("--out", help="File to write.")],
    organisation: Organisation = ORGANISATION,
    first: Annotated[int | None, typer.Option("--from", help="First sequence; 1 by default.", min=1)] = None,
    last: Annotated[int | None, typer.Option("--to", help="Last sequence; the newest by default.", min=1)] = None,
    request_id: Annotated[str | None, typer.Option(help="Only the records of one retrieval.")] = None,
) -> None:
    """Write records with their proofs into a bundle that anyone can check with the public key alone."""

    async def work(parts: Services) -> None:
        await require_known(parts, organisation)
        await parts.sequencer.finish()
        with progress_bar() as progress:
            task = progress.add_task("Exporting", total=None)
            exported = await export_bundle(
                parts.database,
                parts.checkpoints,
                organisation,
                target,
                first=first,
                last=last,
                request_id=request_id,
                progress=lambda done, total: progress.update(task, completed=done, total=total),
            )
        out.print(f"{exported.records} records, {exported.first} to {exported.last}, written to {target}")
        key = base64.b64encode(exported.public_key).decode()
        err.print(f"Signed with {exported.key_id}, public key {key}", soft_wrap=True, markup=False)

    with_services(work)


def verify_bundle_(
    file: Annotated[Path, typer.Argument(help="The bundle.", exists=True, dir_okay=False)],
    key: Annotated[str, typer.Option(help="The public key, or a file that holds it: base64, PEM or a verifier key.")],
) -> None:
    """Check a bundle with the public key alone; exit code 0 only when it is VALID. No database is opened."""
    given = Path(key)
    try:
        public_key = read_key(given.read_text() if given.is_file() else key)
    except ValueError:
        raise typer.BadParameter("not an Ed25519 public key", param_hint="--key") from None
    report = verify_bundle(file, public_key)
    out.print("VALID" if report.valid else "INVALID")
    out.print(report.reason, soft_wrap=True, markup=False)
    if report.first_bad is not None:
        out.print(f"First bad record: {report.first_bad}")
    raise typer.Exit(0 if report.valid else 1)
