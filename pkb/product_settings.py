"""pkb's own Django settings, computed from the environment or for a trial of other values."""

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings

from corpus.errors import InvalidInput
from pkb.env import BASE_DIR, Env, ServerEnv, parse_watched_folders, read_env, split_names
from pkb.http.exposure import Exposure
from pkb.model_catalogue import (
    CROSS_ENCODER,
    answerers,
    embedders,
    readers,
    rerankers,
    token_embedders,
)
from pkb.own_backends import read_own_backends

# Their Django settings have the prefix.
_UNPREFIXED = (
    "CHUNK_SIZE", "CHUNK_OVERLAP", "CHUNK_OVERLAP_SENTENCES", "MIN_INPUT_CHARS", "MAX_INPUT_CHARS",
    "MAX_FILE_CHARS", "MAX_FILE_BYTES", "MAX_BODY_BYTES", "RETRIEVAL_K", "FUSION_ALPHA",
    "RERANKER_MODEL", "EMBEDDING_DIM", "OTEL_SERVICE_NAME", "OTEL_EXPORTER",
)  # fmt: skip
# Read once, when the process starts: a trial cannot change them.
_FIXED = frozenset({*ServerEnv.model_fields, "PKB_HNSW_EF_SEARCH"})


def product_settings(env: Env, data_dir: Path) -> dict[str, Any]:
    """Return the settings of pkb by their Django names.

    Each field of ``env`` that begins with ``PKB_`` is a setting of the same name, and each of
    ``_UNPREFIXED`` one with the prefix, unless it has another form below.
    """
    model_dir = env.PKB_MODEL_DIR or data_dir / "models"
    programs_dir = data_dir / "programs"
    own = read_own_backends(env.PKB_BACKENDS)
    return {
        **{name: value for name, value in env if name.startswith("PKB_")},
        **{f"PKB_{name}": getattr(env, name) for name in _UNPREFIXED},
        "PKB_EMBEDDERS": embedders(env, cache_dir=model_dir) | own.specs("embedders"),
        "PKB_EMBEDDING_MODEL": env.embedding_model_name,
        "PKB_EMBEDDING_MODELS": split_names(env.PKB_EMBEDDING_MODELS),
        "PKB_ONNX_PROVIDERS": env.PKB_ONNX_PROVIDERS.split(","),
        "PKB_RERANKERS": rerankers(env) | own.specs("rerankers"),
        "PKB_TOKEN_EMBEDDERS": token_embedders(env),
        # Judges whether one sentence supports another; its thresholds are valid only for this one.
        "PKB_JUDGE_MODEL": CROSS_ENCODER,
        "PKB_READERS": readers(env, cache_dir=model_dir) | own.specs("readers"),
        "PKB_LOADERS": own.specs("loaders"),
        "PKB_READER_MODEL": env.PKB_READER,
        "PKB_PROGRAMS_DIR": programs_dir,
        "PKB_ANSWERERS": answerers(env, programs_dir=programs_dir) | own.specs("answerers"),
        # File with the address of the last `serve`, for other processes.
        "PKB_SERVED_AT": data_dir / "served-at",
        "PKB_EVALUATIONS_DIR": data_dir / "evaluations",
        "PKB_INGEST_ROOTS": [
            Path(root).resolve() for root in env.PKB_INGEST_ROOTS.split(":") if root
        ],
        "PKB_CONVERTER": {
            "url": env.PKB_CONVERTER_URL,
            "key": env.PKB_CONVERTER_KEY.get_secret_value(),
            "extensions": split_names(env.PKB_CONVERTER_FORMATS if env.PKB_CONVERTER_URL else ""),
            "timeout_s": env.PKB_CONVERTER_TIMEOUT_S,
        },
        "PKB_FETCH_HOSTS": {host.lower() for host in split_names(env.PKB_FETCH_HOSTS)},
        "PKB_WEBHOOK_HOSTS": {host.lower() for host in split_names(env.PKB_WEBHOOK_HOSTS)},
        "PKB_WATCH": parse_watched_folders(env.PKB_WATCH),
        "PKB_SOURCES": env.sources,
        "PKB_MANAGE": BASE_DIR / "manage.py",
        "PKB_BACKUP_DIR": env.PKB_BACKUP_DIR and env.PKB_BACKUP_DIR.resolve(),
        "PKB_OTEL_ENDPOINT": env.OTEL_EXPORTER_OTLP_ENDPOINT.rstrip("/"),
        "PKB_OTEL_ENVIRONMENT": env.APP_ENV,
        "PKB_HOST": env.APP_HOST,
        "PKB_PORT": env.APP_PORT,
        "PKB_PUBLIC_URL": env.PKB_PUBLIC_URL.rstrip("/") or f"http://{env.APP_HOST}:{env.APP_PORT}",
        "PKB_AUTH_REQUIRED": Exposure.of(env).requires_login(env.PKB_AUTH),
        "PKB_OIDC_CLIENT_SECRET": env.PKB_OIDC_CLIENT_SECRET.get_secret_value(),
        "PKB_OIDC_NAME": env.PKB_OIDC_NAME or urlsplit(env.PKB_OIDC_ISSUER).netloc,
        "PKB_API_KEY": env.PKB_API_KEY.get_secret_value(),
        "PKB_SUPERUSER": {
            "username": env.DJANGO_SUPERUSER_USERNAME,
            "email": env.DJANGO_SUPERUSER_EMAIL,
            "password": env.DJANGO_SUPERUSER_PASSWORD.get_secret_value(),
        },
    }


def settings_with(changes: dict[str, str]) -> dict[str, Any]:
    """Return the settings that differ if these variables are set, with their new values.

    Raises:
        InvalidInput: A name is unknown, a value is out of bounds, or the setting cannot change
            while the process runs.
    """
    for name in changes:
        if name not in Env.model_fields:
            raise InvalidInput(f"Unknown setting {name} (see docs/reference/settings.md).")
    if _FIXED & changes.keys():
        raise InvalidInput(f"{', '.join(changes)}: cannot be changed for one run.")
    before = product_settings(read_env(), settings.DATA_DIR)
    try:
        after = product_settings(read_env(**changes), settings.DATA_DIR)
    except SystemExit as exc:
        raise InvalidInput(str(exc)) from exc
    return {name: value for name, value in after.items() if value != before[name]}
