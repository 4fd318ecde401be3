"""Check the claims of a data set against their evidence, and note what the check said of each."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from corpus.models import DEFAULT_COLLECTION
from evaluation.datasets import Claim, GoldDocument
from evaluation.results import Observation, Progress
from qa.ports import QAContext
from qa.verifying_claims import verify_claim

# What data sets call it that a text holds a claim up, or speaks against it; all else is neither.
HELD_UP = frozenset({"SUPPORT", "SUPPORTS", "SUPPORTED"})
SPOKEN_AGAINST = frozenset({"CONTRADICT", "CONTRADICTS", "CONTRADICTED", "REFUTES", "REFUTED"})


@dataclass(frozen=True, slots=True)
class Pair:
    """A claim beside one text.

    Attributes:
        label: What the text is to the claim, in capital letters.
    """

    id: str
    claim: str
    text: str
    label: str


def pair_claims(claims: Sequence[Claim], documents: Sequence[GoldDocument]) -> tuple[Pair, ...]:
    """Return each claim beside each of its texts.

    An evidence is ``{text}``, ``{rationales: [[{text}]]}`` or ``{doc_id}`` of the corpus, with a
    ``label`` or the claim's own.
    """
    corpus = {document.id: document.text for document in documents}
    return tuple(pair for claim in claims for pair in _pairs_of(claim, corpus))


def _pairs_of(claim: Claim, corpus: Mapping[str, str]) -> Iterator[Pair]:
    for number, evidence in enumerate(claim.evidence):
        text = _text_of(evidence) or corpus.get(str(evidence.get("doc_id")), "")
        label = str(evidence.get("label") or claim.label).upper()
        if text.strip():
            yield Pair(f"{claim.id}#{number}", claim.text, text, label)


def _text_of(evidence: Mapping[str, Any]) -> str:
    """The evidence's own text, or the sentences of its rationales."""
    if "text" in evidence:
        return str(evidence["text"])
    sentences = [each for group in evidence.get("rationales") or [] for each in group]
    return " ".join(str(sentence.get("text", "")) for sentence in sentences)


def run_claims(
    pairs: Sequence[Pair], *, context: QAContext, progress: Progress
) -> dict[str, Observation]:
    """Check each claim against its text, and note verdict and score.

    Raises:
        BackendError: A model failed.
    """
    observed: dict[str, Observation] = {}
    for count, pair in enumerate(pairs, start=1):
        found = verify_claim(
            pair.claim, text=pair.text, collection=DEFAULT_COLLECTION, context=context
        )
        is_against = pair.label in SPOKEN_AGAINST
        is_accepted = found.support == "supported"
        observed[pair.id] = {
            "score": found.score,
            "held_up": float(pair.label in HELD_UP),
            "not_against": float(not is_against),
            "against": float(is_against),
            "accepted_held_up": float(is_accepted and pair.label in HELD_UP),
            "accepted_against": float(is_accepted and is_against),
        }
        progress(count, len(pairs))
    return observed
