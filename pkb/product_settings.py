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

# Read once, when the process starts: a trial cannot change them.
_FIXED = frozenset({*ServerEnv.model_fields, "pkb_hnsw_ef_search"})


def product_settings(env: Env, data_dir: Path) -> dict[str, Any]:
    """Return the settings of pkb by their Django names.

    Each field of ``env`` is a setting of the same name in capitals, with the prefix ``PKB_``. Those
    below have another name or form.
    """
    model_dir = env.pkb_model_dir or data_dir / "models"
    programs_dir = data_dir / "programs"
    return {
        **{f"PKB_{name.removeprefix('pkb_').upper()}": value for name, value in env},
        "PKB_EMBEDDERS": embedders(env, cache_dir=model_dir),
        "PKB_EMBEDDING_MODEL": env.embedding_model_name,
        "PKB_EMBEDDING_MODELS": env.extra_embedding_models,
        "PKB_RERANKERS": rerankers(env),
        "PKB_TOKEN_EMBEDDERS": token_embedders(env),
        # Judges whether one sentence supports another; its thresholds are valid only for this one.
        "PKB_JUDGE_MODEL": CROSS_ENCODER,
        "PKB_READERS": readers(env, cache_dir=model_dir),
        "PKB_READER_MODEL": env.pkb_reader,
        "PKB_PROGRAMS_DIR": programs_dir,
        "PKB_ANSWERERS": answerers(env, programs_dir=programs_dir),
        # File with the address of the last `serve`, for other processes.
        "PKB_SERVED_AT": data_dir / "served-at",
        "PKB_EVALUATIONS_DIR": data_dir / "evaluations",
        "PKB_INGEST_ROOTS": [
            Path(root).resolve() for root in env.pkb_ingest_roots.split(":") if root
        ],
        "PKB_FETCH_HOSTS": {host.lower() for host in split_names(env.pkb_fetch_hosts)},
        "PKB_WATCH": parse_watched_folders(env.pkb_watch),
        "PKB_SOURCES": env.sources,
        "PKB_MANAGE": BASE_DIR / "manage.py",
        "PKB_BACKUP_DIR": env.pkb_backup_dir and env.pkb_backup_dir.resolve(),
        "PKB_OTEL_ENDPOINT": env.otel_exporter_otlp_endpoint.rstrip("/"),
        "PKB_OTEL_ENVIRONMENT": env.app_env,
        "PKB_HOST": env.app_host,
        "PKB_PORT": env.app_port,
        "PKB_PUBLIC_URL": env.pkb_public_url.rstrip("/") or f"http://{env.app_host}:{env.app_port}",
        "PKB_AUTH_REQUIRED": Exposure.of(env).requires_login(env.pkb_auth),
        "PKB_OIDC_CLIENT_SECRET": env.pkb_oidc_client_secret.get_secret_value(),
        "PKB_OIDC_NAME": env.pkb_oidc_name or urlsplit(env.pkb_oidc_issuer).netloc,
        "PKB_API_KEY": env.pkb_api_key.get_secret_value(),
        "PKB_SUPERUSER": {
            "username": env.django_superuser_username,
            "email": env.django_superuser_email,
            "password": env.django_superuser_password.get_secret_value(),
        },
    }


def settings_with(changes: dict[str, str]) -> dict[str, Any]:
    """Return the settings that differ if these variables are set, with their new values.

    Raises:
        InvalidInput: A name is unknown, a value is out of bounds, or the setting cannot change
            while the process runs.
    """
    values = {name.lower(): value for name, value in changes.items()}
    for name in changes:
        if name.lower() not in Env.model_fields:
            raise InvalidInput(f"Unknown setting {name} (see docs/reference/settings.md).")
    if _FIXED & values.keys():
        raise InvalidInput(f"{', '.join(changes)}: cannot be changed for one run.")
    before = product_settings(read_env(), settings.DATA_DIR)
    try:
        after = product_settings(read_env(**values), settings.DATA_DIR)
    except SystemExit as exc:
        raise InvalidInput(str(exc)) from exc
    return {name: value for name, value in after.items() if value != before[name]}
