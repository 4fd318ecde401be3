"""Tags are merged while documents that carry them come in: nothing fails, nothing is lost."""

from uuid import UUID

import pytest
from django.db import transaction

from corpus.invariants import find_violations
from corpus.models import ChunkTag, Document, DocumentCount, Tag
from corpus.tags import merge_tags
from tests.support.database import held_up, on_another_connection
from tests.support.documents import BAKERY, LIGHTHOUSE, Ingest

pytestmark = pytest.mark.django_db(transaction=True)


def tags_of(document_id: str) -> tuple[list[str], list[str]]:
    """What the document carries, and what its chunks do."""
    assert list(find_violations()) == []
    on_chunks = ChunkTag.objects.filter(chunk__document=UUID(document_id)).order_by("tag__name")
    document = Document.objects.get(pk=document_id)
    return (
        list(document.tags.values_list("name", flat=True)),
        list(on_chunks.values_list("tag__name", flat=True).distinct()),
    )


def merge(name: str, *, into: str) -> int:
    return merge_tags(Tag.objects.filter(name=name).values_list("pk", flat=True), into=into)


def test_a_document_that_comes_in_before_a_merge_has_the_tag_that_is_left(ingest: Ingest) -> None:
    ingest(LIGHTHOUSE, tags=("coast",))
    with held_up(lambda: merge("coast", into="sea")):
        late = ingest(BAKERY, tags=("coast",)).document_id
    assert tags_of(late) == (["sea"], ["sea"])


def test_a_document_that_comes_in_after_a_merge_has_its_own_tag(ingest: Ingest) -> None:
    first = ingest(LIGHTHOUSE, tags=("coast",)).document_id
    with held_up(lambda: ingest(BAKERY, tags=("coast",))):
        merge("coast", into="sea")
    assert tags_of(first) == (["sea"], ["sea"])
    late = Document.objects.exclude(pk=first).get()
    assert tags_of(str(late.pk)) == (["coast"], ["coast"])


def test_counts_are_added_up_before_a_tag_is_deleted_or_after_it(ingest: Ingest) -> None:
    for text in (LIGHTHOUSE, BAKERY):
        ingest(text, tags=("coast",))
    with transaction.atomic():
        Tag.objects.get(name="coast").delete()
        assert on_another_connection(DocumentCount.objects.compact) == 0
    assert DocumentCount.objects.compact() > 0
    assert list(find_violations()) == []
