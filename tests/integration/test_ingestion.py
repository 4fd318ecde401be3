"""Bringing documents in: what is stored, what is refused, what survives."""

from datetime import UTC, datetime
from typing import Any

import pytest

from corpus.embedders import get_embedder
from corpus.errors import BackendError
from corpus.ingestion.ingest import reingest_document
from corpus.ingestion.submission import Attributes
from corpus.models import Chunk, Collection, Document, Embedding
from tests.support.documents import BAKERY, LIGHTHOUSE, Ingest, ingest_file, long_text

pytestmark = pytest.mark.usefixtures("no_violations")


def test_ingest_stores_chunks_that_are_spans_of_the_text(ingest: Ingest) -> None:
    stored = ingest(long_text(4), title="Subjects", tags=("demo",))
    document = Document.objects.get(pk=stored.document_id)
    chunks = list(document.chunks.all())
    assert [str(chunk.pk) for chunk in chunks] == list(stored.chunk_ids)
    assert len(chunks) > 1
    for chunk in chunks:
        assert document.content.text[chunk.start_char : chunk.end_char] == chunk.text
        assert chunk.text_preview == chunk.text[:160]
    assert document.status == Document.Status.COMPLETED
    assert document.chunk_count == len(chunks)


def test_chunks_keep_within_what_the_embedder_takes(ingest: Ingest, collection: Collection) -> None:
    embedder = get_embedder(collection.embedding_model)
    ingest("word " * 3_000, title="A long title " * 20)
    for chunk in Chunk.objects.all():
        assert 0 < chunk.token_count <= collection.chunk_size
        (whole,) = embedder.count_tokens([f"{chunk.context}\n{chunk.text}"])
        assert whole <= embedder.max_tokens


def test_reingest_keeps_unchanged_chunks(ingest: Ingest) -> None:
    paragraphs = long_text(6).split("\n\n")
    before = ingest("\n\n".join(paragraphs), source_uri="note:1")
    vectors = dict(Embedding.objects.values_list("chunk_id", "pk"))
    kept_text = {str(c.pk): c.text for c in Chunk.objects.all() if paragraphs[2] not in c.text}
    paragraphs[2] = "This paragraph is another one. " + long_text(8).split("\n\n")[7]
    after = ingest("\n\n".join(paragraphs), source_uri="note:1")
    kept = set(before.chunk_ids) & set(after.chunk_ids)
    assert len(kept) >= len(before.chunk_ids) // 2
    assert kept < set(before.chunk_ids)
    for chunk in Chunk.objects.filter(pk__in=kept):
        assert kept_text.get(str(chunk.pk), chunk.text) == chunk.text
        assert chunk.embeddings.get().pk == vectors[chunk.pk]


class CountingEmbedder:
    """Wraps the real embedder and counts what it encodes."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self.encoded: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def embed_passages(self, texts: Any) -> Any:
        self.encoded += texts
        return self.inner.embed_passages(texts)


@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch, collection: Collection) -> CountingEmbedder:
    counter = CountingEmbedder(get_embedder(collection.embedding_model))
    for module in ("chunking", "ingest"):
        monkeypatch.setattr(f"corpus.ingestion.{module}.get_embedder", lambda name: counter)
    return counter


def test_identical_text_is_encoded_once(ingest: Ingest, counting: CountingEmbedder) -> None:
    ingest(LIGHTHOUSE, source_uri="note:1")
    count = len(counting.encoded)
    ingest(f"{LIGHTHOUSE}\n\n{long_text(1)}", source_uri="note:2")
    ingest(LIGHTHOUSE + " One more.", source_uri="note:1")
    assert len(counting.encoded) == len(set(counting.encoded))
    assert len(counting.encoded) > count


def test_an_embedder_that_cannot_count_leaves_the_old_version(
    ingest: Ingest, monkeypatch: pytest.MonkeyPatch, counting: CountingEmbedder
) -> None:
    ingest(LIGHTHOUSE, source_uri="note:1")

    def fail(text: str) -> Any:
        raise BackendError("the model is gone")

    monkeypatch.setattr(counting, "token_spans", fail, raising=False)
    with pytest.raises(BackendError):
        ingest(BAKERY, source_uri="note:1")
    assert Document.objects.get().content.text == LIGHTHOUSE


def test_a_markdown_file_brings_what_it_states_and_its_headings(collection: Collection) -> None:
    content = (
        b"---\ntitle: Coast guide\ntags: [Coast, lights]\n"
        b"author: Ada\ndate: 2024-03-04\nlang: de-CH\n---\n"
        b"# Coasts\n\nThe coast is long and rocky, with many bays.\n\n"
        b"## Lights\n\nThe lighthouse was built in 1874 by Orsolya Quill.\n"
    )
    stored = ingest_file(
        content, filename="coast.md", collection=collection, attributes=Attributes()
    )
    document = Document.objects.get(pk=stored.document_id)
    assert document.title == "Coast guide"
    assert document.media_type == "text/markdown"
    assert stored.tags == ("coast", "lights")
    assert document.metadata == {"author": "Ada", "created": "2024-03-04", "language": "de"}
    assert document.user_created_at == datetime(2024, 3, 4, tzinfo=UTC)
    assert ["Coasts", "Lights"] in [chunk.heading_path for chunk in document.chunks.all()]


def test_reingest_document_follows_the_collections_settings(
    ingest: Ingest, collection: Collection
) -> None:
    stored = ingest(long_text(3), tags=("kept",), user_created_at=datetime(2024, 2, 29, tzinfo=UTC))
    collection.chunk_size = 64
    collection.save()
    again = reingest_document(Document.objects.get(pk=stored.document_id))
    assert again.document_id == stored.document_id
    assert again.chunk_count > stored.chunk_count
    assert again.tags == ("kept",)
    document = Document.objects.get(pk=stored.document_id)
    assert document.user_created_at == datetime(2024, 2, 29, tzinfo=UTC)
