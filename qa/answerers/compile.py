"""Compile the answering program: DSPy searches for demonstrations or rules that help this model."""

import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from typing import Any

import dspy

from corpus.errors import BackendError, BackendUnavailable
from qa.answerers.answer_program import AnswerProgram
from qa.answerers.lm_answerer import LMAnswerer
from qa.answerers.signature import number_passages, read_statements
from qa.types import Draft, Passage, Query

BOOTSTRAP, MIPRO = OPTIMIZERS = ("bootstrap", "mipro")


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
    answerer: LMAnswerer, cases: Sequence[Case], *, optimizer: str, demo_count: int, seed: int
) -> AnswerProgram:
    """Return a program compiled for the answerer's model, to be saved without that model.

    All demonstrations are the model's own replies that were right at the first try.

    Args:
        optimizer: ``bootstrap`` (demonstrations) or ``mipro`` (rules as well; many more calls).
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

    def run() -> Any:
        # Labeled examples are no demonstrations: a gold answer is a few words and cites nothing.
        demos = {"max_bootstrapped_demos": demo_count, "max_labeled_demos": 0}
        if optimizer == MIPRO:
            chosen = dspy.MIPROv2(metric=metric, auto="light", num_threads=1, seed=seed, **demos)
        else:
            chosen = dspy.BootstrapFewShot(metric=metric, **demos)
        return chosen.compile(AnswerProgram(), trainset=examples)

    with _quiet():
        compiled: AnswerProgram = answerer.run_compiler(run)
    # Only MIPROv2 returns a score: its rules may help without demonstrations.
    if not (compiled.predict.demos or getattr(compiled, "score", 0)):
        raise BackendError(f"The model was right on none of {len(cases)} questions to learn from.")
    compiled.set_lm(None)
    return compiled


@contextmanager
def _quiet() -> Iterator[None]:
    """Suppress DSPy's output: it quotes passages and server errors that may hold the key."""
    dspy.disable_logging()
    try:
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            yield
    finally:
        dspy.enable_logging()
