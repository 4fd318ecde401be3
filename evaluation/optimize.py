"""Compile the answering program for a model on a data set, and save it if it answers better."""

from dataclasses import dataclass
from functools import partial
from random import Random

from django.conf import settings

from corpus.errors import InvalidDataSet, InvalidInput
from evaluation.datasets import DataSet, GoldQuestion
from evaluation.evaluate import Report
from evaluation.index import IndexedDataset, index_dataset
from evaluation.metrics import contains_gold
from qa.answerers.answer_program import AnswerProgram
from qa.answerers.compile import Case, compile_program, count_right
from qa.answerers.lm_answerer import LMAnswerer
from qa.context import LANGUAGE_MODEL, QAContext, answerers, build_context, get_answerer
from qa.search_passages import search_passages
from qa.types import Draft, Query

# Passages for each question to learn from: each makes every prompt longer.
TRAIN_K = 4


@dataclass(frozen=True, slots=True)
class Optimization:
    """Result of a compilation.

    Attributes:
        plain_right: Held-out questions answered correctly before the compilation.
        compiled_right: The same after it.
    """

    plain_right: int
    compiled_right: int

    @property
    def is_saved(self) -> bool:
        return self.compiled_right >= self.plain_right


def optimize_answerer(
    dataset: DataSet,
    *,
    name: str,
    train_count: int,
    held_out_count: int,
    demo_count: int,
    seed: int,
    report: Report,
) -> Optimization:
    """Compile on some questions, judge on others, save what did not get worse.

    Args:
        name: Of the file in ``PKB_PROGRAMS_DIR``; an earlier one is replaced.
        demo_count: Maximum number of demonstrations.
        report: Told how far each stage is.

    Raises:
        InvalidDataSet: It has too few questions.
        InvalidInput: There is no language model.
        PkbError: A model failed or was never right, or a document cannot be taken in.
    """
    needed = train_count + held_out_count
    if needed > len(dataset.questions) or not dataset.documents:
        raise InvalidDataSet(
            f"{dataset.name} has {len(dataset.questions)} questions and {len(dataset.documents)}"
            f" documents; {needed} questions are wanted, for learning and for judging."
        )
    drawn = Random(seed).sample(dataset.questions, needed)  # noqa: S311  (no secret)
    configured = get_answerer(LANGUAGE_MODEL) if LANGUAGE_MODEL in answerers else None
    if not isinstance(configured, LMAnswerer):
        raise InvalidInput("There is no language model to compile for: set PKB_LM.")
    answerer = configured.with_program(AnswerProgram())
    indexed = index_dataset(dataset, fresh=False, progress=partial(report, "documents"))
    as_case = partial(_as_case, indexed=indexed, context=build_context())
    held_out = [as_case(each, k=settings.PKB_RETRIEVAL_K) for each in drawn[train_count:]]
    report("questions", held_out_count, needed)
    plain_right = count_right(answerer, held_out)
    program = compile_program(
        answerer,
        [as_case(question, k=TRAIN_K) for question in drawn[:train_count]],
        demo_count=demo_count,
    )
    report("questions", needed, needed)
    compiled_right = count_right(answerer.with_program(program), held_out)
    optimization = Optimization(plain_right, compiled_right)
    if optimization.is_saved:
        # It holds passages: nobody else may read it.
        settings.PKB_PROGRAMS_DIR.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = settings.PKB_PROGRAMS_DIR / f"{name}.json"
        path.touch(mode=0o600)
        program.save(path)
    return optimization


def is_right(draft: Draft, *, question: GoldQuestion, gold_ids: set[str]) -> bool:
    """Return whether a draft is what the program should have written.

    Each of its statements has sources and the gold answer is among those; on an unanswerable
    question, and only there, it is empty.

    Args:
        gold_ids: Ids of the documents that contain the answer.
    """
    if not draft.statements or not question.is_answerable:
        return not draft.statements and not question.is_answerable
    if not all(statement.quotes for statement in draft.statements):
        return False
    quotes = [quote for statement in draft.statements for quote in statement.quotes]
    if question.answers:
        return bool(contains_gold(" ".join(quote.text for quote in quotes), question.answers))
    return any(quote.passage.document_id in gold_ids for quote in quotes)


def _as_case(
    question: GoldQuestion, *, indexed: IndexedDataset, k: int, context: QAContext
) -> Case:
    """Find the passages that the product would answer this question from."""
    query = Query(question.text, collection=indexed.collection.qualified_name, k=k)
    search = search_passages(query, context=context)
    gold = set(question.doc_ids)
    gold_ids = {document for document, keys in indexed.ids.items() if gold & set(keys)}
    return Case(query, search.results, partial(is_right, question=question, gold_ids=gold_ids))
