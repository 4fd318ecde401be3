"""Answer one question, and store the answer; the entry point for views, commands and tests."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from time import perf_counter
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Model

from accounts.audit import record_event
from corpus.access.principal import current_user_id
from corpus.errors import DocumentNotFound, GridNotFound
from corpus.models import ALL_COLLECTIONS, Chunk, Collection, Document
from corpus.telemetry import (
    Step,
    answer_cache,
    answer_latency_ms,
    answer_requests,
    completion_tokens,
    measured,
    metric_labels,
    prompt_tokens,
    span,
)
from corpus.webhooks import WebhookEvent, tell
from qa import models
from qa.answer_cache import find_slot
from qa.concurrency import Listener, answering_slot
from qa.configuration_hash import configuration_sha256
from qa.context import EXTRACTIVE, QAContext
from qa.grounding.citations import CitationVerifier
from qa.grounding.subjects import read_names
from qa.intent import (
    IntentKind,
    is_brief,
    is_follow_up,
    parse_count_query,
    recast_follow_up,
)
from qa.language_model import VerifiedDraft
from qa.learned_confidence import with_learned
from qa.models import ERASED_ANSWER, ERASED_CITATION, NO_QUESTIONS
from qa.search.display import add_page_numbers, show_units
from qa.search.hybrid import VersionPinnedRetriever
from qa.search.selected_text import SelectedText
from qa.search.spelling import Correction, correct_spelling
from qa.types import (
    Answer,
    AnsweredQuestion,
    Citation,
    ClosePassage,
    Draft,
    Exchange,
    Passage,
    QAInput,
    Query,
)


def find_asked(
    collection: str, document_id: UUID | None
) -> tuple[list[Collection], Document | None]:
    """Return the collections that are asked, and the only document if there is one.

    Raises:
        CollectionNotFound: There is no collection of this name.
        DocumentNotFound: The principal sees no document of this id with a text.
    """
    if document_id is None:
        return Collection.objects.get_asked(collection), None
    rows = Document.objects.select_related("collection__owner").stored()
    document = rows.filter(pk=document_id).first()
    if document is None:
        raise DocumentNotFound(f"There is no document {document_id} with a text.")
    return [document.collection], document


def answer_question(
    question: str,
    *,
    collection: str,
    tags: Sequence[str] = (),
    document_id: UUID | None = None,
    k: int,
    context: QAContext,
    route: str = "answer",
    history: Sequence[Exchange] = (),
    selected_text: str = "",
    grid: models.Grid | None = None,
    is_stored: bool = True,
) -> AnsweredQuestion:
    """Answer a question from one collection or all, store the answer and return it.

    Args:
        collection: A name, or ``*`` for all that the principal may read.
        document_id: The only document to answer from; its collection is asked then.
        history: Earlier exchanges, oldest first; they complete a follow-up question.
        selected_text: A text sent with the question; it is searched first.
        grid: Store the answer as its cell for the question and the document.
        is_stored: Without it nobody asked: nothing is stored or logged, and the id is empty.

    Raises:
        ClientDisconnected: By the context's listener.
        CollectionNotFound, DocumentNotFound: As ``find_asked``.
        BackendError: A model failed and there is no fallback.
    """
    asked, document = find_asked(collection, document_id)
    if document is not None:
        collection = asked[0].qualified_name
    stored, is_of_all = asked[0], collection == ALL_COLLECTIONS
    shipped = context.verifier
    # What is learned is a collection's own.
    context = context if is_of_all else with_learned(context, stored)
    labels = metric_labels(model=stored.embedding_model, route=route)
    with (
        answering_slot(),
        measured(answer_requests, answer_latency_ms, model=stored.embedding_model, route=route),
        span(Step.ANSWER),
    ):
        started = perf_counter()
        searched = " ".join(question.split())
        corrections: tuple[Correction, ...] = ()
        # The words of a selected text may be in no document; a phrase is counted as it is written.
        if not selected_text.strip() and not parse_count_query(searched):
            searched, corrections = correct_spelling(searched, asked)
        corrected_ms = round((perf_counter() - started) * 1000, 2)
        inputs: QAInput = {
            "question": searched, "history": tuple(history),
            "collection": collection, "tags": tuple(tags), "k": k,
        }  # fmt: skip
        if document is not None:
            inputs["document"] = document.content_sha256
        is_cached = is_stored and not selected_text.strip() and grid is None
        slot = find_slot(inputs, asked, context) if is_cached else None
        cached = slot.get() if slot else None
        if slot:
            answer_cache.add(1, {**labels, "found": cached is not None})
        if cached is None:
            made, is_cacheable = _compute_answer(inputs, context, selected_text, shipped)
        else:
            made, is_cacheable = _replay_cached(cached, context.listener, started), False
        if corrections:
            shown = [correction._asdict() for correction in corrections]
            step = {"name": "spelling", "ms": corrected_ms, "corrections": shown}
            made = replace(made, steps=(step, *made.steps))
        # The question exactly as it was asked.
        made = replace(made, is_of_all=is_of_all, answer=replace(made.answer, question=question))
        if is_stored:
            made = replace(
                made,
                id=record_answer(made, collection=stored, tags=tags, document=document, grid=grid),
            )
        if slot and is_cacheable:
            slot.set(made)
    if made.draft is not None and made.draft.prompt_tokens:
        prompt_tokens.record(made.draft.prompt_tokens, labels)
        completion_tokens.record(made.draft.completion_tokens, labels)
    return made


@transaction.atomic
def record_answer(
    answered: AnsweredQuestion,
    *,
    collection: Collection,
    tags: Sequence[str] = (),
    document: Document | None = None,
    grid: models.Grid | None = None,
) -> str:
    """Store the answer and return its id.

    If a cited document was deleted meanwhile, the answer is stored as erased.

    Args:
        answered: Its draft is stored if a language model wrote it.
        collection: Was asked, alone or as the first of all.
        tags: The question was limited to; ``document`` likewise.
        grid: The answer replaces the cell of an earlier version of the document.

    Raises:
        GridNotFound, DocumentNotFound: The cell has lost its grid or document meanwhile.
    """
    answer = answered.answer
    quoted = [citation.passage for citation in answer.citations]
    cited = {passage.document_id for passage in quoted if not passage.is_selected}
    chunks = {passage.chunk_id for passage in quoted if not passage.is_selected}
    draft = draft_to_json(answered.draft, answer)
    read = {each.document_id for each in answered.passages if draft and each.document_id}
    # Locked until the commit: a deletion sees the answer, or the answer sees the deletion.
    only = {str(document.pk)} if document else set()
    here = Document.objects.lock_for_key_share(cited | read | only)
    chunks_here = Chunk.objects.lock_for_key_share(chunks)
    short_start, short_end = answer.short or (None, None)
    row = models.Answer(
        collection=None if answered.is_of_all else collection,
        asked_tags=list(tags),
        question=answer.question,
        text=answer.text,
        kind=answer.kind,
        intent=answer.intent,
        short_start=short_start,
        short_end=short_end,
        confidence=answer.confidence,
        estimate=answered.estimate,
        answerer=answer.answerer,
        fallback=answer.fallback,
        embedding_model=collection.embedding_model,
        configuration_sha256=configuration_sha256(collection.embedding_model),
        steps=list(answered.steps),
        closest=[_span_to_json(close) for close in answer.closest if not close.passage.is_selected],
        disagreement=[_span_to_json(other) for other in answer.disagreement],
        unanswered=list(answer.unanswered),
        not_about=list(answer.not_about),
    )
    if document is not None and only <= here:
        row.asked_document, row.asked_sha256 = document, document.content_sha256
    if grid is not None:
        _take_place_in_grid(row, grid)
    if draft and read <= here:
        row.draft = {**draft, "documents": sorted(read)}
        quoted += answered.passages
    row.quoted_collections = sorted({p.collection_id for p in quoted if p.collection_id})
    if cited - here:
        _overwrite(row, ERASED_ANSWER)
    row.save(force_insert=True)
    rows = [_new_citation(row, *numbered) for numbered in enumerate(answer.citations)]
    for citation in rows:
        if not citation.is_selected and str(citation.document_id) not in here:
            _overwrite(citation, {**ERASED_CITATION, "document": None})
        if str(citation.chunk_id) not in chunks_here:
            citation.chunk_id = None
    models.Citation.objects.bulk_create(rows)
    if row.disagreement and grid is None:
        tell(WebhookEvent.ANSWER_DISAGREEMENT, [row])
    if current_user_id() is not None and grid is None:
        text = answer.question if settings.PKB_AUDIT_QUESTIONS else ""
        record_event("ask", subject=row.pk, text=text)
    return str(row.pk)


def _take_place_in_grid(row: models.Answer, grid: models.Grid) -> None:
    # One cell at a time, also if two jobs fill the grid.
    if not models.Grid.objects.select_for_update(no_key=True).filter(pk=grid.pk).exists():
        raise GridNotFound(f"There is no grid {grid.pk}.")
    if row.asked_document is None or row.collection_id != grid.collection_id:
        raise DocumentNotFound("The document of the cell was deleted or moved.")
    row.grid, row.made_by, row.made_with = grid, None, None
    cell = {"asked_document": row.asked_document, "question": row.question}
    models.Answer.objects.filter(grid=grid, **cell).delete()


def _span_to_json(close: ClosePassage) -> dict[str, Any]:
    return {
        "document_id": close.passage.document_id,
        "content_sha256": close.passage.content_sha256,
        "start_char": close.start_char,
        "end_char": close.end_char,
        "unit": [close.unit_start, close.unit_end] if close.unit_text else None,
        "score": close.score,
    }


def draft_to_json(draft: Draft | None, answer: Answer) -> dict[str, Any] | None:
    """Return a language model's draft and its outcome as it is stored, else None."""
    if draft is None or draft.answerer == EXTRACTIVE:
        return None
    return {
        "answerer": draft.answerer,
        "text": draft.text,
        "verdict": draft.verdict,
        "note": draft.note,
        "prompt_tokens": draft.prompt_tokens,
        "completion_tokens": draft.completion_tokens,
        "statements": [asdict(statement) for statement in answer.statements],
    }


def _new_citation(row: models.Answer, ordinal: int, citation: Citation) -> models.Citation:
    passage = citation.passage
    return models.Citation(
        answer=row,
        ordinal=ordinal,
        document_id=passage.document_id or None,
        chunk_id=passage.chunk_id or None,
        content_sha256=passage.content_sha256,
        title=passage.title,
        source_uri=passage.source_uri,
        heading_path=list(passage.heading_path),
        **citation.page_range._asdict(),
        document_date=passage.document_date,
        quote=citation.quote,
        is_selected=passage.is_selected,
        start_char=citation.start_char,
        end_char=citation.end_char,
        context_start=citation.context[0],
        context_end=citation.context[1],
        answer_start=citation.answer_start,
        answer_end=citation.answer_end,
        score=citation.score,
        support=citation.support,
    )


def _overwrite(row: Model, fields: Mapping[str, Any]) -> None:
    for name, value in fields.items():
        setattr(row, name, value)


def _replay_cached(
    cached: AnsweredQuestion, listener: Listener, started: float
) -> AnsweredQuestion:
    """Send a cached answer to the listener; no model is called."""
    listener.raise_if_cancelled()
    for text, citation in cached.answer.pieces:
        listener.on_text(text, citation)
    draft = cached.draft and replace(cached.draft, prompt_tokens=0, completion_tokens=0)
    elapsed_ms = round((perf_counter() - started) * 1000, 2)
    step = {"name": "cache", "ms": elapsed_ms, "answer_id": cached.id}
    return replace(cached, steps=(step,), draft=draft)


def _compute_answer(
    inputs: QAInput, context: QAContext, selected_text: str, shipped: CitationVerifier
) -> tuple[AnsweredQuestion, bool]:
    """Compute an answer, and whether it may be cached: no model failed on the way.

    Args:
        shipped: Rates the extract, if there is one, as before the collection learned anything.
    """
    state, steps = run_graph(inputs, context, selected_text)
    query: Query = state["query"]
    answer: Answer = state["answer"]
    drafted: VerifiedDraft | None = None if state["intent"].parts else state.get("verified_draft")
    draft = drafted and drafted.written
    passages: tuple[Passage, ...] = tuple(state.get("passages", ()))
    estimate = None
    if drafted and drafted.draft.answerer == EXTRACTIVE and drafted.draft.statements:
        is_stored = not any(passage.is_selected for passage in passages)
        estimate = shipped.estimate_extract(drafted.draft, passages) if is_stored else None
    answered = AnsweredQuestion(
        id="",
        answer=add_page_numbers(
            replace(answer, closest=show_units(answer.closest, cited=answer.citations))
        ),
        searched=query.text,
        passages=passages,
        steps=tuple(steps),
        draft=draft,
        estimate=estimate,
    )
    went_wrong = answered.answer.fallback or (draft and draft.note)
    return answered, not went_wrong


GraphRun = tuple[dict[str, Any], list[dict[str, Any]]]
"""The graph's final state, and a summary of each node."""

# The node that follows each node if an answer is found.
_NEXT = {"parse": "retrieve", "retrieve": "rerank", "read": "answer", "answer": "cite"}
# Nodes that run once for a question of several parts.
_WHOLE_QUESTION = {"parse", "join"}


def run_graph(inputs: QAInput, context: QAContext, selected_text: str) -> GraphRun:
    """Answer from the selected text; else from the collection.

    A summary of "this" uses the selected text only, however little it says.
    """
    if not selected_text.strip():
        return _run_in_conversation(inputs, context)
    selected = replace(context, retriever=SelectedText(selected_text))
    state, steps = _run(inputs, selected)
    steps = [{**step, "name": f"selected.{step['name']}"} for step in steps]
    answer: Answer = state["answer"]
    if not answer.abstained or state["intent"].kind is IntentKind.OVERVIEW:
        return state, steps
    whole, further = _run(inputs, context)
    # A selection that may answer beats documents that do not.
    is_nearer = answer.kind == "unsure" and whole["answer"].kind == "abstained"
    return state if is_nearer else whole, steps + further


def _run_in_conversation(inputs: QAInput, context: QAContext) -> GraphRun:
    """Answer a follow-up from the documents that were quoted last, else from the collection.

    A language model is told the conversation instead.
    """
    history = inputs["history"]
    versions = next((past.versions for past in reversed(history) if past.versions), ())
    if document := inputs.get("document"):
        versions = tuple(each for each in versions if each == document)
    is_told = context.uses_language_model or context.rewriter is not None
    question = inputs["question"]
    refers_back = is_follow_up(question) or (is_brief(question) and not read_names(question))
    if is_told or not versions or not refers_back:
        return _run(inputs, context)
    state, steps = _run({**inputs, "versions": versions}, context)
    if not state["answer"].abstained or state["intent"].kind in NO_QUESTIONS:
        return state, steps
    if recast := recast_follow_up(question, history):
        same, again = _run({**inputs, "versions": versions, "recast": recast}, context)
        steps += again
        if not same["answer"].abstained:
            return same, steps
    whole, further = _run(inputs, context)
    steps = [{**step, "name": f"quoted.{step['name']}"} for step in steps]
    # What may answer there is nearer than what does not elsewhere.
    is_nearer = state["answer"].kind == "unsure" and whole["answer"].abstained
    return state if is_nearer else whole, steps + further


def _run(inputs: QAInput, context: QAContext) -> GraphRun:
    from qa.graph import build_graph  # noqa: PLC0415  (LangGraph takes a second to import)

    # Use one version of each document throughout, also for several parts.
    context = replace(context, retriever=VersionPinnedRetriever(context.retriever))
    state: dict[str, Any] = {}
    steps = []
    part = 1
    started = perf_counter()
    context.listener.raise_if_cancelled()
    for update in build_graph().stream(inputs, context=context, stream_mode="updates"):
        now = perf_counter()
        for node, written in update.items():
            state |= written
            elapsed_ms = round((now - started) * 1000, 2)
            is_of_part = state["intent"].parts and node not in _WHOLE_QUESTION
            name = f"part{part}.{node}" if is_of_part else node
            steps.append({"name": name, "ms": elapsed_ms, **_summary(written)})
            part += node == "next_part"
            if node in _NEXT:
                context.listener.on_step(_NEXT[node])
        context.listener.raise_if_cancelled()
        started = now
    return state, steps


def _summary(written: dict[str, Any]) -> dict[str, Any]:
    """Return what a node did, without any text of documents."""
    summary: dict[str, Any] = {}
    for value in written.values():
        if isinstance(value, Query):
            summary["searched"] = value.text
        elif isinstance(value, list):
            summary["passages"] = [
                {
                    "chunk_id": p.chunk_id,
                    "score": round(p.score, 4),
                    "relevance": p.relevance,
                    "reading": p.reading and round(p.reading.score, 3),
                }
                for p in value
            ]
        elif isinstance(value, VerifiedDraft):
            draft = value.draft
            cited = [q.passage.chunk_id for each in draft.statements for q in each.quotes]
            summary |= {
                "answerer": draft.answerer,
                "cited": list(dict.fromkeys(cited)),
                "note": draft.note,
            }
        elif isinstance(value, Answer):
            summary |= {
                "kind": value.kind,
                "answerer": value.answerer,
                "fallback": value.fallback,
                "citations": len(value.citations),
                "confidence": value.confidence,
            }
    return summary
