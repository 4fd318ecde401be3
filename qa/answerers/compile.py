"""Compile the answering program: DSPy searches for demonstrations that help this model."""

import io
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import partial
from typing import Any

import dspy

from corpus.errors import BackendError, BackendUnavailable
from qa.answerers.answer_program import AnswerProgram
from qa.answerers.lm_answerer import LMAnswerer
from qa.answerers.signature import number_passages, read_statements
from qa.types import Draft, Passage, Query


@dataclass(frozen=True, slots=True)
class Case:
    """A question with the passages found for it.

    Attributes:
        is_right: Returns whether a draft is what the program should have written.
    """

    query: Query
    passages: tuple[Passage, ...]
    is_right: Callable[[Draft], bool]


def count_right(answerer: LMAnswerer, cases: Sequence[Case]) -> int:
    """Answer the cases and count the right drafts; an unreadable reply is wrong.

    Raises:
        BackendUnavailable: The model does not respond.
        BackendError: The model failed on all of them.
    """
    right_count, failures = 0, []
    for case in cases:
        try:
            right_count += case.is_right(answerer.answer(case.query, case.passages))
        except BackendUnavailable:
            raise
        except BackendError as exc:
            failures.append(exc)
    if failures and len(failures) == len(cases):
        raise failures[0]
    return right_count


def compile_program(
    answerer: LMAnswerer, cases: Sequence[Case], *, demo_count: int
) -> AnswerProgram:
    """Return a program compiled for the answerer's model, to be saved without that model.

    All demonstrations are the model's own replies that were right at the first try.

    Args:
        demo_count: Maximum number of demonstrations; each makes every prompt longer by its
            passages.

    Raises:
        BackendError: The model was right on none of them, or cannot be loaded.
    """
    examples = [
        dspy.Example(
            question=case.query.text,
            passages=number_passages(case.passages),
            constrained=answerer.is_constrained,
            number=number,
        ).with_inputs("question", "passages", "constrained")
        for number, case in enumerate(cases)
    ]

    def metric(example: Any, prediction: Any, trace: Any = None) -> bool:
        statements = read_statements(prediction.statements, example.passages)
        is_first_try = trace is None or not prediction.mistake
        return is_first_try and cases[example.number].is_right(Draft(statements, "compiled"))

    # Labeled examples are no demonstrations: a gold answer is a few words and cites nothing.
    optimizer = dspy.BootstrapFewShot(
        metric=metric, max_bootstrapped_demos=demo_count, max_labeled_demos=0
    )
    # DSPy's output quotes passages, and server errors that may hold the key.
    dspy.disable_logging()
    try:
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            compile_plain = partial(optimizer.compile, AnswerProgram(), trainset=examples)
            compiled: AnswerProgram = answerer.run_compiler(compile_plain)
    finally:
        dspy.enable_logging()
    if not compiled.predict.demos:
        raise BackendError(f"The model was right on none of {len(cases)} questions to learn from.")
    compiled.set_lm(None)
    return compiled
