"""Office Open XML packages (ECMA-376): what is checked before a library unpacks one."""

import io
import re
import zipfile

from app.providers.parsers.blocks import Unsupported

#: What a package may take when it is unpacked, in bytes; a part may not be smaller packed than a thousandth.
MAX_UNPACKED = 256 * 1024 * 1024
MAX_RATIO = 1000
MAX_PARTS = 20_000
#: Below this a high ratio is no danger.
_SMALL = 4 * 1024 * 1024
_HEAD = 65_536

_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
_DECLARES = re.compile(rb"<!\s*(DOCTYPE|ENTITY)", re.IGNORECASE)


def open_package(data: bytes) -> zipfile.ZipFile:
    """The package in `data`; raises `Unsupported` where it cannot be opened, or would not stay small when unpacked."""
    if data.startswith(_OLE):
        raise Unsupported(
            "Protected by a password."
            if _ENCRYPTED in data
            else "An old binary Office file; save it in the new format."
        )
    try:
        package = zipfile.ZipFile(io.BytesIO(data))
        parts = package.infolist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, EOFError) as error:
        raise Unsupported("Damaged: it is not a whole package.") from error
    total = sum(part.file_size for part in parts)
    if len(parts) > MAX_PARTS or total > MAX_UNPACKED:
        raise Unsupported(f"Too large when unpacked: {len(parts)} parts, {total} bytes; the limit is {MAX_UNPACKED}.")
    for part in parts:
        if part.file_size > _SMALL and part.file_size > MAX_RATIO * max(part.compress_size, 1):
            raise Unsupported(
                f"Packed suspiciously well, as bombs are: {part.file_size} bytes in {part.compress_size}."
            )
        if part.filename.endswith((".xml", ".rels")):
            _no_entities(package, part)
    return package


def _no_entities(package: zipfile.ZipFile, part: zipfile.ZipInfo) -> None:
    """The format forbids document types, which entity bombs need; they stand before the first element."""
    try:
        with package.open(part) as file:
            head = file.read(_HEAD)
    except (zipfile.BadZipFile, OSError, RuntimeError, ValueError, NotImplementedError, EOFError) as error:
        raise Unsupported("Damaged: a part of it cannot be unpacked.") from error
    encoding = "utf-16" if head[:2] in (b"\xff\xfe", b"\xfe\xff") else None
    if encoding is not None:
        head = head.decode(encoding, "replace").encode()
    if _DECLARES.search(head):
        raise Unsupported("It declares XML entities, which the format forbids.")
