"""Links of pages, as written."""

from app.providers.parsers.html import parse_html
from app.providers.parsers.links import MAX_LINKS
from app.providers.parsers.markdown import parse_markdown

PAGE = """\
---
see: "[front](front.md)"
---
# Guide

See [the rules](rules.md "The rules"), [again](rules.md), ![a picture](img/one.png), <b>[bold](<deep/b.md>)</b>.
[Elsewhere](https://example.com/a.md), [mail](mailto:a@b.c), [part](#part), [host](//example.com).

[ref]: ../other.md 'Title'

```md
[code](code.md)
```
"""


def test_markdown():
    assert parse_markdown(PAGE).links == ("rules.md", "img/one.png", "deep/b.md", "../other.md")


def test_html():
    page = '<h1>Guide</h1><p>See <a href="rules.html#x">the rules</a>, <a href="https://a.b">b</a>, <a name="c">c</a>.'
    parsed = parse_html(page + '<a href="">d</a><a href>e</a>')
    assert parsed.links == ("rules.html#x",)


def test_a_page_of_links_has_only_so_many():
    assert len(parse_markdown("\n".join(f"[{n}]({n}.md)" for n in range(5000))).links) == MAX_LINKS


def test_what_only_looks_like_links_ends():
    assert parse_markdown("](" * 200_000).links == ()
    assert parse_markdown("[a](b " * 100_000).links == ()
    assert parse_markdown("[" * 100_000 + "]: x").links == ()
