"""`muniment signing-keys …`: the keys that sign checkpoints, bundles and certificates. No secret is ever printed."""

import base64

import typer

from app.assembly.keys import signing_keys
from app.commands.running import out, read_settings

signing = typer.Typer(
    name="signing-keys",
    help="The keys that sign checkpoints, bundles and certificates.",
    epilog="Example: muniment signing-keys list",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@signing.command("list", epilog="Example: muniment signing-keys list")
def list_() -> None:
    """Print the public keys, oldest first: id, base64, and which one signs."""
    keys = signing_keys(read_settings())
    for name, public in keys.public_keys.items():
        state = "signs" if name == keys.signer.key_id else "retired"
        out.print(f"{name}  {base64.b64encode(public).decode()}  {state}", soft_wrap=True, markup=False)


@signing.command(epilog="Example: muniment signing-keys rotate")
def rotate() -> None:
    """Sign with a fresh key from now on. The private half of the last one is destroyed, its public half stays; running
    servers follow at once."""
    out.print(signing_keys(read_settings()).rotate(), markup=False)


@signing.command(epilog="Example: muniment signing-keys create")
def create() -> None:
    """Begin with a fresh key, where the file of the keys is lost for good. Its id is printed."""
    out.print(signing_keys(read_settings(), fresh=True).signer.key_id, markup=False)
