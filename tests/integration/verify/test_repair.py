"""What the stored texts tell is made anew; the rest is named and left."""

from typing import Any

import pytest

from corpus.invariants import find_violations
from corpus.invariants.repair import REPAIRS, repair
from corpus.jobs.run import run_jobs_now
from corpus.models import Chunk, Document, DocumentContent, Embedding, Job
from pkb.management.commands.verify import INVARIANTS
from tests.integration.verify import alter, run_verify
from tests.integration.verify.broken import BROKEN

# What an index was made of is gone at the commit, and not within a test.
REPAIRED = REPAIRS.keys() - {"a vector has not the dimension of its collection"}


@pytest.mark.parametrize("invariant", sorted(REPAIRED))
def test_what_the_texts_tell_is_repaired(invariant: str, stored: None) -> None:
    case = BROKEN[invariant]
    alter(case if isinstance(case, str) else case[0])
    ended = list(repair(list(find_violations(INVARIANTS))))
    assert [each for each in ended if each.done is None] == []
    assert list(find_violations(INVARIANTS)) == []


def test_chunks_that_are_right_keep_their_ids_and_vectors(stored: None) -> None:
    towers = Document.objects.get(title="Towers")
    before: list[Any] = list(towers.chunks.values_list("pk", "text", "embeddings"))
    wrong = before[1][0]
    Chunk.objects.filter(pk=wrong).update(text="Altered.")
    out, code = run_verify("--repair")
    assert (f"a chunk is not the span it names: {wrong}" in out, code) == (True, 0)
    assert f"repaired: document {towers.pk} was chunked again" in out
    after: list[Any] = list(towers.chunks.values_list("pk", "text", "embeddings"))
    assert [text for _, text, _ in after] == [text for _, text, _ in before]
    assert [row[0] for row in after if row not in before] == [after[1][0]]
    # Its text was embedded before it was altered.
    assert Document.objects.get(pk=towers.pk).status == "completed"


def test_vectors_that_lack_are_brought_by_a_job(stored: None) -> None:
    Embedding.objects.filter(chunk__document__title="Towers").delete()
    assert run_verify("--repair")[1] == 0
    assert Document.objects.get(title="Towers").status == "processing"
    run_jobs_now([Job.objects.get(kind="embed")])
    assert Document.objects.get(title="Towers").status == "completed"
    assert run_verify() == ("0 violations\n", 0)


def test_a_repair_that_fails_half_way_leaves_everything_as_it_was(stored: None) -> None:
    towers = Document.objects.get(title="Towers")
    towers.chunks.filter(ordinal=1).update(text="Altered.")
    before = list(towers.chunks.values())
    # What is wrong is deleted by then, and nothing in its place.
    alter(
        "CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN RAISE 'the disk is full'; END $$;"
        "CREATE TRIGGER fail BEFORE INSERT ON corpus_chunk FOR EACH ROW EXECUTE FUNCTION fail()"
    )
    out, code = run_verify("--repair")
    assert ("left: a chunk is not the span it names" in out, code) == (True, 1)
    assert "the disk is full" in out
    assert list(towers.chunks.values()) == before


@pytest.mark.parametrize(
    "spoil", [lambda content: content.update(text="Altered."), lambda content: content.delete()]
)
def test_a_text_that_was_altered_or_lost_is_left_and_named(stored: None, spoil: Any) -> None:
    bread = Document.objects.get(title="Bread")
    spoil(DocumentContent.objects.filter(document=bread))
    before = list(bread.chunks.values())
    out, code = run_verify("--repair")
    wrong = f"left: content_sha256 of a document is wrong: {bread.pk}: It cannot be made"
    assert (wrong in out, code) == (True, 1)
    assert list(bread.chunks.values()) == before
