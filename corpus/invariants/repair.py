"""Repair violated invariants as far as possible."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.db import DatabaseError

from corpus.errors import PkbError
from corpus.invariants import repair_actions
from corpus.invariants.document_checks import Violation
from corpus.models import Chunk, Collection, Document, Embedding


@dataclass(frozen=True, slots=True)
class Repaired:
    """The result of a repair.

    Attributes:
        done: What was done; None if the violation could not be repaired.
        reason: Why not.
    """

    violation: Violation
    done: str | None
    reason: str = ""


class _Repair(NamedTuple):
    """The repair of an invariant.

    Attributes:
        act: Called once for each subject; returns what it did.
        subject_of: Returns what to repair for a violation's key; None if it does not exist.
    """

    act: Callable[[Any], str]
    subject_of: Callable[[str], Any]


def repair(found: Sequence[Violation]) -> Iterator[Repaired]:
    """Repair violations and yield the result of each; call it outside of a snapshot.

    After an interruption, the next run finds the rest.
    """
    known = [each for each in found if each.invariant in REPAIRS]
    # Before the first repair, which may replace the chunks of other violations.
    subjects = {each: REPAIRS[each.invariant].subject_of(each.key) for each in known}
    order = list(REPAIRS)
    ended: dict[tuple[Callable[[Any], str], Any], tuple[str | None, str]] = {}
    for violation in sorted(known, key=lambda each: order.index(each.invariant)):
        job = REPAIRS[violation.invariant].act, subjects[violation]
        if job not in ended:
            ended[job] = _try(*job)
        yield Repaired(violation, *ended[job])
    for violation in found:
        if violation.invariant not in REPAIRS:
            yield Repaired(violation, None, "It cannot be made from the stored texts.")


def _try(act: Callable[[Any], str], subject: Any) -> tuple[str | None, str]:
    if subject is None:
        return "it is gone", ""
    try:
        return act(subject), ""
    except PkbError as exc:
        return None, str(exc) or exc.title
    except DatabaseError as exc:
        return None, str(exc)


def _document(key: str) -> Any:
    return Document.objects.filter(pk=key).values_list("pk", flat=True).first()


def _document_of_chunk(key: str) -> Any:
    return Chunk.objects.filter(pk=key).values_list("document", flat=True).first()


def _document_of_vector(key: str) -> Any:
    rows = Embedding.objects.filter(pk=key)
    return rows.values_list("chunk__document", flat=True).first()


def _collection_of_word(key: str) -> int:
    return int(key.split(" ", 1)[0])


def _collection(key: str) -> Any:
    return Collection.objects.filter(pk=key).values_list("pk", flat=True).first()


def _itself(key: str) -> str:
    return key


# In this order: chunks before the rows that depend on them.
REPAIRS: Mapping[str, _Repair] = {
    **dict.fromkeys(
        (
            "a completed document has no chunk",
            "ordinals of a document are not 0, 1, 2, ...",
            "the end of a document is in no chunk",
        ),
        _Repair(repair_actions.rechunk_document, _document),
    ),
    **dict.fromkeys(
        (
            "a chunk is in another collection than its document",
            "the language of a chunk is not its collection's",
            "a chunk is not the span it names",
            "a chunk stands before the one it comes after",
            "text before a chunk is in no chunk",
            "chunk_sha256 of a chunk is wrong",
            "ngrams of a chunk are wrong",
        ),
        _Repair(repair_actions.rechunk_document, _document_of_chunk),
    ),
    **dict.fromkeys(
        (
            "chunk_count of a document is wrong",
            "char_count or word_count of a document is wrong",
        ),
        _Repair(repair_actions.count_document, _document),
    ),
    **dict.fromkeys(
        (
            "a vector is in another collection than its chunk",
            "a vector has not the dimension of its collection",
            "a vector is not of length 1",
        ),
        _Repair(repair_actions.reembed_document, _document_of_vector),
    ),
    **dict.fromkeys(
        (
            "a vector is of another text than its chunk's",
            "a chunk of a completed document has no vector of its collection's model",
        ),
        _Repair(repair_actions.reembed_document, _document_of_chunk),
    ),
    **dict.fromkeys(
        (
            "token vectors are of another text than their chunk's",
            "token vectors have not the length of their tokens",
        ),
        _Repair(repair_actions.drop_token_vectors, _itself),
    ),
    **dict.fromkeys(
        (
            "a chunk lacks a tag of its document",
            "a chunk has a tag that its document lacks",
        ),
        _Repair(repair_actions.retag_document, _document_of_chunk),
    ),
    **dict.fromkeys(
        ("the count of a word is wrong", "a word of no chunk is kept"),
        _Repair(repair_actions.count_words, _collection_of_word),
    ),
    "the count of documents is wrong": _Repair(repair_actions.count_documents, lambda _: ()),
    "a collection has no index for its model's vectors": _Repair(
        repair_actions.index_vectors, _collection
    ),
    "a collection has no version": _Repair(repair_actions.create_version, _collection),
    "a version is of a collection that is gone": _Repair(
        repair_actions.drop_lost_versions, _itself
    ),
    "words are counted of a collection that is gone": _Repair(
        repair_actions.drop_lost_words, _itself
    ),
    "a document is pending or processing and no unfinished job has it": _Repair(
        repair_actions.complete_document, _document
    ),
    "the counts of a job are not those of its items": _Repair(repair_actions.count_items, _itself),
}
