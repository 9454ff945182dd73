"""The keys of a deployment: the settings' own, or those in its home, which are made once and never in the place of lost
ones."""

from pathlib import Path

from app.evidence.lost_keys import is_chained, is_signed
from app.providers.keyring import KeyRing
from app.providers.signing import SigningKeys
from app.settings import Settings
from app.storage.engine import Database


def key_ring(settings: Settings, *, fresh: bool = False) -> KeyRing:
    """The keys of the evidence: the settings' own, else those in the home. Made when there are none, and no chain in
    this home misses them; `fresh`: also then."""
    if settings.keys is not None:
        return KeyRing.from_environment(settings.keys.get_secret_value())
    path = _evidence_path(settings)
    if not fresh and _is_lost(settings):
        raise _chains_lost(path)
    return KeyRing.load_or_create(path)


def restored(settings: Settings, name: str, encoded: str) -> KeyRing:
    """The ring with one more key (base64), which is the only one where the file is missing beside a chain."""
    if settings.keys is None and _is_lost(settings):
        return KeyRing.restore(_evidence_path(settings), name, encoded)
    ring = key_ring(settings)
    ring.add(name, encoded)
    return ring


def signing_keys(settings: Settings, *, fresh: bool = False) -> SigningKeys:
    """The keys that sign: as `key_ring`."""
    if settings.signing_keys is not None:
        return SigningKeys.from_environment(settings.signing_keys.get_secret_value())
    path = _signing_path(settings)
    if not fresh and any((settings.home / "checkpoints").glob("*.log")) and not path.exists():
        raise _checkpoints_lost(path)
    return SigningKeys.load_or_create(path)


def _evidence_path(settings: Settings) -> Path:
    return settings.home / "keys" / "evidence.json"


def _is_lost(settings: Settings) -> bool:
    """Whether the home has chains and no key for them."""
    # In this order: another process that starts makes the file before the first head.
    return any((settings.home / "heads").glob("*.json")) and not _evidence_path(settings).exists()


def _signing_path(settings: Settings) -> Path:
    return settings.home / "keys" / "signing.json"


async def require_no_key_lost(settings: Settings, database: Database) -> None:
    """Refuse to make fresh keys in the place of those that the database's chains or checkpoints were made with."""
    for given, path, is_used, lost in (
        (settings.keys, _evidence_path(settings), is_chained, _chains_lost),
        (settings.signing_keys, _signing_path(settings), is_signed, _checkpoints_lost),
    ):
        # Looked at twice: another process that starts may make the file meanwhile, and something with it.
        if given is None and _is_missing(path) and await is_used(database) and _is_missing(path):
            raise lost(path)


def _is_missing(path: Path) -> bool:
    return not path.exists()


def _chains_lost(path: Path) -> ValueError:
    return _lost(path, "MUNIMENT_KEYS", "chains", "muniment keys create")


def _checkpoints_lost(path: Path) -> ValueError:
    return _lost(path, "MUNIMENT_SIGNING_KEYS", "checkpoints", "muniment signing-keys create")


def _lost(path: Path, variable: str, made: str, command: str) -> ValueError:
    return ValueError(
        f"{path} is missing, and there are {made} that were made with its keys: put it back, or set {variable}. "
        f"If they are lost for good, `{command}` makes fresh ones; what the old ones made cannot be checked with those"
    )
