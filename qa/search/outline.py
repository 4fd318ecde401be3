"""Find a document by its name, and where its sections begin."""

from collections import Counter
from collections.abc import Sequence
from uuid import UUID

from corpus.ingestion.normal_form import Heading, Outline
from corpus.models import Chunk, Document
from corpus.postgres.replica import read_evidence
from qa.proof.outline import Section
from qa.questions import telling_words
from qa.search.hybrid import passage_of
from qa.types import Passage

# A summary of more sections is read as the document itself.
MOST_SECTIONS = 8


def find_by_name(name: str, candidates: Sequence[Passage]) -> Passage | None:
    """Return the first passage of a document whose title or address has all words of the name.

    A name that tells nothing ("this document") means the only one found.
    """
    wanted = telling_words(name)
    if not wanted:
        is_only = len({passage.document_id for passage in candidates}) == 1
        return candidates[0] if is_only else None
    named = (each for each in candidates if wanted <= telling_words(f"{each.title} {each.source}"))
    return next(named, None)


def read_sections(named: Passage) -> list[Section]:
    """Return the beginnings of the main sections of a passage's document, in order.

    None if that version of it is gone.
    """
    return read_evidence(lambda: _read_sections(named))


def _read_sections(named: Passage) -> list[Section]:
    version = {"pk": UUID(named.document_id), "content_sha256": named.content_sha256}
    document = Document.objects.filter(**version).only("outline").first()
    if document is None:
        return []
    headings = Outline.from_json(document.outline).headings
    spans = [(heading.start, heading.end) for heading in find_main(headings)[:MOST_SECTIONS]]
    sections = (_section_at(document, start, end) for start, end in spans or [(0, 0)])
    return [section for section in sections if section is not None]


def find_main(headings: Sequence[Heading]) -> list[Heading]:
    """Return the headings of the highest level that has several; all where none has."""
    count_of = Counter(heading.level for heading in headings)
    several = [level for level, count in count_of.items() if count > 1]
    if not several:
        return list(headings)
    return [heading for heading in headings if heading.level == min(several)]


def _section_at(document: Document, start: int, text_start: int) -> Section | None:
    rows = Chunk.objects.with_document()
    # Where chunks share a sentence, the later one begins the section.
    chunk = rows.filter(document=document).touching(start, start + 1).last()
    if chunk is None:
        return None
    passage = passage_of(chunk, score=1.0, similarity=0.0)
    return Section(passage, start - chunk.start_char, text_start - chunk.start_char)
