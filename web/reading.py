"""Read a part of a document: a window of its text, with the chunks in it."""

from dataclasses import dataclass
from uuid import UUID

from corpus.errors import DocumentNotFound
from corpus.models import Chunk, Document
from web.overlays import Span, Stretch, lay_over

# Characters that a page shows at once: more than most documents have.
PAGE_CHARS = 30_000
# Characters around a passage that is shown beside an answer.
PANEL_CHARS = 6_000


@dataclass(frozen=True, slots=True)
class Reading:
    """A window of a document; ``start`` and ``end`` are characters of the whole text."""

    document: Document
    start: int
    end: int
    stretches: list[Stretch]
    chunks: list[Chunk]
    marked: tuple[int, int] | None

    @property
    def is_partial(self) -> bool:
        return self.start > 0 or self.end < self.document.char_count

    @property
    def previous(self) -> int | None:
        return max(self.start - PAGE_CHARS, 0) if self.start else None

    @property
    def next(self) -> int | None:
        return self.end if self.end < self.document.char_count else None

    @property
    def place(self) -> Chunk | None:
        """The chunk that the marked passage begins in: it knows headings and page."""
        if self.marked is None:
            return None
        start = self.marked[0]
        rows = Chunk.objects.filter(document=self.document).touching(start, start + 1)
        return rows.only("heading_path", "page").first()


def find_document(document_id: UUID) -> Document:
    """Return a document without its text.

    Raises:
        DocumentNotFound: There is none of that id.
    """
    document = Document.objects.listed().filter(pk=document_id).first()
    if document is None:
        raise DocumentNotFound(f"There is no document {document_id}.")
    return document


def read_window(
    document: Document, *, start: int, size: int, marked: tuple[int, int] | None = None
) -> Reading:
    """Read at most ``size`` characters from ``start`` on, and the chunks that touch them."""
    start, text = _slice(document, start, size)
    end = start + len(text)
    chunks = list(Chunk.objects.shown().filter(document=document).touching(start, end))
    spans = [Span(chunk.start_char, chunk.end_char, chunk.ordinal) for chunk in chunks]
    stretches = lay_over(text, offset=start, spans=spans, marked=marked)
    return Reading(document, start, end, stretches, chunks, marked)


def read_around(document: Document, *, start: int, end: int) -> Reading:
    """Read a passage with what is before and after it, without chunks."""
    first = max(start - PANEL_CHARS // 2, 0)
    size = max(PANEL_CHARS, end - first + PANEL_CHARS // 2)
    first, text = _slice(document, first, min(size, PAGE_CHARS))
    stretches = lay_over(text, offset=first, spans=[], marked=(start, end))
    return Reading(document, first, first + len(text), stretches, [], (start, end))


def _slice(document: Document, start: int, size: int) -> tuple[int, str]:
    start = max(min(start, document.char_count - 1), 0)
    rows = Document.objects.filter(pk=document.pk)
    return start, rows.slice_of_text(start, start + size)
