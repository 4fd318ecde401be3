"""Answer one question; the entry point for views, commands and tests."""

from collections.abc import Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any

from corpus.models import Collection
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
from qa.answer_cache import find_slot
from qa.answer_store import record_answer
from qa.concurrency import Listener, answering_slot
from qa.context import QAContext
from qa.graph_state import QAInput
from qa.intent import IntentKind
from qa.language_model import VerifiedDraft
from qa.search.display import add_page_numbers, show_units
from qa.search.hybrid import VersionPinnedRetriever
from qa.search.selected_text import SelectedText
from qa.types import Answer, AnsweredQuestion, Draft, Exchange, Query


def answer_question(
    question: str,
    *,
    collection: str,
    tags: Sequence[str] = (),
    k: int,
    context: QAContext,
    route: str = "answer",
    history: Sequence[Exchange] = (),
    selected_text: str = "",
) -> AnsweredQuestion:
    """Answer a question from one collection, store the answer and return it.

    Args:
        history: Earlier exchanges, oldest first; they complete a follow-up question.
        selected_text: A text sent with the question; it is searched first.

    Raises:
        ClientDisconnected: By the context's listener.
        CollectionNotFound: There is no collection of this name.
        BackendError: A model failed and there is no fallback.
    """
    stored = Collection.objects.get_named(collection)
    labels = metric_labels(model=stored.embedding_model, route=route)
    inputs: QAInput = {
        "question": " ".join(question.split()), "history": tuple(history),
        "collection": collection, "tags": tuple(tags), "k": k,
    }  # fmt: skip
    with (
        answering_slot(),
        measured(answer_requests, answer_latency_ms, model=stored.embedding_model, route=route),
        span(Step.ANSWER),
    ):
        started = perf_counter()
        slot = None if selected_text.strip() else find_slot(inputs, stored, context)
        cached = slot.get() if slot else None
        if slot:
            answer_cache.add(1, {**labels, "found": cached is not None})
        if cached is not None:
            return _store(_replay_cached(cached, context.listener, started), question, stored)
        made, is_cacheable = _compute_answer(inputs, context, selected_text)
        answered = _store(made, question, stored)
        if slot and is_cacheable:
            slot.set(answered)
    if made.draft is not None and made.draft.prompt_tokens:
        prompt_tokens.record(made.draft.prompt_tokens, labels)
        completion_tokens.record(made.draft.completion_tokens, labels)
    return answered


def _store(answered: AnsweredQuestion, question: str, collection: Collection) -> AnsweredQuestion:
    """Store the answer under the question exactly as it was asked."""
    answer = replace(answered.answer, question=question)
    stored_id = record_answer(
        answer,
        collection=collection,
        steps=list(answered.steps),
        draft=answered.draft,
        passages=answered.passages,
    )
    return replace(answered, id=stored_id, answer=answer)


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
    inputs: QAInput, context: QAContext, selected_text: str
) -> tuple[AnsweredQuestion, bool]:
    """Compute an answer, and whether it may be cached: no model failed on the way."""
    state, steps = run_graph(inputs, context, selected_text)
    query: Query = state["query"]
    answer: Answer = state["answer"]
    lacks_phrasings = context.expansion_count > 0 and not query.phrasings
    drafted: VerifiedDraft | None = None if state["intent"].parts else state.get("verified_draft")
    draft = drafted and drafted.written
    answered = AnsweredQuestion(
        id="",
        answer=add_page_numbers(
            replace(answer, closest=show_units(answer.closest, cited=answer.citations))
        ),
        searched=query.text,
        passages=tuple(state.get("passages", ())),
        steps=tuple(steps),
        draft=draft,
    )
    went_wrong = answered.answer.fallback or (draft and draft.note)
    return answered, not (went_wrong or lacks_phrasings)


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
        return _run(inputs, context)
    # Without phrasings: a text this short is read completely.
    selected = replace(context, retriever=SelectedText(selected_text), expansion_count=0)
    state, steps = _run(inputs, selected)
    steps = [{**step, "name": f"selected.{step['name']}"} for step in steps]
    answer: Answer = state["answer"]
    if not answer.abstained or state["intent"].kind is IntentKind.OVERVIEW:
        return state, steps
    whole, further = _run(inputs, context)
    # A selection that may answer beats documents that do not.
    is_nearer = answer.kind == "unsure" and whole["answer"].kind == "abstained"
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
            if value.phrasings:
                summary["phrasings"] = list(value.phrasings)
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
        elif isinstance(value, Draft):
            cited = [q.passage.chunk_id for each in value.statements for q in each.quotes]
            summary |= {
                "answerer": value.answerer,
                "cited": list(dict.fromkeys(cited)),
                "note": value.note,
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
