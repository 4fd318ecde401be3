"""Propose questions about a collection's documents, and accept or reject them."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from random import Random
from uuid import UUID

from django.db.models import F, Q, QuerySet
from django.db.models.functions import StrIndex
from django.utils import timezone

from corpus.ingestion.normal_form import Outline
from corpus.models import Collection, Document
from evaluation.datasets import DataSet, GoldQuestion, queries_of
from evaluation.models import Question
from evaluation.question_rules import Proposal, propose_from_rules
from qa import models
from qa.context import LANGUAGE_MODEL, get_answerer
from qa.models import Feedback
from qa.search.display import DocumentSpan, read_slices
from qa.segments import sentences_around

# Fixed order of documents across runs.
SEED = 20_260_101

Propose = Callable[[Document], Iterable[Proposal]]


def propose_by_rules(document: Document) -> list[Proposal]:
    """Return questions from a document's definitions and headings."""
    content = document.content
    return propose_from_rules(content.text, headings=Outline.from_json(content.outline).headings)


def propose_by_lm(document: Document) -> Iterator[Proposal]:
    """Yield questions that a document answers; the model is called for each chunk in turn.

    Raises:
        BackendError: The model failed.
    """
    from qa.answerers.question_programs import write_question  # noqa: PLC0415  (dspy is slow)

    answerer = get_answerer(LANGUAGE_MODEL)
    for chunk in document.chunks.order_by("ordinal").defer("lexemes"):
        written = write_question(chunk.text, answerer=answerer)
        if written is None:
            continue
        span = written.start, written.end
        start, end = sentences_around(chunk.text, *span) or span
        answer = chunk.text[slice(*span)]
        offset = chunk.start_char
        yield Proposal(written.text, (answer,), start + offset, end + offset)


def propose_questions(
    collection: Collection, *, count: int, propose: Propose = propose_by_rules
) -> list[Question]:
    """Store up to ``count`` new proposed questions, spread over the documents.

    An existing question, in any state, is not proposed again.

    Raises:
        BackendError: The language model failed; earlier questions stay.
    """
    there = Question.objects.filter(collection=collection)
    known = {text.lower() for text in there.values_list("text", flat=True)}
    new = (
        Question.objects.create(
            collection_id=document.collection_id,
            document=document,
            text=proposal.text,
            answers=list(proposal.answers),
            quote=document.content.text[proposal.start_char : proposal.end_char],
            start_char=proposal.start_char,
            end_char=proposal.end_char,
            content_sha256=document.content_sha256,
            origin=Question.Origin.GENERATED,
        )
        for document, proposal in draw_proposals(collection, propose=propose)
        if proposal.text.lower() not in known
    )
    return list(islice(new, count))


def draw_proposals(
    collection: Collection, *, propose: Propose
) -> Iterator[tuple[Document, Proposal]]:
    """Yield different questions, of one document after the other in turn, always in one order.

    Raises:
        BackendError: The language model failed.
    """
    documents = collection.documents.stored().order_by("created_at", "pk")
    keys = list(documents.values_list("pk", flat=True))
    Random(SEED).shuffle(keys)  # noqa: S311  (no secret)
    waiting = deque(_propose_for(key, propose) for key in keys)
    known = set()
    while waiting:
        proposals = waiting.popleft()
        following = next(proposals, None)
        if following is None:
            continue
        waiting.append(proposals)
        text = following[1].text.lower()
        if text not in known:
            known.add(text)
            yield following


def _propose_for(key: UUID, propose: Propose) -> Iterator[tuple[Document, Proposal]]:
    """Yield the proposals of one document, which is read when the first is asked for."""
    for document in Document.objects.stored().select_related("content").filter(pk=key):
        for proposal in propose(document):
            yield document, proposal


def decide_questions(questions: QuerySet[Question], *, state: Question.State) -> int:
    """Accept or reject questions; return how many."""
    return questions.update(state=state, decided_at=timezone.now())


def adopt_feedback(collection: Collection) -> int:
    """Create questions from answers that users liked and reviewers accepted; return how many.

    The marked passage is the gold answer, else the first quote. For a disliked answer the right one
    is unknown.
    """
    liked = Feedback.objects.filter(
        answer__collection=collection, rating="up", review=Feedback.Review.ACCEPTED
    )
    marked = list(liked.filter(document__isnull=False).select_related("answer"))
    places = [_span_of(each) for each in marked]
    questions = []
    for at, text in read_slices(places).items():  # of passages that are unchanged
        answer, (document_id, _, first, last) = marked[at].answer, places[at]
        # The highlighted words of a passage that was shown in full.
        likeliest = [
            text[close["start_char"] - first : close["end_char"] - first]
            for close in answer.closest
            if close["document_id"] == document_id and close.get("unit") == [first, last]
        ]
        answers = [*likeliest, text]
        questions.append(_adopted(answer, collection, places[at], answers=answers, quote=text))
    cited = models.Citation.objects.filter(
        answer__feedback__in=liked.filter(start_char=None), ordinal=0, document__isnull=False
    )
    questions += [
        _adopted(each.answer, collection, _span_of(each), answers=[each.quote], quote=each.quote)
        for each in cited.select_related("answer")
    ]
    before = Question.objects.filter(collection=collection).count()
    Question.objects.bulk_create(questions, ignore_conflicts=True)
    return Question.objects.filter(collection=collection).count() - before


def _span_of(span: Feedback | models.Citation) -> DocumentSpan:
    return str(span.document_id), span.content_sha256, span.start_char or 0, span.end_char or 0


def _adopted(
    answer: models.Answer,
    collection: Collection,
    place: DocumentSpan,
    *,
    answers: list[str],
    quote: str,
) -> Question:
    document_id, content_sha256, start_char, end_char = place
    return Question(
        collection=collection,
        document_id=UUID(document_id),
        text=answer.question,
        answers=answers,
        quote=quote,
        start_char=start_char,
        end_char=end_char,
        content_sha256=content_sha256,
        origin=Question.Origin.FEEDBACK,
        state=Question.State.ACCEPTED,
        decided_at=timezone.now(),
    )


def read_accepted(collection: Collection) -> tuple[DataSet, int]:
    """Return a collection's accepted questions as a data set, and the number outdated.

    Accepted feedback becomes questions first. Questions whose quote is no longer in the document
    are omitted.
    """
    adopt_feedback(collection)
    accepted = Question.objects.filter(collection=collection, state=Question.State.ACCEPTED)
    place = StrIndex("document__content__text", F("quote"))
    current = accepted.annotate(place=place).filter(Q(document=None) | Q(place__gt=0))
    questions = tuple(
        GoldQuestion(
            str(each.pk),
            each.text,
            answers=tuple(each.answers) if each.is_answerable else (),
            doc_ids=(str(each.document_id),) if each.is_answerable else (),
            is_answerable=each.is_answerable,
        )
        for each in current.order_by("created_at", "pk")
    )
    name = f"collection-{collection.name}"
    dataset = DataSet(name, queries=queries_of(questions), questions=questions)
    return dataset, accepted.count() - len(questions)
