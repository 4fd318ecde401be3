"""Remove documents and tags, with all that hangs on them."""

from uuid import UUID

from django.db import transaction

from corpus.errors import DocumentNotFound, NotFound
from corpus.ingestion.uploads import drop_upload
from corpus.models import Document, Tag


@transaction.atomic
def delete_document(document_id: UUID) -> None:
    """Remove a document, its chunks, vectors, text-search entries, and its quotes in citations.

    A file that was uploaded for it goes too.

    Raises:
        DocumentNotFound: There is none of that id.
    """
    rows = Document.objects.select_for_update().only("id", "file_path")
    document = rows.filter(pk=document_id).first()
    if document is None:
        raise DocumentNotFound(f"There is no document {document_id}.")
    path = document.file_path
    document.delete()
    transaction.on_commit(lambda: drop_upload(path))


@transaction.atomic
def delete_tag(name: str) -> None:
    """Take a tag off everything; documents and chunks stay.

    Raises:
        NotFound: There is no such tag.
    """
    tag = Tag.objects.select_for_update().filter(name=name).first()
    if tag is None:
        raise NotFound(f"There is no tag {name!r}.")
    tag.delete()
