"""Answer with a language model, through a DSPy program that can be compiled."""

import sys
import time
from collections.abc import Callable, Sequence
from copy import copy
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import dspy

from corpus.errors import BackendError, BackendUnavailable
from qa.answerers.answer_program import VERDICTS, AnswerAdapter, AnswerProgram, check_statements
from qa.answerers.circuit_breaker import CircuitBreaker
from qa.answerers.lm_settings import check_remote, find_program
from qa.answerers.question_programs import rewrite_follow_up
from qa.answerers.remote_engine import OnText, RemoteEngine
from qa.answerers.signature import (
    NumberedPassages,
    number_passages,
    read_statements,
    read_unfinished,
    read_verdict,
)
from qa.concurrency import cancellation
from qa.grounding.drafts import Checked, Claim
from qa.types import Draft, Exchange, OnDraft, Passage, Query, ignore_draft

Result = TypeVar("Result")

# With fewer, the neighbors of the first passages would leave no room for the others.
NEIGHBORS_FROM_TOKENS = 4_000
# OpenAI's reasoning models spend tokens on thinking first; DSPy refuses them less than this.
REASONING_MAX_TOKENS = 16_000
# DSPy would keep the last 10,000 prompts and predictions of the process in memory.
_PRIVATE: dict[str, Any] = {"trace": None, "disable_history": True}

# The first match applies; subclasses come before their parents.
_REASONS: tuple[tuple[type[Exception], str], ...] = (
    (dspy.LMTimeoutError, "did not answer in time"),
    (dspy.LMRateLimitError, "takes no more requests for now"),
    (dspy.LMServerError, "failed on its side"),
    (dspy.LMTransportError, "could not be reached, or broke off"),
    (dspy.LMAuthError, "refused the key"),
    (dspy.LMBillingError, "asks for payment"),
    (dspy.ContextWindowExceededError, "cannot take a prompt this long"),
    (dspy.LMUnsupportedModelError, "is not known to its server"),
    (dspy.LMInvalidRequestError, "refused the request"),
    (dspy.LMConfigurationError, "cannot be loaded"),
    (dspy.LMProviderError, "sent a reply that cannot be read"),
    (dspy.AdapterParseError, "gave an output that cannot be read"),
    (RecursionError, "gave an output that cannot be read"),
)


class LMAnswerer:
    """An answerer backed by a language model behind a server; safe to share."""

    is_loaded = True

    def __init__(
        self,
        model: str,
        *,
        api_base: str = "",
        api_key: str = "",
        timeout_s: float = 60,
        pause_s: float = 120,
        max_tokens: int = 400,
        program: str = "",
        programs: Path = Path("programs"),
        passage_tokens: int = 7_000,
    ) -> None:
        """Configure the model without calling it.

        Args:
            model: ``openai/NAME`` (any server with that protocol) or ``ollama_chat/NAME``.
            api_base: The server's root URL; by default that of OpenAI or of a local Ollama.
            api_key: For the server.
            timeout_s: For the whole answer, retries included.
            pause_s: How long the circuit breaker stays open after failures; 0 disables it.
            max_tokens: Of one reply.
            program: A compiled program: ``NAME`` or ``/PATH/FILE.json``.
            programs: The folder of named programs.
            passage_tokens: Approximate tokens of passages given to the model.

        Raises:
            ImproperlyConfigured: No such program or kind of model; or no key.
        """
        check_remote(model, api_base=api_base, api_key=api_key)
        self.name = model
        self._engine = RemoteEngine(model, api_base=api_base, api_key=api_key)
        self._program = AnswerProgram(find_program(program, folder=programs) if program else None)
        self._timeout_s = timeout_s
        self._circuit = CircuitBreaker(pause_s)  # the same for all keys and programs
        self._max_tokens = max_tokens
        self.reads_neighbors = passage_tokens >= NEIGHBORS_FROM_TOKENS
        self._passage_tokens = passage_tokens
        # As far as is known, the model's server takes a schema, and streams.
        self.is_constrained = self._is_streamed = True

    def load(self) -> None:
        """Do nothing: the server has the model."""

    def answer(
        self, query: Query, passages: Sequence[Passage], *, on_draft: OnDraft = ignore_draft
    ) -> Draft:
        """Write statements that cite segments of the passages; none means a refusal.

        Args:
            on_draft: Called with the finished statements while the reply is being written.

        Raises:
            BackendUnavailable: The model does not respond in time; a retry may work.
            BackendError: The model refuses, or its reply cannot be read.
        """
        if not passages:
            return Draft((), self.name)
        return self._call(partial(self._draft, query.text, passages, on_draft))

    def check(self, question: str, claims: Sequence[Claim]) -> Checked:
        """Return a verdict for each claim: whether its evidence supports it.

        Raises:
            BackendError: The model failed, or did not return a verdict for each.
        """
        items = [f"Evidence: {each.evidence}\nStatement: {each.statement}" for each in claims]
        with dspy.track_usage() as tracker:
            prediction = self.run_program(
                check_statements, question=question, items=items, constrained=self.is_constrained
            )
        reply = getattr(prediction, "verdicts", None)
        words = [str(each).strip().lower() for each in reply] if isinstance(reply, list) else []
        verdicts = tuple(known for word in words for known in VERDICTS if word == known)
        if len(verdicts) != len(claims):
            raise BackendError(f"The language model {self.name} gave no verdict on each statement.")
        return Checked(verdicts, *self._tokens(tracker))

    def run_program(self, program: Any, **inputs: Any) -> Any:
        """Run a function of DSPy predictions with this model and its time limit.

        Returns:
            The prediction; None if the model's reply cannot be read.

        Raises:
            BackendError: As ``answer``.
        """

        def run() -> Any:
            try:
                return self._run(program, **inputs)
            except (dspy.AdapterParseError, RecursionError):
                return None

        return self._call(run)

    def _run(self, program: Callable[..., Result], **inputs: Any) -> Result:
        lm = self._lm(self._engine.until(time.monotonic() + self._timeout_s))
        with dspy.context(lm=lm, adapter=AnswerAdapter(), **_PRIVATE):
            return program(**inputs)

    def run_compiler(self, run: Callable[[], Any]) -> Any:
        """Run a DSPy optimizer with this model; each request gets the time limit of an answer.

        Raises:
            BackendError: As ``answer``.
        """
        failure: BackendError
        lm = self._lm(self._engine.each_within(self._timeout_s))
        try:
            # Unreadable outputs never end it: the optimizer continues with the next example.
            with dspy.context(lm=lm, max_errors=sys.maxsize, **_PRIVATE):
                return run()
        except dspy.DSPyError as exc:
            failure = self._failure(exc)
        raise failure

    def with_program(self, program: AnswerProgram) -> "LMAnswerer":
        other = copy(self)
        other._program = program
        return other

    def with_key(self, api_key: str) -> "LMAnswerer":
        keyed = copy(self)
        keyed._engine = self._engine.with_key(api_key)
        return keyed

    def rewrite(self, question: str, history: Sequence[Exchange]) -> str:
        """Return the question completed from its conversation, as one line.

        Raises:
            BackendError: The model fails, or its reply is no question.
        """
        return self._call(partial(self._run, rewrite_follow_up, question=question, history=history))

    def _draft(self, question: str, passages: Sequence[Passage], on_draft: OnDraft) -> Draft:
        numbered = number_passages(passages, max_tokens=self._passage_tokens)

        def stream_reply(reply: str) -> None:
            verdict, rows = read_unfinished(reply)
            if statements := read_statements(rows, numbered):
                on_draft(Draft(statements, self.name, read_verdict(verdict)))

        with dspy.track_usage() as tracker:
            prediction, read_count = self._predict(question, numbered, stream_reply)
        prompt_tokens, completion_tokens = self._tokens(tracker)
        given_count = len(numbered.texts)
        notes = [f"asked twice: {prediction.mistake}"] if prediction.mistake else []
        if read_count < given_count:
            notes.append(f"read {read_count} of {given_count} passages, the context is full")
        return Draft(
            read_statements(prediction.statements, numbered),
            self.name,
            read_verdict(prediction.verdict),
            prompt_tokens=prompt_tokens,
            completion_tokens=completion_tokens,
            note="; ".join(notes),
        )

    def _tokens(self, tracker: Any) -> tuple[int, int]:
        used = tracker.get_total_tokens().get(self.name, {})
        return used.get("prompt_tokens") or 0, used.get("completion_tokens") or 0

    def _predict(
        self, question: str, numbered: NumberedPassages, on_text: OnText
    ) -> tuple[Any, int]:
        """Predict from as many passages as fit the model; return their number, too."""
        deadline = time.monotonic() + self._timeout_s
        constrained, streamed = self.is_constrained, self._is_streamed
        while True:
            lm = self._lm(self._engine.until(deadline, on_text=on_text if streamed else None))
            try:
                with dspy.context(lm=lm, **_PRIVATE):
                    prediction = self._program(
                        question=question, passages=numbered, constrained=constrained
                    )
            except dspy.ContextWindowExceededError:
                if len(numbered.texts) == 1:
                    raise
                numbered = numbered.first(len(numbered.texts) // 2)
            except dspy.LMInvalidRequestError as exc:  # some OpenAI-like servers refuse ...
                if streamed and "stream" in str(exc):
                    streamed = False  # ... to stream
                elif constrained:
                    constrained = False  # ... a schema
                else:
                    raise
            else:
                self.is_constrained, self._is_streamed = constrained, streamed
                return prediction, len(numbered.texts)

    def _lm(self, engine: RemoteEngine) -> Any:
        # No retries of DSPy's: it sleeps as long as the server's Retry-After says, unbounded.
        fixed = {"engine": engine, "cache": False, "num_retries": 0}
        try:
            return dspy.LM(self.name, temperature=0.0, max_tokens=self._max_tokens, **fixed)
        except dspy.LMConfigurationError:
            return dspy.LM(self.name, max_tokens=REASONING_MAX_TOKENS, **fixed)

    def _call(self, work: Callable[[], Result]) -> Result:
        """Return the result of a call to the model, guarded by the circuit breaker.

        Raises:
            BackendUnavailable: The circuit breaker is open, or the model does not respond.
            BackendError: The model failed.
        """
        if reason := self._circuit.ask():
            raise BackendUnavailable(f"The language model {self.name} {reason}.")
        failure: BackendError
        try:
            result = work()
        except dspy.DSPyError as exc:
            if not dspy.is_retryable_lm_error(exc):
                self._circuit.succeeded()  # it is there, and refuses or writes what cannot be read
            elif not cancellation().is_set():
                is_timeout = isinstance(exc, dspy.LMTimeoutError)
                self._circuit.failed(_reason_of(exc), is_timeout=is_timeout)
            failure = self._failure(exc)
        except RecursionError as exc:
            failure = self._failure(exc)
        else:
            self._circuit.succeeded()
            return result
        finally:
            self._circuit.abandoned()  # where neither was noted
        # Raised here and not above: the cause quotes the server, which may quote the key.
        raise failure

    def _failure(self, exc: Exception) -> BackendError:
        """Return an error in our own words: the server's may hold the key or the prompt."""
        reason = _reason_of(exc)
        status = getattr(exc, "status", None)
        kind = BackendUnavailable if dspy.is_retryable_lm_error(exc) else BackendError
        return kind(f"The language model {self.name} {reason}{f' ({status})' if status else ''}.")


def _reason_of(exc: Exception) -> str:
    return next((text for kind, text in _REASONS if isinstance(exc, kind)), "failed")
