"""Models of one layer with random weights, as their published folders look."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file

from corpus.embedders.model_files import packaged_model

WIDTH = 32
# A BERT of one layer.
CONFIG = {
    "model_type": "bert", "hidden_size": WIDTH, "num_hidden_layers": 1, "num_attention_heads": 2,
    "intermediate_size": 64, "vocab_size": 30_522, "max_position_embeddings": 512,
    "type_vocab_size": 2,
}  # fmt: skip
WEIGHTS = {
    "embeddings.word_embeddings": (30_522, WIDTH),
    "embeddings.position_embeddings": (512, WIDTH),
    "embeddings.token_type_embeddings": (2, WIDTH),
    "embeddings.LayerNorm": (WIDTH,),
    **{
        f"encoder.layer.0.attention.self.{name}": (WIDTH, WIDTH)
        for name in ("query", "key", "value")
    },
    "encoder.layer.0.attention.output.dense": (WIDTH, WIDTH),
    "encoder.layer.0.attention.output.LayerNorm": (WIDTH,),
    "encoder.layer.0.intermediate.dense": (64, WIDTH),
    "encoder.layer.0.output.dense": (WIDTH, 64),
    "encoder.layer.0.output.LayerNorm": (WIDTH,),
    "pooler.dense": (WIDTH, WIDTH),
}
MODULES = [
    {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
    {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
]


def write_transformer(folder: Path, *, labels: int = 0, **config: Any) -> Path:
    """Write weights, configuration and tokenizer; with ``labels``, those of a classifier."""
    draw = np.random.default_rng(1)
    prefix = "bert." if labels else ""
    shapes = {f"{prefix}{name}": shape for name, shape in WEIGHTS.items()}
    if labels:
        shapes["classifier"] = (labels, WIDTH)
        names = {str(i): f"LABEL_{i}" for i in range(labels)}
        config |= {"architectures": ["BertForSequenceClassification"], "id2label": names}
    weights = {f"{name}.weight": draw.normal(0, 0.2, shape) for name, shape in shapes.items()}
    biases = {
        f"{name}.bias": np.zeros(shape[0])
        for name, shape in shapes.items()
        if not name.endswith("_embeddings")
    }
    arrays = {name: array.astype(np.float32) for name, array in (weights | biases).items()}
    folder.mkdir(parents=True, exist_ok=True)
    save_file(arrays, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "config.json").write_text(json.dumps(CONFIG | config))
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (folder / name).write_bytes((packaged_model("all-MiniLM-L6-v2") / name).read_bytes())
    return folder


def write_embedder(folder: Path, *, prompts: dict[str, str] | None = None) -> Path:
    """Write a folder of sentence-transformers that takes the mean of token vectors."""
    write_transformer(folder)
    (folder / "1_Pooling").mkdir()
    pooling = {"word_embedding_dimension": WIDTH, "pooling_mode_mean_tokens": True}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling))
    (folder / "modules.json").write_text(json.dumps(MODULES))
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 64}))
    (folder / "config_sentence_transformers.json").write_text(
        json.dumps({"prompts": prompts or {}})
    )
    return folder
