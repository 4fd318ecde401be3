"""Available models: the class and options of each name, in the form of Django's settings.

An entry with a PATTERN matches many names; its named groups become options.
"""

import re
from pathlib import Path
from typing import Any

from pkb.env import BASE_DIR, Env, split_names

Catalogue = dict[str, dict[str, Any]]

CROSS_ENCODER = "ms-marco-MiniLM-L-12-v2"
READER = "minilm-l12-reader"
LATE_INTERACTION = "answerai-colbert-small-v1"
# An index supports up to 4,000 dimensions.
_DIMENSION = r"[1-9]\d{0,2}|[1-3]\d{3}|4000"
# OpenAI's own models, and others if the name includes the dimension.
_OF_SERVER = re.compile(
    r"(?P<protocol>openai|vllm|infinity|ollama|tei)/"
    r"(?P<model>(?<=openai/)text-embedding-(?:3-small|3-large|ada-002)|[^@]+(?=@))"
    rf"(?:@(?P<dimension>{_DIMENSION}))?"
)
# Where a server is if no setting says so.
_ADDRESSES = {"openai": "https://api.openai.com/v1", "ollama": "http://localhost:11434"}
_COHERE = "https://api.cohere.com/v2"


def embedders(env: Env, *, cache_dir: Path) -> Catalogue:
    """Return the embedding models; exported models are stored in ``cache_dir``."""
    minilm, int8, bge = "all-MiniLM-L6-v2", "all-MiniLM-L6-v2-int8", "bge-small-en-v1.5"
    onnx = "corpus.embedders.onnx.OnnxEmbedder"
    shared = {
        "cache_dir": str(cache_dir),
        "batch_size": env.EMBEDDING_BATCH_SIZE,
        "threads": env.PKB_MODEL_THREADS,
    }
    quantized = {"model": minilm, "name": int8, "quantized": True, **shared}
    weights = {bge: 0.6, int8: 0.4}
    catalogue: Catalogue = {
        minilm: {"BACKEND": onnx, "OPTIONS": {"model": minilm, **shared}},
        int8: {"BACKEND": onnx, "OPTIONS": quantized},
        bge: {"BACKEND": onnx, "OPTIONS": {"model": bge, **shared}},
        f"{bge}+{minilm}": {
            "BACKEND": "corpus.embedders.concatenated.ConcatenatedEmbedder",
            "OPTIONS": {"name": f"{bge}+{minilm}", "weights": weights},
        },
        "hashing-<dimension>": {
            "BACKEND": "corpus.embedders.hashed_words.HashingEmbedder",
            "PATTERN": rf"hashing-(?P<dimension>{_DIMENSION})",
        },
    }
    for model in [env.embedding_model_name, *split_names(env.PKB_EMBEDDING_MODELS)]:
        # A prefix belongs to one model; the file of PKB_BACKENDS gives others theirs.
        is_default = model == env.embedding_model_name
        prefixes = {
            "query_prefix": env.PKB_EMBEDDING_QUERY_PREFIX if is_default else "",
            "document_prefix": env.PKB_EMBEDDING_DOCUMENT_PREFIX if is_default else "",
        }
        # By name, not by pattern: requests may not choose which models the API key pays for.
        if match := _OF_SERVER.fullmatch(model):
            address = env.PKB_EMBEDDING_API_BASE or _ADDRESSES.get(match["protocol"])
            catalogue[model] = {
                "BACKEND": "corpus.embedders.server.ServerEmbedder",
                "OPTIONS": {
                    **match.groupdict(),
                    **prefixes,
                    "api_base": address,
                    "api_key": env.PKB_EMBEDDING_API_KEY,
                    "max_tokens": env.PKB_EMBEDDING_MAX_TOKENS,
                    "timeout_s": env.PKB_MODEL_TIMEOUT_S,
                },
            }
        elif is_swapped_in(model, catalogue):
            catalogue[model] = {
                "BACKEND": "corpus.embedders.folder.FolderEmbedder",
                "OPTIONS": {"model": model, **shared, **prefixes},
            }
    return catalogue


def is_swapped_in(model: str, catalogue: Catalogue) -> bool:
    """Return whether a model is a folder or one of the hub, and none of the catalogue's names."""
    return model not in catalogue and (model.startswith("hf:") or Path(model).is_dir())


def rerankers(env: Env) -> Catalogue:
    threads = {"threads": env.PKB_MODEL_THREADS}

    def cross_encoder(model: str) -> dict[str, Any]:
        backend = "qa.search.rerankers.cross_encoder_reranker.CrossEncoderReranker"
        return {"BACKEND": backend, "OPTIONS": {"model": model, **threads}}

    catalogue: Catalogue = {
        CROSS_ENCODER: cross_encoder(CROSS_ENCODER),
        LATE_INTERACTION: {
            "BACKEND": "qa.search.rerankers.late_interaction_reranker.LateInteractionReranker",
            "OPTIONS": {
                "model": LATE_INTERACTION,
                "keeps_vectors": env.PKB_TOKEN_VECTORS != "off",  # noqa: S105 (no secret)
                **threads,
            },
        },
        "<server>/<model>": {
            "BACKEND": "qa.search.rerankers.server_reranker.ServerReranker",
            "PATTERN": r"(?P<protocol>cohere|vllm|infinity|tei)/(?P<model>.+)",
            "OPTIONS": {
                "api_base": env.PKB_RERANKER_API_BASE or _COHERE,
                "api_key": env.PKB_RERANKER_API_KEY,
                "timeout_s": env.PKB_MODEL_TIMEOUT_S,
            },
        },
        "none": {"BACKEND": "qa.search.rerankers.identity_reranker.IdentityReranker"},
    }
    if is_swapped_in(env.RERANKER_MODEL, catalogue):
        catalogue[env.RERANKER_MODEL] = cross_encoder(env.RERANKER_MODEL)
    return catalogue


def token_embedders(env: Env) -> Catalogue:
    """Return the models that compute token vectors for the reranker of the same name."""
    options = {"model": LATE_INTERACTION, "threads": env.PKB_MODEL_THREADS}
    backend = "corpus.embedders.colbert.TokenEmbedder"
    return {LATE_INTERACTION: {"BACKEND": backend, "OPTIONS": options}}


def readers(env: Env, *, cache_dir: Path) -> Catalogue:
    """Return the readers; merged graphs are stored in ``cache_dir``."""
    shared = {"model": CROSS_ENCODER, "cache_dir": str(cache_dir), "threads": env.PKB_MODEL_THREADS}
    backend = "qa.readers.cross_encoder_reader.CrossEncoderReader"
    own = str(BASE_DIR / "qa" / "readers" / f"{READER}.safetensors")
    return {
        READER: {"BACKEND": backend, "OPTIONS": {"adapter": own, **shared}},
        "<file>.safetensors": {
            "BACKEND": backend,
            "PATTERN": r"(?P<adapter>.+\.safetensors)",
            "OPTIONS": shared,
        },
        "none": {"BACKEND": "qa.readers.sentence_reader.SentenceReader"},
    }


def answerers(env: Env, *, programs_dir: Path) -> Catalogue:
    """Return the answerers; ``default`` is the language model, if one is configured."""
    catalogue: Catalogue = {
        "extractive": {
            "BACKEND": "qa.answerers.extractive.ExtractiveAnswerer",
            "OPTIONS": {"max_words": env.PKB_ANSWER_WORDS},
        }
    }
    if env.PKB_LM:
        catalogue["default"] = {
            "BACKEND": "qa.answerers.lm_answerer.LMAnswerer",
            "OPTIONS": {
                "model": env.PKB_LM,
                "api_base": env.PKB_LM_API_BASE,
                "api_key": env.PKB_LM_API_KEY,
                "timeout_s": env.PKB_LM_TIMEOUT_S,
                "pause_s": env.PKB_LM_PAUSE_S,
                "max_tokens": env.PKB_LM_MAX_TOKENS,
                "passage_tokens": env.PKB_LM_PASSAGE_TOKENS,
                "program": env.PKB_LM_PROGRAM,
                "programs": programs_dir,
            },
        }
    return catalogue
