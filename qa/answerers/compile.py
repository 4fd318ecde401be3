"""Compile the answering program: DSPy searches for demonstrations or rules that help this model."""

import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from typing import Any

import dspy

from corpus.errors import BackendError, BackendUnavailable, InvalidInput
from corpus.packages import check_packages
from qa.answerers.answer_program import AnswerProgram
from qa.answerers.dspy_program import LMAnswerer
from qa.answerers.signature import number_passages, read_statements
from qa.types import Draft, Passage, Query

BOOTSTRAP, MIPRO = "bootstrap", "mipro"
OPTIMIZERS = (BOOTSTRAP, MIPRO)
# MIPROv2 needs one example to learn from and one to validate.
MIPRO_LEAST = 2


@dataclass(frozen=True, slots=True)
class Case:
    """A question with the passages found for it.

    Attributes:
        is_right: Returns whether a draft is what the program should have written.
    """

    query: Query
    passages: tuple[Passage, ...]
    is_right: Callable[[Draft], bool]


def check_optimizer(optimizer: str, *, case_count: int) -> None:
    """Check that the optimizer can run.

    Raises:
        InvalidInput: It needs more cases.
        ImproperlyConfigured: A package it needs is missing.
    """
    if optimizer != MIPRO:
        return
    check_packages("optuna")
    if case_count < MIPRO_LEAST:
        raise InvalidInput(f"mipro needs at least {MIPRO_LEAST} questions to learn from.")


def count_right(answerer: LMAnswerer, cases: Sequence[Case]) -> int:
    """Answer the cases and count the right drafts; an unreadable reply is wrong.

    Raises:
        BackendUnavailable: The model does not respond.
        BackendError: The model failed on all of them.
    """
    right_count, failures = 0, []
    for case in cases:
        try:
            if case.is_right(answerer.answer(case.query, case.passages)):
                right_count += 1
        except BackendUnavailable:
            raise
        except BackendError as exc:
            failures.append(exc)
    if failures and len(failures) == len(cases):
        raise failures[0]
    return right_count


def compile_program(
    answerer: LMAnswerer,
    cases: Sequence[Case],
    *,
    optimizer: str = BOOTSTRAP,
    demo_count: int,
    seed: int = 0,
) -> AnswerProgram:
    """Return a program compiled for the answerer's model.

    All demonstrations are the model's own replies that were right at the first try.

    Args:
        optimizer: ``bootstrap`` (demonstrations) or ``mipro`` (rules as well; many more calls).
        demo_count: Most demonstrations; each makes every prompt longer by its passages.

    Raises:
        BackendError: The model was right on none of them, or cannot be loaded.
    """
    judged = [_judged(case) for case in cases]
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
        is_first_try = trace is None or not prediction.mistake
        return is_first_try and judged[example.number](prediction)

    def run() -> Any:
        chosen = _OPTIMIZERS[optimizer](metric, demo_count, seed)
        return chosen.compile(AnswerProgram(), trainset=examples)

    with _quiet():
        compiled: AnswerProgram = answerer.run_compiler(run)
    # Only MIPROv2 returns a score: its rules may help without demonstrations.
    if not (compiled.predict.demos or getattr(compiled, "score", 0)):
        raise BackendError(f"The model was right on none of {len(cases)} questions to learn from.")
    return compiled


def _judged(case: Case) -> Callable[[Any], bool]:
    given = number_passages(case.passages)

    def judge(prediction: Any) -> bool:
        statements = read_statements(prediction.statements, given)
        return case.is_right(Draft(statements, answerer="compiled"))

    return judge


def _bootstrap(metric: Callable[..., bool], demo_count: int, seed: int) -> Any:
    # Labeled examples are no demonstrations: a gold answer is a few words and cites nothing.
    return dspy.BootstrapFewShot(
        metric=metric, max_bootstrapped_demos=demo_count, max_labeled_demos=0
    )


def _mipro(metric: Callable[..., bool], demo_count: int, seed: int) -> Any:
    return dspy.MIPROv2(
        metric=metric,
        auto="light",
        max_bootstrapped_demos=demo_count,
        max_labeled_demos=0,
        num_threads=1,
        seed=seed,
    )


_OPTIMIZERS: dict[str, Callable[[Callable[..., bool], int, int], Any]] = {
    BOOTSTRAP: _bootstrap,
    MIPRO: _mipro,
}


@contextmanager
def _quiet() -> Iterator[None]:
    """Suppress DSPy's output: it quotes passages and server errors that may hold the key."""
    dspy.disable_logging()
    try:
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            yield
    finally:
        dspy.enable_logging()
