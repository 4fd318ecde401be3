"""Run a data set's queries and questions, and record the results."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from corpus.models import Collection, DocumentContent
from evaluation.datasets import GoldQuery, GoldQuestion, Turn
from evaluation.metrics import NDCG_DEPTH, contains_gold, exact_match, judge_ranking, token_f1
from evaluation.results import FailureStage, Observation, Progress
from qa.answer_question import answer_question
from qa.context import QAContext
from qa.language_model import rewrite_question
from qa.search_passages import FoundPassages, search_passages
from qa.sessions import trim_history
from qa.types import AnsweredQuestion, Citation, Exchange, Query

# Passages of a ranking, the maximum of /search: several may be of one document.
SEARCH_DEPTH = 50
# Minimum share of shared words of a right answer without a gold answer's exact words: long gold
# answers get paraphrased.
RIGHT_FROM_F1 = 0.5

Ids = Mapping[str, Sequence[str]]
"""The data set's ids of a document, by the document's own id."""


def run_queries(
    queries: Sequence[GoldQuery],
    *,
    collection: Collection,
    ids: Ids,
    k: int,
    context: QAContext,
    progress: Progress,
) -> dict[str, Observation]:
    """Search each query, and judge the ranking of documents.

    Raises:
        BackendError: A model failed.
    """
    observed: dict[str, Observation] = {}
    for count, query in enumerate(queries, start=1):
        search, ranking = find_documents(query, collection=collection, ids=ids, context=context)
        # Of the passages of relevant documents that have the answer.
        ranks = (
            rank
            for rank, passage in enumerate(search.results[:NDCG_DEPTH], start=1)
            if any(key in query.relevant for key in ids.get(passage.document_id, ()))
            and contains_gold(passage.text, query.answers)
        )
        observed[query.id] = {
            "asked": 1.0,
            **judge_ranking(ranking, query.relevant, k=k),
            "with_gold": float(bool(query.answers)),
            "passage_rr": max((1 / rank for rank in ranks), default=0.0),
            "embed_ms": round(search.embedding_time_ms, 2),
            "search_ms": round(search.search_time_ms, 2),
        }
        progress(count, len(queries))
    return observed


def find_documents(
    query: GoldQuery, *, collection: Collection, ids: Ids, context: QAContext
) -> tuple[FoundPassages, list[str]]:
    """Search a query; return the passages, and the ids of their documents, each once.

    Raises:
        BackendError: A model failed.
    """
    found = search_passages(
        Query(query.text, collection=collection.qualified_name, k=SEARCH_DEPTH), context=context
    )
    keys = (key for passage in found.results for key in ids.get(passage.document_id, ()))
    return found, list(dict.fromkeys(keys))


def ask(
    question: str,
    *,
    collection: Collection,
    k: int,
    context: QAContext,
    history: Sequence[Exchange] = (),
) -> AnsweredQuestion:
    """Answer a question without storing the answer.

    Raises:
        BackendError: A model failed.
    """
    return answer_question(
        question,
        collection=collection.qualified_name,
        k=k,
        context=context,
        route="evaluate",
        history=history,
        is_stored=False,
    )


def run_questions(
    questions: Sequence[GoldQuestion],
    *,
    collection: Collection,
    ids: Ids,
    k: int,
    context: QAContext,
    progress: Progress,
) -> dict[str, Observation]:
    """Ask each question; judge the answer, its citations and its confidence.

    Raises:
        BackendError: A model failed.
    """
    observed: dict[str, Observation] = {}
    for count, question in enumerate(questions, start=1):
        history = recall_turns(question.history, context=context)
        answered = ask(question.text, collection=collection, k=k, context=context, history=history)
        observed[question.id] = judge_answer(question, answered, ids=ids)
        progress(count, len(questions))
    return observed


def recall_turns(turns: Sequence[Turn], *, context: QAContext) -> tuple[Exchange, ...]:
    """Return a conversation as a chat stores it: the last turns, follow-ups completed.

    The answers come from the data set.
    """
    history: list[Exchange] = []
    for turn in turns:
        question = " ".join(turn.question.split())
        searched = rewrite_question(question, trim_history(history), rewriter=context.rewriter)
        history.append(Exchange(question, searched, turn.answer))
    return tuple(trim_history(history))


def judge_answer(question: GoldQuestion, answered: AnsweredQuestion, *, ids: Ids) -> Observation:
    answer = answered.answer
    is_answered = not answer.abstained
    gold = question.answers if question.is_answerable else ()
    draft = "" if answered.draft is None else answered.draft.text
    wanted = set(question.doc_ids) if question.is_answerable else set()
    cited_gold = sum(
        bool(wanted & set(ids.get(c.passage.document_id, ()))) for c in answer.citations
    )
    is_right = _says(answer.text, gold) if gold else cited_gold > 0
    lost = find_failure_stage(answered, gold) if gold and not is_right else None
    short = answer.text[slice(*answer.short)] if answer.short else ""
    passages = [citation.passage for citation in answer.citations]
    passages += [close.passage for close in answer.closest]
    return {
        "asked": 1.0,
        "answerable": float(question.is_answerable),
        "unanswerable": float(not question.is_answerable),
        "answered": float(is_answered),
        "refused": float(not is_answered),
        "drafted": float(is_answered or bool(draft)),
        "draft_right": float(is_right if is_answered else _says(draft, gold)),
        "unsure": float(answer.kind == "unsure"),
        "shown": float(any(contains_gold(passage.text, gold) for passage in passages)),
        "short_given": float(bool(gold and short)),
        "short_em": exact_match(short, gold),
        "short_f1": token_f1(short, gold),
        "refused_rightly": float(not is_answered and not question.is_answerable),
        "refused_answerable": float(not is_answered and question.is_answerable),
        "with_gold": float(bool(gold)),
        "given_with_gold": float(is_answered and bool(gold)),
        "em": exact_match(answer.text, gold),
        "f1": token_f1(answer.text, gold),
        "contains": contains_gold(answer.text, gold),
        "right": float(is_right),
        "words": float(len(answer.text.split())),
        **{f"lost_{loss}": float(loss == lost) for loss in FailureStage},
        "confidence": answer.confidence,
        "estimate": answered.estimate or 0.0,
        "with_doc": float(bool(wanted)),
        "cites_gold": float(cited_gold > 0),
        "cited": float(len(answer.citations) if wanted else 0),
        "cited_gold": float(cited_gold),
        "quoted": float(len(answer.citations)),
        "altered": float(count_altered(answer.citations)),
        **{f"{step['name']}_ms": step["ms"] for step in answered.steps},
        "total_ms": round(sum(step["ms"] for step in answered.steps), 2),
    }


def _says(text: str, gold: Sequence[str]) -> bool:
    """Return whether a text contains one of the answers; False without answers."""
    return bool(contains_gold(text, gold)) or token_f1(text, gold) >= RIGHT_FROM_F1


def find_failure_stage(answered: AnsweredQuestion, gold: Sequence[str]) -> FailureStage:
    """Return the stage at which an answer without a gold answer lost it."""
    draft, passages = answered.draft, answered.passages
    quotes = [q for each in draft.statements for q in each.quotes] if draft is not None else []
    drafted = " ".join([draft.text if draft else "", *(quote.text for quote in quotes)])
    if contains_gold(drafted, gold):
        return FailureStage.REFUSED if answered.answer.abstained else FailureStage.NOT_PROVED
    if any(contains_gold(quote.passage.text, gold) for quote in quotes):
        return FailureStage.OTHER_SENTENCE
    is_retrieved = any(contains_gold(passage.text, gold) for passage in passages)
    return FailureStage.OTHER_PASSAGE if is_retrieved else FailureStage.NOT_FOUND


def count_altered(citations: Sequence[Citation]) -> int:
    """Return how many quotes differ from their span in the document."""
    cited = {UUID(citation.passage.document_id) for citation in citations}
    rows = DocumentContent.objects.filter(pk__in=cited)
    values = rows.values_list("pk", "document__content_sha256", "text")
    texts = {(str(key), content_sha256): text for key, content_sha256, text in values}
    count = 0
    for citation in citations:
        text = texts.get((citation.passage.document_id, citation.passage.content_sha256))
        span = slice(citation.start_char, citation.end_char)
        count += text is None or text[span] != citation.quote
    return count
