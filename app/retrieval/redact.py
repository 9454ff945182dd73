"""R8. Every text passes the organisation's policy against leaks on its way out, whatever it came from.

Today's policy counts, whatever moment is asked about. A passage was scanned when it was indexed, as part of its whole
document, and is not scanned again unless detectors have changed since; what is said about it (title, headings, names)
comes again and again, and its findings are remembered. What is said about a source bars nothing of it, but is masked.
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from uuid import UUID

from app.domain.dlp.masking import masked
from app.domain.dlp.policy import Action
from app.domain.dlp.scanning import Redacted, Scanner
from app.domain.document import embedding_text
from app.domain.locality import Locality
from app.domain.principal import Source
from app.domain.selection import Reason, Selection
from app.retrieval.authorise import Authorised
from app.storage.passages import Passage

STAGE = "redact"


def redact(
    selection: Selection, texts: Mapping[UUID, Passage], authorised: Authorised, count: Callable[[str], int]
) -> tuple[Selection, Mapping[UUID, Passage]]:
    """What may be given, as it may be given; `count` gives the tokens of a text. What is only related to a passage that
    may not be given goes with it."""
    barred: set[UUID] = set()
    shown: dict[UUID, Passage] = {}
    for item in selection.kept:
        passage = texts[item.id]
        seen = _shown(passage, authorised.sources[item.source_id], authorised, count)
        if seen is None:
            barred.add(item.id)
        elif seen is not passage:
            shown[item.id] = seen
    barred |= {item.id for item in selection.kept if item.related is not None and item.related.to in barred}
    left = selection.drop(STAGE, dict.fromkeys(barred, Reason.DLP_BLOCKED))
    if not shown:
        return left, texts
    kept = (
        replace(item, text_sha256=hashlib.sha256(shown[item.id].text.encode()).digest()) if item.id in shown else item
        for item in left.kept
    )
    return left.rewrite(kept), {**texts, **shown}


def _shown(passage: Passage, source: Source, authorised: Authorised, count: Callable[[str], int]) -> Passage | None:
    """The passage itself where nothing is found, None where it may not be given."""
    action = authorised.policy.action(source.classification)
    if action is Action.ALLOW:
        return passage
    if action is Action.BLOCK_SOURCE and source.flagged:
        return None
    scanner = authorised.scanner
    found = scanner.scan_part(passage.part)
    about = _about(passage, scanner)
    if not found and about is None:
        return passage
    if action is not Action.REDACT:
        return None
    seen = about or passage
    if not found:
        return seen
    text = masked(passage.text, found)
    return replace(seen, text=text, tokens=count(text))


def _about(passage: Passage, scanner: Scanner) -> Passage | None:
    """With what is said about it masked; None where nothing is found in that."""
    said = (
        passage.title,
        *passage.heading_path,
        passage.external_id,
        passage.url,
        passage.sheet,
        passage.table_name,
        *passage.tags,
    )
    if not any(scanner.scan(part) for part in said if part):
        return None
    return replace(
        passage,
        title=scanner.redacted(passage.title),
        heading_path=[str(scanner.redacted(part)) for part in passage.heading_path],
        external_id=scanner.redacted(passage.external_id),
        url=_masked(passage.url, scanner),
        sheet=_masked(passage.sheet, scanner),
        table_name=_masked(passage.table_name, scanner),
        tags=[scanner.redacted(tag) for tag in passage.tags],
    )


def _masked(text: str | None, scanner: Scanner) -> str | None:
    return None if text is None else scanner.redacted(text)


def shown_source(source: Source, authorised: Authorised) -> Source:
    """The source with its name and the strings of its access policy as they may be given."""
    if authorised.policy.action(source.classification) is Action.ALLOW:
        return source
    scanner = authorised.scanner
    name, policy = scanner.redacted(source.name), scanner.redacted_json(source.access_policy)
    if name == source.name and policy is source.access_policy:
        return source
    return replace(source, name=name, access_policy=policy)


def outgoing(passage: Passage, scanner: Scanner) -> Redacted:
    """A passage as an endpoint may be sent it: what is embedded of it, without what is found in it."""
    text = scanner.redacted_part(passage.part)
    return Redacted(embedding_text(scanner.redacted(passage.title), passage.heading_path, text))


def may_be_sent(authorised: Authorised, source: UUID, endpoint: Locality | None) -> bool:
    """Whether the texts of a source may be sent where `endpoint` says; None is no endpoint, but this very process."""
    return endpoint is None or authorised.policy.may_be_sent(authorised.sources[source].classification, endpoint)


def searchable(passage: Passage, source: Source, authorised: Authorised) -> tuple[str, ...]:
    """The texts of a passage by which it may be found: what it is not found by cannot be guessed at."""
    if not authorised.policy.masks_index(source.classification):
        return (passage.title, *passage.heading_path, passage.text)
    scanner = authorised.scanner
    about = (scanner.redacted(part) for part in (passage.title, *passage.heading_path))
    return (*about, scanner.redacted_part(passage.part))
