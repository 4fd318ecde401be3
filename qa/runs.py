"""Run a question through the graph, and note what each node did."""

from dataclasses import replace
from time import perf_counter
from typing import Any

from qa.context import QAContext
from qa.intent import IntentKind
from qa.search.hybrid import SteadyVersions
from qa.search.selected_text import SelectedText
from qa.state import QAInput
from qa.types import Answer, Draft, Query

Run = tuple[dict[str, Any], list[dict[str, Any]]]
"""All keys of the graph's state, and what each node did."""

# What comes after a node where an answer is found; what ends sooner ends at once.
_NEXT = {"parse": "retrieve", "retrieve": "rerank", "read": "answer", "answer": "cite"}
# Nodes that are of the whole question, where it has several parts.
_WHOLE = {"parse", "join"}


def run_graph(inputs: QAInput, context: QAContext, selected_text: str) -> Run:
    """Answer from the selected text; from the collection if there is none, or it has no answer.

    Not for a summary of "this": the selected text is what is meant, however little it says.
    """
    if not selected_text.strip():
        return _run(inputs, context)
    # Without phrasings: a text this short is read whole.
    selected = replace(context, retriever=SelectedText(selected_text), expansion_count=0)
    state, steps = _run(inputs, selected)
    steps = [{**step, "name": f"selected.{step['name']}"} for step in steps]
    answer: Answer = state["answer"]
    if not answer.abstained or state["intent"].kind is IntentKind.OVERVIEW:
        return state, steps
    whole, further = _run(inputs, context)
    # A selection that may answer is nearer than documents that do not.
    is_nearer = answer.kind == "unsure" and whole["answer"].kind == "abstained"
    return state if is_nearer else whole, steps + further


def _run(inputs: QAInput, context: QAContext) -> Run:
    from qa.graph import build_graph  # noqa: PLC0415  (LangGraph takes a second to import)

    # One version of each document throughout, also where several questions are asked of it.
    context = replace(context, retriever=SteadyVersions(context.retriever))
    state: dict[str, Any] = {}
    steps = []
    part = 1
    started = perf_counter()
    context.listener.check()
    for update in build_graph().stream(inputs, context=context, stream_mode="updates"):
        now = perf_counter()
        for node, written in update.items():
            state |= written
            elapsed_ms = round((now - started) * 1000, 2)
            is_of_part = state["intent"].parts and node not in _WHOLE
            name = f"part{part}.{node}" if is_of_part else node
            steps.append({"name": name, "ms": elapsed_ms, **_summary(written)})
            part += node == "next_part"
            if node in _NEXT:
                context.listener.begin(_NEXT[node])
        context.listener.check()
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
