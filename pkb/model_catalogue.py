"""Available models: the class and options of each name, in the form of Django's settings.

An entry with a PATTERN matches many names; its named groups become options.
"""

import re
from pathlib import Path
from typing import Any

from pkb.env import BASE_DIR, Env

Catalogue = dict[str, dict[str, Any]]

CROSS_ENCODER = "ms-marco-MiniLM-L-12-v2"
READER = "minilm-l12-reader"
LATE_INTERACTION = "answerai-colbert-small-v1"
# An index supports up to 4,000 dimensions.
_DIMENSION = r"[1-9]\d{0,2}|[1-3]\d{3}|4000"
_OWN_PREFIXES = ("hashing-", "openai/")
# OpenAI's own models, and others if the name includes the dimension.
_OPENAI = re.compile(
    r"openai/(?P<model>text-embedding-3-small|text-embedding-3-large|text-embedding-ada-002"
    rf"|[^@]+(?=@))(?:@(?P<dimension>{_DIMENSION}))?"
)


def embedders(env: Env, *, cache_dir: Path) -> Catalogue:
    """Return the embedding models; exported models are stored in ``cache_dir``."""
    catalogue = _packaged_embedders(env, cache_dir)
    catalogue["hashing-<dimension>"] = {
        "BACKEND": "corpus.embedders.hashed_words.HashingEmbedder",
        "PATTERN": rf"hashing-(?P<dimension>{_DIMENSION})",
    }
    for model in [env.embedding_model_name, *env.extra_embedding_models]:
        if not model.startswith(_OWN_PREFIXES):
            entry = {
                "BACKEND": "corpus.embedders.sentence_transformer.SentenceTransformerEmbedder",
                "OPTIONS": {
                    "model": model,
                    "batch_size": env.embedding_batch_size,
                    "threads": env.pkb_model_threads,
                },
            }
            catalogue.setdefault(model, entry)
        # By name, not by pattern: requests may not choose which models the API key pays for.
        elif match := _OPENAI.fullmatch(model):
            catalogue[model] = {
                "BACKEND": "corpus.embedders.openai_api.OpenAIEmbedder",
                "OPTIONS": {
                    **match.groupdict(),
                    "api_base": env.pkb_embedding_api_base,
                    "api_key": env.pkb_embedding_api_key,
                    "max_tokens": env.pkb_embedding_max_tokens,
                    "timeout_s": env.pkb_model_timeout_s,
                },
            }
    return catalogue


def _packaged_embedders(env: Env, cache_dir: Path) -> Catalogue:
    minilm, bge = "all-MiniLM-L6-v2", "bge-small-en-v1.5"
    shared = {
        "cache_dir": str(cache_dir),
        "batch_size": env.embedding_batch_size,
        "threads": env.pkb_model_threads,
    }

    def onnx(model: str, **options: Any) -> dict[str, Any]:
        return {
            "BACKEND": "corpus.embedders.onnx.OnnxEmbedder",
            "OPTIONS": {"model": model, **options, **shared},
        }

    return {
        minilm: onnx(minilm),
        f"{minilm}-int8": onnx(minilm, name=f"{minilm}-int8", quantized=True),
        bge: onnx(bge),
        f"{bge}+{minilm}": {
            "BACKEND": "corpus.embedders.concatenated.ConcatenatedEmbedder",
            "OPTIONS": {
                "name": f"{bge}+{minilm}",
                "weights": {bge: 0.6, f"{minilm}-int8": 0.4},
            },
        },
    }


def rerankers(env: Env) -> Catalogue:
    """Return the rerankers."""
    threads = {"threads": env.pkb_model_threads}
    return {
        CROSS_ENCODER: {
            "BACKEND": "qa.search.rerankers.cross_encoder_reranker.CrossEncoderReranker",
            "OPTIONS": {"model": CROSS_ENCODER, **threads},
        },
        LATE_INTERACTION: {
            "BACKEND": "qa.search.rerankers.late_interaction_reranker.LateInteractionReranker",
            "OPTIONS": {
                "model": LATE_INTERACTION,
                "keeps_vectors": env.pkb_token_vectors != "off",  # noqa: S105 (no secret)
                **threads,
            },
        },
        "cohere/<model>": {
            "BACKEND": "qa.search.rerankers.cohere_api.CohereReranker",
            "PATTERN": r"cohere/(?P<model>.+)",
            "OPTIONS": {
                "api_base": env.pkb_reranker_api_base,
                "api_key": env.pkb_reranker_api_key,
                "timeout_s": env.pkb_model_timeout_s,
            },
        },
        "none": {"BACKEND": "qa.search.rerankers.identity_reranker.IdentityReranker"},
    }


def token_embedders(env: Env) -> Catalogue:
    """Return the models that compute token vectors for the reranker of the same name."""
    options = {"model": LATE_INTERACTION, "threads": env.pkb_model_threads}
    backend = "corpus.embedders.colbert.TokenEmbedder"
    return {LATE_INTERACTION: {"BACKEND": backend, "OPTIONS": options}}


def readers(env: Env, *, cache_dir: Path) -> Catalogue:
    """Return the readers; merged graphs are stored in ``cache_dir``."""
    shared = {"model": CROSS_ENCODER, "cache_dir": str(cache_dir), "threads": env.pkb_model_threads}
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
            "OPTIONS": {"max_words": env.pkb_answer_words},
        }
    }
    if env.pkb_lm:
        catalogue["default"] = {
            "BACKEND": "qa.answerers.lm_answerer.LMAnswerer",
            "OPTIONS": {
                "model": env.pkb_lm,
                "api_base": env.pkb_lm_api_base,
                "api_key": env.pkb_lm_api_key,
                "timeout_s": env.pkb_lm_timeout_s,
                "pause_s": env.pkb_lm_pause_s,
                "max_tokens": env.pkb_lm_max_tokens,
                "passage_tokens": env.pkb_lm_passage_tokens,
                "program": env.pkb_lm_program,
                "programs": programs_dir,
            },
        }
    return catalogue
