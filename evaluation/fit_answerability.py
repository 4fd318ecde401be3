"""Train the head that tells whether a text answers a question."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from evaluation.datasets import DataSet, GoldDocument, GoldQuestion
from qa.proof.confidence import AnswerabilityHead
from qa.search.rerankers import Judge

if TYPE_CHECKING:
    import torch

# About what the cross-encoder reads of a text; longer documents teach nothing certain.
MOST_CHARS = 1_800
# The head's width, passes over the examples, and how it is kept from learning them by heart. Other
# layers, widths and rounds are compared in docs/decisions/0009.
UNITS = 32
ROUNDS = 12
DROPOUT = 0.3
BATCH = 64
LEARNING_RATE = 1e-3
WEIGHT_DECAY = 1.0


@dataclass(frozen=True, slots=True)
class Example:
    """A question beside the text that was written to answer it, or nearly.

    Attributes:
        group: Examples of one subject are never on both sides of a split.
        states: Of the question's tokens, shape (q, d).
    """

    group: str
    states: NDArray[np.float32]
    is_answered: bool


def gather_examples(dataset: DataSet, *, judge: Judge) -> Iterator[Example]:
    """Yield the questions of a data set, each beside the document it names.

    Raises:
        BackendError: The model failed.
    """
    documents = {document.id: document for document in dataset.documents}
    for question in dataset.questions:
        document = documents.get(question.doc_ids[0]) if question.doc_ids else None
        if document is not None and 0 < len(document.text) <= MOST_CHARS:
            yield Example(
                group=group_of(question, documents),
                states=judge.read_question(question.text, _as_ranked(document)),
                is_answered=question.is_answerable,
            )


def group_of(question: GoldQuestion, documents: "dict[str, GoldDocument]") -> str:
    """Return the subject of a question: its document's title, which may be that of many."""
    document = documents.get(question.doc_ids[0]) if question.doc_ids else None
    return (document.title or document.id) if document is not None else question.text


def train_head(examples: Sequence[Example], *, seed: int = 0) -> AnswerabilityHead:
    """Return the head that tells the answered from the others, the same for the same seed."""
    import torch  # noqa: PLC0415  (heavy)
    from torch.nn.functional import binary_cross_entropy_with_logits  # noqa: PLC0415

    states, is_token = _stack([example.states for example in examples])
    is_answered = torch.tensor([float(example.is_answered) for example in examples])
    mean, scale = states[is_token].mean(0), states[is_token].std(0) + 1e-3
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        layers = _make_layers(states.shape[2])
        optimizer = torch.optim.AdamW(
            layers.parameters(), lr=LEARNING_RATE, weight_decay=WEIGHT_DECAY
        )
        for _ in range(ROUNDS):
            for batch in torch.randperm(len(examples)).split(BATCH):
                logits = _pool(layers((states[batch] - mean) / scale), is_token[batch])
                loss = binary_cross_entropy_with_logits(logits, is_answered[batch])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    return _take_weights(layers, mean, scale)


def _stack(states: Sequence[NDArray[np.float32]]) -> "tuple[torch.Tensor, torch.Tensor]":
    """Return shape (n, q, d), filled up with zeros, and what of it is a token, shape (n, q)."""
    import torch  # noqa: PLC0415  (heavy)

    lengths = torch.tensor([len(each) for each in states])
    stacked = torch.nn.utils.rnn.pad_sequence(
        [torch.from_numpy(each) for each in states], batch_first=True
    )
    return stacked, torch.arange(stacked.shape[1]) < lengths[:, None]


def _make_layers(dimension: int) -> "torch.nn.Sequential":
    from torch import nn  # noqa: PLC0415  (heavy)

    return nn.Sequential(
        nn.Dropout(DROPOUT), nn.Linear(dimension, UNITS), nn.ReLU(),
        nn.Dropout(DROPOUT), nn.Linear(UNITS, 2),
    )  # fmt: skip


def _pool(each: "torch.Tensor", is_token: "torch.Tensor") -> "torch.Tensor":
    """Return the logits as ``AnswerabilityHead.estimate`` does."""
    shares = each[..., 1].masked_fill(~is_token, float("-inf")).softmax(1)
    return -(shares * each[..., 0]).sum(1)


def _take_weights(
    layers: "torch.nn.Sequential", mean: "torch.Tensor", scale: "torch.Tensor"
) -> AnswerabilityHead:
    """Return the trained layers, with the scaling of their input in the first of them."""
    hidden, output = layers[1], layers[4]
    weight = (hidden.weight / scale).T
    return AnswerabilityHead(
        np.vstack([weight.detach(), (hidden.bias - mean @ weight).detach()]).astype(np.float32),
        np.vstack([output.weight.T.detach(), output.bias.detach()]).astype(np.float32),
    )


def _as_ranked(document: GoldDocument) -> str:
    return f"{document.title}\n{document.text}" if document.title else document.text
