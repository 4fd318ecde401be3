"""The question-answering graph: nodes, edges, and nothing else.

    parse -> retrieve -> rerank -> read -> answer -> cite -> end
     |        ^  |  |      |        |        |        |
     |        |  |  |      +-> calculate ----|--------+    with cells of a table
     |        |  |  +-> summarize   |        |        +-> next_part -> join -> end
     |        |  |                  |        |             |   a question of several parts
     |        +--|------------------|--------|-------------+
     |           |                  +-> list_documents       the documents that mention something
     +-----------+-> abstain                                 nothing asked or found
     +-> shorten                                             the last answer, on request
     +-> count -> end, or retrieve                           mentions of a phrase; there may be none

The graph is a line: LangGraph runs a step of one node on the caller's thread, and so on the
caller's database connection. Do not fan out, and stream "updates" only.
"""

from dataclasses import replace
from functools import cache, partial
from typing import Any, Literal, NamedTuple, NotRequired, cast

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from corpus.filters import Comparison
from corpus.telemetry import Step, span
from qa.concurrency import Listener
from qa.context import EXTRACTIVE, QAContext
from qa.counts import COUNT, answer_count
from qa.grounding.citations import cite as cite_quote
from qa.grounding.outline import summarize_outline
from qa.grounding.parts import join_answers
from qa.grounding.subjects import find_other_subjects
from qa.grounding.support.words import speaks_of
from qa.intent import (
    Intent,
    IntentKind,
    classify,
    classify_request,
    complete_within_documents,
    is_about_new_subject,
    is_greeting,
    parse_count_query,
)
from qa.language_model import VerifiedDraft, draft_and_verify, rewrite_question
from qa.readers import headings_of, read_passages
from qa.search.document_search import (
    choose_mentions,
    find_by_name,
    mentions,
    point_to,
    read_openings,
    read_sections,
)
from qa.search.hybrid import VersionPinnedRetriever
from qa.table_answers import (
    TABLE,
    Calculation,
    asked_extreme,
    find_calculation,
    mark_named_cells,
    write_answer,
)
from qa.types import Answer, Draft, Passage, QAInput, Query
from qa.whole_tables import compare_rows


class AnsweredPart(NamedTuple):
    query: Query
    passages: tuple[Passage, ...]
    answer: Answer


class QAState(QAInput):
    """The state of the graph; the nodes that write each key are named beside it."""

    intent: Intent  # parse
    query: Query  # parse, next_part
    candidates: list[Passage]  # retrieve, where something is asked
    passages: list[Passage]  # rerank, then read
    calculation: NotRequired[Calculation | None]  # rerank
    verified_draft: NotRequired[VerifiedDraft]  # answer
    answered_parts: NotRequired[tuple[AnsweredPart, ...]]  # next_part
    answer: NotRequired[Answer]  # cite, list_documents, count, summarize, abstain, join


Update = dict[str, Any]

# Intents whose passages are listed, without a claim.
DOCUMENT_LISTS = {IntentKind.MENTIONS, IntentKind.COUNT}


def parse(state: QAState, runtime: Runtime[QAContext]) -> Update:
    """Complete a follow-up, classify the question, and build the query."""
    context = runtime.context
    with span(Step.PARSE):
        question = " ".join(state["question"].split())
        only = tuple(filter(None, [state.get("document")]))
        bare = Query(question, state["collection"], filters=_one_of(only))
        if is_greeting(question):  # no model is asked to rewrite it
            return {"intent": classify(question), "query": bare}
        # A language model may do what is asked of the last answer.
        request = classify_request(question)
        if request and state["history"] and not context.uses_language_model:
            return {"intent": Intent(request, question), "query": bare}
        if counted := parse_count_query(question):  # a phrase is counted as it is written
            query = replace(bare, text=counted.text, tags=state["tags"], k=state["k"])
            return {"intent": counted, "query": query}
        history, versions = state["history"], state.get("versions", ())
        rewrite = partial(rewrite_question, question, history, rewriter=context.rewriter)
        if versions:
            rewrite = partial(complete_within_documents, question, history)
        if recast := state.get("recast"):
            rewrite = partial(str, recast)
        intent = classify(context.run_cancellable(rewrite))
        if context.uses_language_model:  # it answers all parts at once, from several passages
            intent = replace(intent, parts=())
        query = Query(
            intent.text,
            collection=state["collection"],
            tags=state["tags"],
            k=state["k"],
            filters=_one_of(versions or only),
            wants_list=intent.wants_list,
        )
        if intent.kind is IntentKind.PARTS and intent.parts:
            query = _query_of_part(query, intent.parts[0])
    return {"intent": intent, "query": query}


def _one_of(versions: tuple[str, ...]) -> Comparison | None:
    """Return the filter that keeps these document versions; None if there are none."""
    key = "content_sha256"
    return Comparison("in", key, key, versions) if versions else None


def _query_of_part(query: Query, part: str) -> Query:
    return replace(query, text=part, wants_list=classify(part).wants_list)


def count(state: QAState, runtime: Runtime[QAContext]) -> Update:
    """Count mentions or amounts; where there is nothing to count, search.

    Without a mention, documents that may be about it are listed. A question for amounts of what
    names no document is one as any other.
    """
    intent, query = state["intent"], state["query"]
    counted = answer_count(query, intent)
    if counted is None and intent.amount:
        query = replace(query, text=state["question"], wants_list=intent.wants_list)
        return {"intent": replace(intent, kind=IntentKind.QUESTION), "query": query}
    if counted is None:
        kind = IntentKind.MENTIONS if intent.wants_list else IntentKind.COUNT
        return {"intent": replace(intent, kind=kind)}
    _send(counted, runtime)
    return {"answer": _signed(counted, state, answerer=COUNT)}


def retrieve(state: QAState, runtime: Runtime[QAContext]) -> Update:
    context, query = runtime.context, state["query"]
    limit = max(query.k, context.rerank_count)
    return {"candidates": context.retrieve(query, limit=limit).passages}


def rerank(state: QAState, runtime: Runtime[QAContext]) -> Update:
    """Order the candidates, and find what the question asks to be calculated from their tables."""
    context, query, kind = runtime.context, state["query"], state["intent"].kind
    with span(Step.RERANK, passages=len(state["candidates"])):
        if kind in DOCUMENT_LISTS:
            limit = max(query.k, context.rerank_count)
            best = context.rerank(query.text, state["candidates"], limit=limit)
            return {"passages": choose_mentions(best, query.text), "calculation": None}
        passages = context.rerank(query.text, state["candidates"], limit=query.k)
    # Of a question of several parts, the quotes are joined.
    is_whole = kind is not IntentKind.PARTS
    calculation = None
    if is_whole:
        calculation = find_calculation(query.text, passages)
        if calculation is None and asked_extreme(query.text):
            calculation = compare_rows(query.text, passages)
    return {"passages": passages, "calculation": calculation}


def calculate(state: QAState, runtime: Runtime[QAContext]) -> Update:
    """Answer with the result of the calculation, and a citation for each cell."""
    made = write_answer(cast("Calculation", state["calculation"]))
    quoted = [citation.passage for citation in made.citations]
    others = find_other_subjects(state["query"].text, quoted, state["candidates"])
    if not state["intent"].parts:
        _send(made, runtime)
    return {"answer": _signed(replace(made, not_about=others), state, answerer=TABLE)}


def read(state: QAState, runtime: Runtime[QAContext]) -> Update:
    """Find in each of the best passages whether it answers, and where."""
    context, query = runtime.context, state["query"]
    # Where several things are asked for, a list of headings may name them.
    headings = () if query.wants_list else headings_of(state["candidates"])
    passages = read_passages(
        query.text, state["passages"], reader=context.reader, headings=headings
    )
    passages = mark_named_cells(query.text, passages)
    return {"passages": context.verifier.compare_statements(query.text, passages)}


def answer(state: QAState, runtime: Runtime[QAContext]) -> Update:
    """Draft an answer; a language model's draft is verified while it is being written."""
    with span(Step.ANSWER_DSPY, passages=len(state["passages"])):
        drafted = draft_and_verify(state["query"], state["passages"], runtime.context)
    return {"verified_draft": drafted}


def cite(state: QAState, runtime: Runtime[QAContext]) -> Update:
    """Verify the draft; if nothing of it holds, show the most relevant passages."""
    context, query, passages = runtime.context, state["query"], state["passages"]
    drafted = state["verified_draft"]
    draft, verified = drafted.draft, drafted.verified
    with span(Step.CITE):
        if draft.answerer == EXTRACTIVE and not _misses_subject(state, draft):
            # Parts of a question are sent together, by ``join``.
            listener = Listener() if state["intent"].parts else context.listener
            verified = context.verifier.verify_extract(
                draft, passages, query=query, on_text=listener.on_text
            )
        if verified is None:
            verified = context.verifier.abstain(query.text, passages, first=drafted.cited)
    fallback = draft.note if draft.is_fallback else ""
    quoted = [citation.passage for citation in verified.citations]
    verified = replace(
        verified,
        fallback=fallback,
        statements=drafted.statements,
        not_about=find_other_subjects(query.text, quoted, state["candidates"]),
    )
    return {"answer": _signed(verified, state, answerer=draft.answerer)}


def _misses_subject(state: QAState, draft: Draft) -> bool:
    """Return whether a follow-up about another subject gets the last answer, or one like it."""
    text = "\n\n".join(each.text for each in draft.statements)
    is_like_last = "recast" in state or (state["history"] and text == state["history"][-1].answer)
    return bool(is_like_last) and not is_about_new_subject(state["question"], text)


def list_documents(state: QAState, runtime: Runtime[QAContext]) -> Update:
    """List the documents that mention a topic, without claiming anything."""
    passages, topic = state["passages"], state["query"].text
    abstention = runtime.context.verifier.abstain(topic, passages)
    # A literal mention is worth showing, however unsure the reader is. If mentions were counted, it
    # is sure that there are none.
    is_unsure = abstention.is_unsure or mentions(passages[0], topic)
    is_unsure = is_unsure and state["intent"].kind is IntentKind.MENTIONS
    closest = tuple(point_to(close, topic) for close in abstention.closest)
    return {"answer": _signed(replace(abstention, closest=closest, is_unsure=is_unsure), state)}


def summarize(state: QAState, runtime: Runtime[QAContext]) -> Update:
    """Quote the outline of the named document, or the beginnings of all."""
    intent, query, candidates = state["intent"], state["query"], state["candidates"]
    if intent.kind is IntentKind.OVERVIEW:
        sections = read_openings(query, candidates)
    else:
        sections = read_sections(find_by_name(intent.names[0], candidates))
    if not sections and intent.kind is IntentKind.SUMMARY:
        # It may have been replaced meanwhile: search again.
        if isinstance(runtime.context.retriever, VersionPinnedRetriever):
            runtime.context.retriever.forget_versions()
        candidates = retrieve(state, runtime)["candidates"]
        sections = read_sections(find_by_name(intent.names[0], candidates))
    summary = summarize_outline(
        query.text, sections, answerer=EXTRACTIVE, on_text=runtime.context.listener.on_text
    )
    return {"answer": _signed(summary, state)}


def shorten(state: QAState, runtime: Runtime[QAContext]) -> Update:
    """Quote only the few words, or the first sentence, of the last answer."""
    last = state["history"][-1]
    if last.short is None or last.short.text == last.answer:
        return {"answer": _signed(Answer("", "", confidence=0.0), state, answerer="")}
    text = last.short.text
    citation = cite_quote(last.short, 0, len(text))
    runtime.context.listener.on_text(text, citation)
    return {"answer": _signed(Answer("", text, citation.score, (citation,)), state)}


def abstain(state: QAState, runtime: Runtime[QAContext]) -> Update:
    """Return an empty answer: nothing was asked or found."""
    return {"answer": _signed(Answer("", "", confidence=0.0), state, answerer="")}


def next_part(state: QAState) -> Update:
    """Store the answer to one part, and continue with the next."""
    done = AnsweredPart(state["query"], tuple(state.get("passages", ())), state["answer"])
    answered = (*state.get("answered_parts", ()), done)
    parts = _queries_of(state["intent"])
    if len(answered) == len(parts):
        return {"answered_parts": answered}
    return {
        "answered_parts": answered,
        "query": _query_of_part(state["query"], parts[len(answered)]),
        "candidates": [],
        "passages": [],
    }


def join(state: QAState, runtime: Runtime[QAContext]) -> Update:
    """Join the answers to all parts, and send the text."""
    intent, answered = state["intent"], state["answered_parts"]
    asked = intent.parts
    if intent.kind is IntentKind.COMPARISON:
        whole, *sides = answered
        answered = (whole,) if _covers(intent, whole.answer) else tuple(sides)
        asked = intent.names  # nobody asked the questions about them
    if len(answered) == 1:
        joined = answered[0].answer
    else:
        parts = [
            replace(each.answer, question=part) for each, part in zip(answered, asked, strict=True)
        ]
        joined = join_answers(state["question"], parts)
    _send(joined, runtime)
    queries = [each.query.text for each in answered]
    return {
        "answer": _signed(joined, state, answerer=joined.answerer),
        "query": replace(state["query"], text=" ".join(queries)),
        "passages": [passage for each in answered for passage in each.passages],
    }


def _queries_of(intent: Intent) -> tuple[str, ...]:
    """Return the questions to answer one by one; for a comparison, the whole comes first."""
    is_comparison = intent.kind is IntentKind.COMPARISON
    return (intent.text, *intent.parts) if is_comparison else intent.parts


def _covers(intent: Intent, whole: Answer) -> bool:
    return bool(whole.text) and all(speaks_of(whole.text, name) for name in intent.names)


def _send(made: Answer, runtime: Runtime[QAContext]) -> None:
    for text, citation in made.pieces:
        runtime.context.listener.on_text(text, citation)


def _signed(made: Answer, state: QAState, *, answerer: str = EXTRACTIVE) -> Answer:
    kind = state["intent"].kind
    return replace(made, question=state["question"], answerer=answerer, intent=kind)


def asks_something(state: QAState) -> Literal["retrieve", "count", "shorten", "abstain"]:
    kind = state["intent"].kind
    if kind in {IntentKind.COUNT, IntentKind.AMOUNTS}:
        return "count"
    if kind is IntentKind.SHORTER:
        return "shorten"
    return "abstain" if kind in {IntentKind.GREETING, IntentKind.REWORDING} else "retrieve"


def has_candidates(state: QAState) -> Literal["rerank", "summarize", "abstain"]:
    intent, candidates = state["intent"], state["candidates"]
    if not candidates:
        return "abstain"
    is_named = intent.kind is IntentKind.SUMMARY and find_by_name(intent.names[0], candidates)
    return "summarize" if is_named or intent.kind is IntentKind.OVERVIEW else "rerank"


def is_calculable(state: QAState) -> Literal["calculate", "read"]:
    return "calculate" if state["calculation"] else "read"


def lists_documents(state: QAState) -> Literal["list_documents", "answer"]:
    return "list_documents" if state["intent"].kind in DOCUMENT_LISTS else "answer"


def is_counted(state: QAState) -> Literal["retrieve", "__end__"]:
    return "__end__" if "answer" in state else "retrieve"


def has_parts(state: QAState) -> Literal["next_part", "__end__"]:
    return "next_part" if state["intent"].parts else "__end__"


def has_next_part(state: QAState) -> Literal["retrieve", "join"]:
    intent, answered = state["intent"], state["answered_parts"]
    if intent.kind is IntentKind.COMPARISON and _covers(intent, answered[0].answer):
        return "join"
    return "join" if len(answered) == len(_queries_of(intent)) else "retrieve"


@cache
def build_graph() -> CompiledStateGraph[QAState, QAContext, QAInput, QAState]:
    graph = StateGraph(QAState, context_schema=QAContext, input_schema=QAInput)
    nodes = (
        parse, count, retrieve, rerank, calculate, read, list_documents, summarize, shorten, answer,
        cite, abstain, next_part, join,
    )  # fmt: skip
    for node in nodes:
        graph.add_node(node.__name__, node)
    graph.add_edge(START, "parse")
    graph.add_conditional_edges("parse", asks_something)
    graph.add_conditional_edges("count", is_counted)
    graph.add_conditional_edges("retrieve", has_candidates)
    graph.add_conditional_edges("rerank", is_calculable)
    graph.add_conditional_edges("calculate", has_parts)
    graph.add_conditional_edges("read", lists_documents)
    graph.add_edge("answer", "cite")
    graph.add_conditional_edges("cite", has_parts)
    graph.add_conditional_edges("abstain", has_parts)
    graph.add_conditional_edges("next_part", has_next_part)
    for last in ("list_documents", "summarize", "shorten", "join"):
        graph.add_edge(last, END)
    return graph.compile()
