"""Which promise is repaired by what; the rest is named and left."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.db import DatabaseError

from corpus.errors import PkbError
from corpus.invariants import remedies
from corpus.invariants.checks import Violation
from corpus.models import Chunk, Collection, Document, Embedding


@dataclass(frozen=True, slots=True)
class Repaired:
    """What became of a violation.

    Attributes:
        done: What was done; None where it could not be repaired.
        reason: Why not.
    """

    violation: Violation
    done: str | None
    reason: str = ""


class _Remedy(NamedTuple):
    """What is done about a promise.

    Attributes:
        act: Called once for each subject of a step; returns what it did.
        subject_of: Finds by a violation's key what is to be repaired; None where that is gone.
    """

    act: Callable[[Any], str]
    subject_of: Callable[[str], Any]


def repair(found: Sequence[Violation]) -> Iterator[Repaired]:
    """Repair what can be, and say of each violation what became of it; no snapshot is open.

    Killed between two repairs, the rest is still broken, and the next run tells it.
    """
    known = [each for each in found if each.promise in REMEDIES]
    # Before the first repair, which may put other chunks in the place of those that are named.
    subjects = {each: REMEDIES[each.promise].subject_of(each.key) for each in known}
    order = list(REMEDIES)
    ended: dict[tuple[Callable[[Any], str], Any], tuple[str | None, str]] = {}
    for violation in sorted(known, key=lambda each: order.index(each.promise)):
        job = REMEDIES[violation.promise].act, subjects[violation]
        if job not in ended:
            ended[job] = _try(*job)
        yield Repaired(violation, *ended[job])
    for violation in found:
        if violation.promise not in REMEDIES:
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


# Chunks come before what hangs on them.
REMEDIES: Mapping[str, _Remedy] = {
    **dict.fromkeys(
        (
            "a completed document has no chunk",
            "ordinals of a document are not 0, 1, 2, ...",
            "the end of a document is in no chunk",
        ),
        _Remedy(remedies.cut_anew, _document),
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
        _Remedy(remedies.cut_anew, _document_of_chunk),
    ),
    **dict.fromkeys(
        (
            "chunk_count of a document is wrong",
            "char_count or word_count of a document is wrong",
        ),
        _Remedy(remedies.count_document, _document),
    ),
    **dict.fromkeys(
        (
            "a vector is in another collection than its chunk",
            "a vector has not the dimension of its collection",
            "a vector is not of length 1",
        ),
        _Remedy(remedies.embed_anew, _document_of_vector),
    ),
    **dict.fromkeys(
        (
            "a vector is of another text than its chunk's",
            "a chunk of a completed document has no vector of its collection's model",
        ),
        _Remedy(remedies.embed_anew, _document_of_chunk),
    ),
    **dict.fromkeys(
        (
            "token vectors are of another text than their chunk's",
            "token vectors have not the length of their tokens",
        ),
        _Remedy(remedies.drop_token_vectors, _itself),
    ),
    **dict.fromkeys(
        (
            "a chunk lacks a tag of its document",
            "a chunk has a tag that its document lacks",
        ),
        _Remedy(remedies.tag_anew, _document_of_chunk),
    ),
    **dict.fromkeys(
        ("the count of a word is wrong", "a word of no chunk is kept"),
        _Remedy(remedies.count_words, _collection_of_word),
    ),
    "the count of documents is wrong": _Remedy(remedies.count_documents, lambda _: ()),
    "a collection has no index for its model's vectors": _Remedy(
        remedies.index_vectors, _collection
    ),
    "a collection has no version": _Remedy(remedies.tell_version, _collection),
    "a version is of a collection that is gone": _Remedy(remedies.drop_lost_versions, _itself),
    "words are counted of a collection that is gone": _Remedy(remedies.drop_lost_words, _itself),
    "a document is pending or processing and no unfinished job has it": _Remedy(
        remedies.complete_document, _document
    ),
    "the counts of a job are not those of its items": _Remedy(remedies.count_items, _itself),
}
