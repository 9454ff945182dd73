"""`muniment keys …`: the key ring of the evidence. No secret is printed but by `export`."""

import sys
from typing import Annotated

import typer

from app.assembly.keys import key_ring, restored
from app.commands.running import err, out, read_settings
from app.providers.keyring import KeyRing

keys = typer.Typer(
    name="keys",
    help="The keys of the evidence chains: those in the home, or in MUNIMENT_KEYS.",
    epilog="Example: muniment keys list",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Id = Annotated[str, typer.Argument(help="Id of the key, as `muniment keys list` shows it.")]


def _ring() -> KeyRing:
    return key_ring(read_settings())


@keys.command("list", epilog="Example: muniment keys list")
def list_() -> None:
    """Print the keys, oldest first: id, fingerprint, and which one is current."""
    ring = _ring()
    current = ring.current_id
    for name in ring.ids:
        state = "current" if name == current else "retired"
        out.print(f"{name}  {ring.fingerprint(name)}  {state}", soft_wrap=True, markup=False)


@keys.command(epilog="Example: muniment keys create")
def create() -> None:
    """Begin with a fresh key, where the file of the keys is lost for good: what they chained is UNVERIFIABLE until they
    are imported. The key's id is printed."""
    out.print(key_ring(read_settings(), fresh=True).current_id, markup=False)


@keys.command(epilog="Example: muniment keys rotate")
def rotate() -> None:
    """Make a fresh key the current one. The old ones stay, to check what they made; running servers follow at once."""
    out.print(_ring().rotate(), markup=False)


@keys.command("import", epilog="Example: muniment keys import < saved-key")
def import_(
    current: Annotated[bool, typer.Option("--current", help="New entries use it from now on.")] = False,
) -> None:
    """Add a key from standard input, written as id:base64, the form that export prints."""
    if sys.stdin.isatty():
        err.print("Waiting for id:base64 on standard input.")
    name, colon, encoded = sys.stdin.read(1 << 12).strip().partition(":")
    if not colon:
        raise ValueError("standard input holds no id:base64")
    ring = restored(read_settings(), name, encoded)
    if current:
        ring.use(name)
    out.print(f"{name}  {ring.fingerprint(name)}", markup=False)


@keys.command(epilog="Example: muniment keys export k1-0a1b2c3d | age -r … > saved-key")
def export(id: Id) -> None:
    """Print the secret of one key as id:base64. Whoever reads it can forge evidence."""
    sys.stdout.write(_ring().export(id) + "\n")


@keys.command(epilog="Example: muniment keys forget k1-0a1b2c3d --yes")
def forget(
    id: Id, yes: Annotated[bool, typer.Option("--yes", help="Do it; without this nothing is removed.")] = False
) -> None:
    """Remove a retired key for ever: every record that it chained is UNVERIFIABLE from then on."""
    ring = _ring()
    if id in ring.ids and not yes:
        raise ValueError(f"what {id} chained could never be checked again; say --yes, and export the key first")
    ring.forget(id)
    out.print(f"{id} is forgotten.", markup=False)
