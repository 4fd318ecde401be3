"""The reader's network: a frozen cross-encoder with trained adapters and heads.

Imports torch and transformers, so only training imports it.
"""

import math
from typing import NamedTuple

import numpy as np
import torch
from torch import nn
from torch.nn import functional
from transformers import BertConfig, BertModel

from qa.readers.adapter import HEADS, LORA_SCALE, QUESTION, SPAN, Weights
from qa.readers.quantized_graph import QuantizedGraph

RANK = 16
DROPOUT = 0.1
# Attention heads of MiniLM, whatever its width.
ATTENTION_HEADS = 12
_HEAD_SPREAD = 0.02


class Outputs(NamedTuple):
    """Further outputs of the merged graph: logit (b,), and for every token (b, t, 2)."""

    logit: torch.Tensor
    question: torch.Tensor
    span: torch.Tensor


class AdaptedLinear(nn.Module):
    """A linear layer with weight W + ``LORA_SCALE`` B A, where W is frozen.

    Source: Hu et al., LoRA, ICLR 2022.
    """

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self.linear = linear.requires_grad_(False)
        spread = 1 / math.sqrt(linear.in_features)
        self.A = nn.Parameter(torch.randn(RANK, linear.in_features) * spread)
        self.B = nn.Parameter(torch.zeros(linear.out_features, RANK))

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        weight = torch.addmm(self.linear.weight, self.B, self.A, alpha=LORA_SCALE)
        return functional.linear(states, weight, self.linear.bias)


class ReaderModel(nn.Module):
    """The network of a quantized graph in floats, with trained adapters and heads."""

    def __init__(self, graph: QuantizedGraph) -> None:
        super().__init__()
        weights = graph.weights()
        self.bert = _build_bert(weights).requires_grad_(False)
        _adapt_layers(self.bert.encoder)
        width = self.bert.config.hidden_size
        self.pool, self.cls = nn.Linear(width, width), nn.Linear(width, 1)
        for ours, theirs in HEADS.items():
            state = {
                "weight": torch.from_numpy(weights[f"{theirs}.weight"]),
                "bias": torch.from_numpy(weights[f"{theirs}.bias"].copy()),
            }
            getattr(self, ours).load_state_dict(state)
        self.span, self.question = nn.Linear(width, 2), nn.Linear(width, 2)
        for head in (self.span, self.question):
            nn.init.normal_(head.weight, std=_HEAD_SPREAD)
            nn.init.zeros_(head.bias)
        self.drop = nn.Dropout(DROPOUT)

    def forward(self, ids: torch.Tensor, mask: torch.Tensor, types: torch.Tensor) -> Outputs:
        states = self.bert(input_ids=ids, attention_mask=mask, token_type_ids=types)[0]
        pooled = self.drop(torch.tanh(self.pool(states[:, 0])))
        return Outputs(
            self.cls(pooled)[:, 0].float(),
            self.question(self.drop(states)).float(),
            self.span(states).float(),
        )

    def trained_weights(self) -> Weights:
        """Return the weights that ``qa.readers.adapter`` merges, in half precision."""
        heads = (*HEADS, SPAN, QUESTION)
        return {
            name: value.detach().cpu().half().contiguous().numpy()
            for name, value in self.state_dict().items()
            if name.endswith((".A", ".B")) or name.split(".")[0] in heads
        }


def _build_bert(weights: Weights) -> BertModel:
    vocabulary, width = weights["bert.embeddings.word_embeddings.weight"].shape
    layers = {name.split(".")[3] for name in weights if name.startswith("bert.encoder.layer.")}
    config = BertConfig(
        vocab_size=vocabulary,
        hidden_size=width,
        num_hidden_layers=len(layers),
        num_attention_heads=ATTENTION_HEADS,
        intermediate_size=len(weights["bert.encoder.layer.0.intermediate.dense.bias"]),
        max_position_embeddings=len(weights["bert.embeddings.position_embeddings.weight"]),
        hidden_dropout_prob=DROPOUT,
        attention_probs_dropout_prob=DROPOUT,
    )
    bert = BertModel(config, add_pooling_layer=False)
    state = {
        name.removeprefix("bert."): torch.from_numpy(np.array(value, np.float32))
        for name, value in weights.items()
        if name.startswith("bert.") and not name.startswith("bert.pooler.")
    }
    bert.load_state_dict(state)
    return bert


def _adapt_layers(encoder: nn.Module) -> None:
    for parent in list(encoder.modules()):
        for name, child in list(parent.named_children()):
            if isinstance(child, nn.Linear):
                setattr(parent, name, AdaptedLinear(child))
