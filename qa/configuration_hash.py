"""Hash of the configuration that answers depend on."""

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import connection
from django.utils.crypto import salted_hmac
from pydantic import SecretStr

from corpus.embedders import embedders
from qa.answerers.lm_settings import find_program
from qa.context import LANGUAGE_MODEL
from qa.readers import readers
from qa.search.rerankers import rerankers

# Settings of retrieval and confidence, by their environment names.
DECIDING_SETTINGS = {
    "RERANKER_MODEL": "PKB_RERANKER_MODEL",
    "FUSION_ALPHA": "PKB_FUSION_ALPHA",
    "PKB_CANDIDATE_COUNT": "PKB_CANDIDATE_COUNT",
    "PKB_RERANK_COUNT": "PKB_RERANK_COUNT",
    "PKB_RERANK_WEIGHT": "PKB_RERANK_WEIGHT",
    "PKB_PASSAGES_PER_DOCUMENT": "PKB_PASSAGES_PER_DOCUMENT",
    "PKB_ANSWER_FROM": "PKB_ANSWER_FROM",
    "PKB_LM_ANSWER_FROM": "PKB_LM_ANSWER_FROM",
    "PKB_ABSTAIN_BELOW": "PKB_ABSTAIN_BELOW",
}

# Header by which a ready server names its installation.
INSTALLATION_HEADER = "X-Pkb-Installation"

# Our own secrets are recognized by their type; others by the option's name.
_SECRET = re.compile(r"(?:^|_)(?:key|token|password|secret)$")
_SCANS = re.compile(r"hnsw\.\S+")
# Credentials that a URL may contain.
_CREDENTIALS = re.compile(r"(?<=://)[^/]*@|\?.*")
# Options of paths and speed, which do not change a model's output.
_OF_THE_MACHINE = frozenset(
    {"adapter", "batch_size", "cache_dir", "pause_s", "programs", "threads", "timeout_s"}
)


def configuration_sha256(embedding_model: str) -> str:
    """Hash the configuration of answers from a collection with this embedding model."""
    return _sha256_of(read_configuration(embedding_model))


def _sha256_of(configuration: Mapping[str, Any]) -> str:
    return sha256(json.dumps(configuration, sort_keys=True, default=str).encode()).hexdigest()


def installation_sha256() -> str:
    """Hash database, version and configuration, so that processes recognize each other."""
    # The embedded server's address is known only once a connection was made.
    where = [] if settings.PKB_POSTGRES_DIR else ["HOST", "PORT", "USER"]
    database = [connection.settings_dict[name] for name in ("NAME", *where)]
    configuration = read_configuration(settings.PKB_EMBEDDING_MODEL)
    # A server bounds its statements besides, which a command does not.
    scans = " ".join(_SCANS.findall(configuration["database"]))
    decided = _sha256_of({**configuration, "database": scans})
    server = [settings.VERSION, settings.IS_DEV, settings.PKB_POSTGRES_DIR, *database]
    identity = json.dumps([*server, decided], default=str)
    return salted_hmac(INSTALLATION_HEADER, identity, algorithm="sha256").hexdigest()


def read_configuration(embedding_model: str) -> dict[str, Any]:
    """Return the configuration that determines answers, without secrets.

    Returns:
        ``settings`` by their environment names; ``models``, the configuration of embedder,
        reranker, judge and reader; ``answerers``; the SHA-256 of the files ``calibration``,
        ``adapter`` (the reader's own weights) and ``program`` (of the language model), empty
        without one; ``database``, the connection options that set how widely an index is scanned.
    """
    values = {name: getattr(settings, setting) for name, setting in DECIDING_SETTINGS.items()}
    specs = {
        "embedder": embedders.find_spec(embedding_model),
        "reranker": rerankers.find_spec(settings.PKB_RERANKER_MODEL),
        "judge": rerankers.find_spec(settings.PKB_JUDGE_MODEL),
        "reader": readers.find_spec(settings.PKB_READER_MODEL),
    }
    adapter = (specs["reader"] or {}).get("OPTIONS", {}).get("adapter", "")
    language_model = settings.PKB_ANSWERERS.get(LANGUAGE_MODEL, {}).get("OPTIONS", {})
    program = ""
    if language_model.get("program"):
        with suppress(ImproperlyConfigured):  # removed since it was loaded
            path = find_program(language_model["program"], folder=language_model["programs"])
            program = _content_sha256(path)
    return {
        "settings": {**values, "RETRIEVAL_K": settings.PKB_RETRIEVAL_K},
        "models": {use: _public_options(spec or {}) for use, spec in specs.items()},
        "answerers": {name: _public_options(s) for name, s in settings.PKB_ANSWERERS.items()},
        "calibration": _content_sha256(settings.PKB_CALIBRATION),
        "adapter": _content_sha256(Path(adapter)) if adapter else "",
        "program": program,
        "database": settings.DATABASES["default"].get("OPTIONS", {}).get("options", ""),
    }


def _public_options(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a backend that determine its output, without secrets."""
    options = spec.get("OPTIONS", {})
    public = {
        name: _CREDENTIALS.sub("", value) if isinstance(value, str) and "://" in value else value
        for name, value in options.items()
        if name not in _OF_THE_MACHINE
        and not isinstance(value, SecretStr)
        and not _SECRET.search(name)
    }
    return {**spec, "OPTIONS": public}


def _content_sha256(path: Path) -> str:
    """Hash a file; return an empty text if it was removed."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return ""
    return _hash_file(path, (status.st_ino, status.st_mtime_ns, status.st_size))


@lru_cache(maxsize=32)
def _hash_file(path: Path, state: tuple[int, int, int]) -> str:
    """Hash a file, cached by its state: every answer asks, and weights have megabytes."""
    return sha256(path.read_bytes()).hexdigest()
