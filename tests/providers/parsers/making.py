"""Files of the kinds that people have, written for the tests: PDF by hand, the others with the libraries' writers."""

import io
import zipfile
from collections.abc import Callable, Sequence

import docx
import openpyxl


def pdf(pages: Sequence[str], title: str = "", outline: Sequence[tuple[str, int]] = (), trailer: str = "") -> bytes:
    """A whole PDF 1.4 with a page a text, its lines under each other; `outline` holds (title, page from 0)."""
    objects: list[bytes] = []

    def add(body: str | bytes) -> int:
        objects.append(body if isinstance(body, bytes) else body.encode("latin-1"))
        return len(objects)

    font = add("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>")
    tree = len(objects) + 2 * len(pages) + 1
    kids = []
    for text in pages:
        lines = [line.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)") for line in text.split("\n")]
        drawn = "BT /F1 12 Tf 72 720 Td 14 TL " + " ".join(f"({line}) Tj T*" for line in lines) + " ET"
        content = drawn.encode("cp1252")
        stream = add(b"<< /Length %d >>\nstream\n" % len(content) + content + b"\nendstream")
        kids.append(
            add(
                f"<< /Type /Page /Parent {tree} 0 R /MediaBox [0 0 612 792] /Contents {stream} 0 R "
                f"/Resources << /Font << /F1 {font} 0 R >> >> >>"
            )
        )
    assert add(f"<< /Type /Pages /Count {len(kids)} /Kids [{' '.join(f'{kid} 0 R' for kid in kids)}] >>") == tree
    marks = ""
    if outline:
        root = len(objects) + 1
        first, last = root + 1, root + len(outline)
        add(f"<< /Type /Outlines /First {first} 0 R /Last {last} 0 R /Count {len(outline)} >>")
        for number, (name, page) in enumerate(outline):
            beside = f"/Next {first + number + 1} 0 R" if number + 1 < len(outline) else ""
            before = f"/Prev {first + number - 1} 0 R" if number else ""
            add(f"<< /Title ({name}) /Parent {root} 0 R {beside} {before} /Dest [{kids[page]} 0 R /XYZ 0 792 0] >>")
        marks = f"/Outlines {root} 0 R"
    catalog = add(f"<< /Type /Catalog /Pages {tree} 0 R {marks} >>")
    info = add(f"<< /Title ({title}) >>")
    out, offsets = io.BytesIO(), []
    out.write(b"%PDF-1.4\n")
    for number, body in enumerate(objects, 1):
        offsets.append(out.tell())
        out.write(b"%d 0 obj\n" % number + body + b"\nendobj\n")
    at = out.tell()
    out.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1))
    out.writelines(b"%010d 00000 n \n" % offset for offset in offsets)
    out.write(
        f"trailer << /Size {len(objects) + 1} /Root {catalog} 0 R /Info {info} 0 R {trailer} >>\n"
        f"startxref\n{at}\n%%EOF\n".encode()
    )
    return out.getvalue()


def word(fill: Callable[[docx.document.Document], None]) -> bytes:
    document, file = docx.Document(), io.BytesIO()
    fill(document)
    document.save(file)
    return file.getvalue()


def workbook(fill: Callable[[openpyxl.Workbook], None]) -> bytes:
    book, file = openpyxl.Workbook(), io.BytesIO()
    fill(book)
    book.save(file)
    return file.getvalue()


def repacked(package: bytes, changes: dict[str, bytes]) -> bytes:
    """The package with these parts put in the place of its own."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(package)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for name in dict.fromkeys([*old.namelist(), *changes]):
            new.writestr(name, changes[name] if name in changes else old.read(name))
    return out.getvalue()
