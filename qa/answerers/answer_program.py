"""The DSPy program that writes answers: one signature, with one second try."""

from pathlib import Path
from typing import Any

import dspy
from django.core.exceptions import ImproperlyConfigured
from dspy.utils.saving import get_dependency_versions

from qa.answerers.signature import (
    AnswerFromContext,
    answer_schema,
    find_mistake,
    is_cut_off,
    keep_guard,
    labels_of,
)


class AnswerAdapter(dspy.JSONAdapter):
    """DSPy's JSON format without its template ``{answer}``, which small models copy."""

    def format_field_structure(self, signature: Any) -> str:
        return "Reply with one JSON object that has the output fields, in this order."


class DraftAdapter(AnswerAdapter):
    """The same for drafts, of which none that was cut off is taken for a whole one."""

    def parse(self, signature: Any, completion: str) -> dict[str, Any]:
        if is_cut_off(completion):
            raise dspy.AdapterParseError("DraftAdapter", signature, completion, "it is cut off")
        parsed: dict[str, Any] = super().parse(signature, completion)
        return parsed


class AnswerProgram(dspy.Module):
    """Question and context to citations and answer, with one second try."""

    def __init__(self, path: Path | None = None) -> None:
        """Take the compiled program of this file, or the plain one.

        Raises:
            ImproperlyConfigured: The file holds no program.
        """
        super().__init__()
        self.predict = dspy.Predict(AnswerFromContext)
        if path:
            self._load_compiled(path)

    def forward(self, question: str, context: list[str], constrained: bool = True) -> Any:
        """Answer; ``mistake`` of the prediction says what the first try got wrong.

        Args:
            question: As asked.
            context: Passages that begin with their labels.
            constrained: Send a schema in which only these labels can be cited.
        """
        labels = labels_of(context)
        config = {"response_format": answer_schema(labels)} if constrained else {}
        signature = keep_guard(self.predict.signature)
        given = {"question": question, "context": context, "config": config}
        with dspy.context(adapter=DraftAdapter()):
            try:
                prediction = self.predict(signature=signature, **given)
                mistake = find_mistake(prediction, labels)
            except (dspy.AdapterParseError, RecursionError):  # JSON nested too deep is the latter
                mistake = "the output was not one JSON object with all of the fields"
            if mistake:
                prediction = self._try_again(mistake, signature, given)
        prediction.mistake = mistake
        return prediction

    def dump(self) -> dict[str, Any]:
        """Return what a program's file holds: demonstrations and instructions, and no model."""
        self.set_lm(None)
        versions = get_dependency_versions()
        return {**self.dump_state(), "metadata": {"dependency_versions": versions}}

    def _try_again(self, mistake: str, signature: Any, given: dict[str, Any]) -> Any:
        note = dspy.InputField(desc="what was wrong with your last output; do not repeat it")
        asked = signature.append("mistake", note, type_=str)
        return self.predict(signature=asked, mistake=mistake, **given)

    def _load_compiled(self, path: Path) -> None:
        try:
            self.load(path)
        except (ValueError, KeyError, TypeError) as exc:
            raise ImproperlyConfigured(f"PKB_LM_PROGRAM: {path.name} is no program.") from exc
        # Of a file's fields only their number counts: it may be of a time of another order.
        rules = self.predict.signature.instructions
        self.predict.signature = AnswerFromContext.with_instructions(rules)
        self.set_lm(None)  # a saved program may name the model it was compiled with
