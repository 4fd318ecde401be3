"""Find documents by name, all documents, or those that mention a topic."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from uuid import UUID

from corpus.ingestion.normal_form import Heading, Outline
from corpus.models import Chunk, Collection, Document
from corpus.postgres import one_snapshot
from corpus.sentences import sentence_spans
from qa.grounding.outline import Section
from qa.grounding.support.words import speaks_of
from qa.intent import distinctive_words
from qa.search.hybrid import passage_of
from qa.types import ClosePassage, Passage, Query

# A summary of more sections is read as the document itself.
MAX_SECTIONS = 8


def find_by_name(name: str, candidates: Sequence[Passage]) -> Passage | None:
    """Return the first passage whose document's title or URI has all words of the name.

    None if the name has no distinctive word.
    """
    wanted = distinctive_words(name)
    named = (
        each for each in candidates if wanted <= distinctive_words(f"{each.title} {each.source}")
    )
    return next(named, None) if wanted else None


@one_snapshot()
def read_openings(query: Query, candidates: Sequence[Passage]) -> list[Section]:
    """Return the beginning of each document that a query may find, by title.

    For a single document or a selected text, return its sections. Return nothing if there are more
    than ``MAX_SECTIONS`` documents.

    Args:
        candidates: The passages found, at least one.
    """
    if candidates[0].is_selected:
        return [Section(min(candidates, key=lambda passage: passage.start_char), 0, 0)]
    collections = Collection.objects.get_asked(query.collection)
    rows = Document.objects.filter(collection__in=collections, chunk_count__gt=0)
    rows = rows.tagged(query.tags)
    if query.filters:
        rows = rows.matching_filter(query.filters)
    # Sorted only where they are few.
    documents = list(rows.with_outline().order_by()[: MAX_SECTIONS + 1])
    if len(documents) > MAX_SECTIONS:
        return []
    documents.sort(key=lambda document: (document.title, document.pk))
    if len(documents) == 1:
        return _sections_of(documents[0])
    openings = []
    for document in documents:
        headings = Outline.from_json(document.content.outline).headings
        title_end = next((heading.end for heading in headings[:1] if heading.start == 0), 0)
        openings.append((document, 0, title_end))
    return _sections_at(openings)


@one_snapshot()
def read_sections(named: Passage | None) -> list[Section]:
    """Return the beginnings of the main sections of a passage's document, in order.

    Empty without a passage, and if that version of its document is gone.
    """
    if named is None:
        return []
    version = {"pk": UUID(named.document_id), "content_sha256": named.content_sha256}
    document = Document.objects.with_outline().filter(**version).first()
    return _sections_of(document) if document else []


def _sections_of(document: Document) -> list[Section]:
    headings = Outline.from_json(document.content.outline).headings
    spans = [(heading.start, heading.end) for heading in find_main(headings)[:MAX_SECTIONS]]
    return _sections_at((document, start, end) for start, end in spans or [(0, 0)])


def find_main(headings: Sequence[Heading]) -> list[Heading]:
    """Return the headings of the highest level that has several; all if none has."""
    count_of = Counter(heading.level for heading in headings)
    several = [level for level, count in count_of.items() if count > 1]
    if not several:
        return list(headings)
    return [heading for heading in headings if heading.level == min(several)]


def _sections_at(places: Iterable[tuple[Document, int, int]]) -> list[Section]:
    """Return the sections at characters of documents, each with where its text begins."""
    sections = []
    for document, start, text_start in places:
        # If chunks share a sentence, the later one begins the section.
        rows = Chunk.objects.with_document().filter(document=document)
        if chunk := rows.overlapping(start, start + 1).last():
            passage = passage_of(chunk, score=1.0, similarity=0.0)
            offset = chunk.start_char
            sections.append(Section(passage, start - offset, text_start - offset))
    return sections


def mentions(passage: Passage, topic: str) -> bool:
    """Return whether a passage or its headings mention a topic."""
    return speaks_of(f"{passage.breadcrumb}\n{passage.text}", topic)


def choose_mentions(passages: Sequence[Passage], topic: str) -> list[Passage]:
    """Return the first passage of each document, preferring those that mention the topic."""
    speaking = [passage for passage in passages if mentions(passage, topic)]
    first: dict[str, Passage] = {}
    for passage in speaking or passages:
        first.setdefault(passage.document_id, passage)
    return list(first.values())


def point_to(close: ClosePassage, topic: str) -> ClosePassage:
    """Move the span to the first sentence that mentions a topic, unless it does already."""
    if speaks_of(close.quote, topic):
        return close
    text, offset = close.passage.text, close.passage.start_char
    for start, end in sentence_spans(text):
        if speaks_of(text[start:end], topic) and not text.startswith("#", start):
            return replace(close, start_char=offset + start, end_char=offset + end)
    return close
