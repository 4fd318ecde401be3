"""Compile the answering program for a model on a data set, and keep it if it answers better."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any

from django.conf import settings
from django.utils import timezone

from corpus.errors import InvalidDataSet, InvalidInput
from evaluation.datasets import DataSet, GoldQuestion
from evaluation.evaluate import Report, ignore_progress
from evaluation.index import IndexedDataset, index_dataset
from evaluation.metrics import contains_gold
from qa.answerers.answer_program import AnswerProgram
from qa.answerers.compile import Case, check_optimizer, compile_program, count_right
from qa.answerers.dspy_program import LMAnswerer
from qa.answerers.program_files import StoredProgram, store_program
from qa.context import LANGUAGE_MODEL, QAContext, answerers, build_context, get_answerer
from qa.search_passages import search_passages
from qa.types import Draft, Query


@dataclass(frozen=True, slots=True)
class Compilation:
    """Options of a compilation.

    Attributes:
        train_count: Number of training questions.
        held_out_count: Number of held-out questions.
        demo_count: Maximum number of demonstrations.
        k: Passages for each training question; held-out questions get as many as an answer.
    """

    name: str
    optimizer: str
    train_count: int
    held_out_count: int
    demo_count: int
    k: int
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Compiled:
    """Result of a compilation.

    Attributes:
        plain_right: Held-out questions answered correctly before the compilation.
        compiled_right: The same after it.
        stored: None if the compiled program is worse.
    """

    plain_right: int
    compiled_right: int
    held_out_count: int
    stored: StoredProgram | None


def optimize_answerer(
    dataset: DataSet, *, compilation: Compilation, report: Report = ignore_progress
) -> Compiled:
    """Compile on some questions, judge on others, store what did not get worse.

    A draft is right if each of its statements has sources and the gold answer is among those; on
    an unanswerable question, and only there, if it is empty.

    Args:
        report: Told how far each stage is.

    Raises:
        InvalidDataSet: It has too few questions.
        InvalidInput: There is no language model, or the optimizer cannot be run.
        PkbError: A model failed or was never right, or a document cannot be taken in.
    """
    check_optimizer(compilation.optimizer, case_count=compilation.train_count)
    train, held_out = split_questions(dataset, compilation)
    answerer = _language_model()
    indexed = index_dataset(dataset, fresh=False, progress=partial(report, "documents"))
    context = build_context()
    read = partial(_as_case, indexed=indexed, context=context)
    judged = [read(question, k=settings.PKB_RETRIEVAL_K) for question in held_out]
    report("questions", len(judged), len(train) + len(judged))
    plain_right = count_right(answerer, judged)
    program = compile_program(
        answerer,
        [read(question, k=compilation.k) for question in train],
        optimizer=compilation.optimizer,
        demo_count=compilation.demo_count,
        seed=compilation.seed,
    )
    report("questions", len(train) + len(judged), len(train) + len(judged))
    compiled_right = count_right(answerer.with_program(program), judged)
    scores = {"plain": plain_right, "compiled": compiled_right, "of": len(judged)}
    stored = None
    if compiled_right >= plain_right:
        stored = store_program(
            program.dump(),
            name=compilation.name,
            provenance=_provenance(dataset, compilation, answerer, scores),
            folder=settings.PKB_PROGRAMS_DIR,
        )
    return Compiled(plain_right, compiled_right, len(judged), stored)


def split_questions(
    dataset: DataSet, compilation: Compilation
) -> tuple[list[GoldQuestion], list[GoldQuestion]]:
    """Draw the questions to learn from and, apart from them, those to judge by.

    Raises:
        InvalidDataSet: There are not so many.
    """
    needed = compilation.train_count + compilation.held_out_count
    if needed > len(dataset.questions) or not dataset.documents:
        raise InvalidDataSet(
            f"{dataset.name} has {len(dataset.questions)} questions and {len(dataset.documents)}"
            f" documents; {needed} questions are wanted, for learning and for judging."
        )
    drawn = Random(compilation.seed).sample(dataset.questions, needed)  # noqa: S311  (no secret)
    return drawn[: compilation.train_count], drawn[compilation.train_count :]


def is_right(draft: Draft, *, question: GoldQuestion, wanted: set[str]) -> bool:
    """Return whether a draft is what the program should have written.

    Args:
        wanted: Ids of the documents that hold the answer.
    """
    if not draft.statements or not question.is_answerable:
        return not draft.statements and not question.is_answerable
    if not all(statement.quotes for statement in draft.statements):
        return False
    quotes = [quote for statement in draft.statements for quote in statement.quotes]
    if question.answers:
        return bool(contains_gold(" ".join(quote.text for quote in quotes), question.answers))
    return any(quote.passage.document_id in wanted for quote in quotes)


def _language_model() -> LMAnswerer:
    """Return the configured model with the plain program."""
    found = get_answerer(LANGUAGE_MODEL) if LANGUAGE_MODEL in answerers else None
    if not isinstance(found, LMAnswerer):
        raise InvalidInput("There is no language model to compile for: set PKB_LM.")
    return found.with_program(AnswerProgram())


def _as_case(
    question: GoldQuestion, *, indexed: IndexedDataset, k: int, context: QAContext
) -> Case:
    """Find the passages that the product would answer this question from."""
    query = Query(question.text, collection=indexed.collection.qualified_name, k=k)
    found = search_passages(query, mode="hybrid", threshold=0.0, rerank=True, context=context)
    gold = set(question.doc_ids)
    wanted = {document for document, keys in indexed.ids.items() if gold & set(keys)}
    judge = partial(is_right, question=question, wanted=wanted)
    return Case(query, found.results, judge)


def _provenance(
    dataset: DataSet, compilation: Compilation, answerer: LMAnswerer, scores: Mapping[str, int]
) -> dict[str, Any]:
    return {
        "dataset": dataset.name,
        "train": compilation.train_count,
        "held_out": compilation.held_out_count,
        "train_k": compilation.k,
        "held_out_k": settings.PKB_RETRIEVAL_K,
        "seed": compilation.seed,
        "optimizer": compilation.optimizer,
        "demos": compilation.demo_count,
        "model": answerer.name,
        "created_at": timezone.now().isoformat(timespec="seconds"),
        "scores": dict(scores),
    }
