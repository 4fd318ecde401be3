"""Every environment variable the service reads: name, type, bound, default.

The only reader of the environment and of ``.env``. An unknown ``PKB_`` name or a value out of
bounds stops the start with one clear line.
"""

import os
from pathlib import Path
from typing import Literal

from dotenv import dotenv_values
from pydantic import Field, SecretStr, ValidationError, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

BASE_DIR = Path(__file__).resolve().parent.parent
DOTENV = BASE_DIR / ".env"


class Env(BaseSettings):
    """The service's settings; each field is the variable of the same name in capitals."""

    model_config = SettingsConfigDict(env_file=DOTENV, extra="ignore", frozen=True)

    app_env: Literal["dev", "test", "prod"] = "dev"
    app_host: str = "127.0.0.1"
    app_port: int = Field(default=8000, ge=1, le=65_535)
    allowed_hosts: str = Field(default="localhost,127.0.0.1,[::1]", description="comma-separated")
    pkb_https: bool = Field(default=False, description="only served over TLS, by a proxy")
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    log_format: Literal["console", "json"] = "console"

    database_url: SecretStr | None = Field(default=None, description="postgresql://...")
    postgres_host: str = ""
    postgres_port: int = Field(default=5432, ge=1, le=65_535)
    postgres_db: str = "pkb"
    postgres_user: str = "pkb"
    postgres_password: SecretStr = SecretStr("")
    pkb_db_pool_size: int = Field(default=20, ge=2, le=200, description="connections a process")

    pkb_data_dir: Path = Field(default=BASE_DIR / "var", description="models, embedded Postgres")
    pkb_secret_key: SecretStr | None = Field(default=None, description="unset: made once, kept")

    embedding_model: str = "all-MiniLM-L6-v2"
    embedding_dim: int | None = Field(default=None, ge=1, le=4_000, description="checked if set")
    embedding_batch_size: int = Field(default=8, ge=1, le=512)
    reranker_model: str = "ms-marco-MiniLM-L-12-v2"
    pkb_model_threads: int = Field(default=0, ge=0, le=256, description="0: one a core")

    pkb_lm: str = Field(default="", description="openai/..., ollama_chat/..., local:<GGUF file>")
    pkb_lm_api_base: str = ""
    pkb_lm_api_key: SecretStr = SecretStr("")
    pkb_lm_timeout_s: float = Field(default=60, gt=0, le=3_600)
    pkb_lm_max_tokens: int = Field(default=400, ge=16, le=8_192)
    pkb_lm_program: str = ""

    retrieval_k: int = Field(default=12, ge=1, le=50)
    # Recall of evidence on chunking_eval and nDCG@10 on covid_faq: .824 and .780 at .6,
    # .857 and .758 at .5, .869 and .743 at .45.
    fusion_alpha: float = Field(default=0.5, ge=0, le=1, description="weight of the vector leg")
    pkb_candidate_count: int = Field(default=50, ge=1, le=1_000, description="rows a leg")
    pkb_rerank_count: int = Field(default=10, ge=1, le=200, description="passages judged")
    pkb_rerank_weight: float = Field(default=0.5, ge=0, le=1)
    pkb_hnsw_ef_search: int = Field(default=100, ge=10, le=1_000)
    # At .2, of the questions it was fitted on, 96 % of foreign and 4 % of answerable ones abstain.
    pkb_abstain_below: float = Field(default=0.2, ge=0, le=1, description="confidence")
    pkb_answer_sentences: int = Field(default=3, ge=1, le=10)
    pkb_answer_concurrency: int = Field(
        default=4, ge=1, le=100, validate_default=True, description="answers at once, a process"
    )

    pkb_session_minutes: int = Field(default=30, ge=1, le=10_080, description="after its last use")
    pkb_chat_heartbeat_s: float = Field(default=15, ge=0.1, le=300)
    pkb_retention_days: int | None = Field(
        default=None, ge=1, le=36_500, description="of answers and sessions; unset: kept"
    )

    chunk_size: int = Field(default=200, ge=16, le=8_192, description="tokens")
    chunk_overlap: int = Field(default=0, ge=0, le=4_096, description="tokens; 0: sentences")
    chunk_overlap_sentences: int = Field(default=1, ge=0, le=10)

    min_input_chars: int = Field(default=40, ge=1, le=10_000)
    max_input_chars: int = Field(default=200_000, ge=1_000, le=20_000_000)
    max_file_chars: int = Field(default=20_000_000, ge=1_000, le=200_000_000)
    max_body_bytes: int = Field(default=10 * 2**20, ge=1_024, le=2**30)
    max_file_bytes: int = Field(default=50 * 2**20, ge=1_024, le=2**32)

    pkb_ingest_roots: str = Field(default="", description="folders, separated by ':'")
    pkb_worker: Literal["auto", "off"] = Field(
        default="auto", description="auto: `serve` on the embedded Postgres starts a worker"
    )

    otel_service_name: str = "pkb"
    otel_exporter: Literal["none", "console", "otlp"] = "none"
    otel_exporter_otlp_endpoint: str = "http://localhost:4318"

    django_superuser_username: str = ""
    django_superuser_email: str = ""
    django_superuser_password: SecretStr = SecretStr("")

    @field_validator("pkb_answer_concurrency")
    @classmethod
    def _leave_connections(cls, concurrency: int, read: ValidationInfo) -> int:
        if concurrency * 2 > read.data.get("pkb_db_pool_size", concurrency * 2):
            raise ValueError("at most half of PKB_DB_POOL_SIZE")
        return concurrency

    @field_validator("chunk_overlap")
    @classmethod
    def _at_most_half(cls, overlap: int, read: ValidationInfo) -> int:
        if overlap * 2 > read.data.get("chunk_size", overlap * 2):
            raise ValueError("at most half of CHUNK_SIZE")
        return overlap


def read_env() -> Env:
    """Read and check the environment.

    Raises:
        SystemExit: A name is unknown or a value is out of bounds; the message says which.
    """
    unknown = _unknown_names()
    if unknown:
        raise SystemExit(f"pkb: unknown setting {', '.join(unknown)} (see .env.example)")
    try:
        return Env()
    except ValidationError as exc:
        wrong = "; ".join(f"{str(e['loc'][0]).upper()}: {e['msg']}" for e in exc.errors())
        raise SystemExit(f"pkb: bad setting {wrong}") from exc


def _unknown_names() -> list[str]:
    given = {name.upper() for name in (*os.environ, *dotenv_values(DOTENV))}
    known = {name.upper() for name in Env.model_fields}
    return sorted(name for name in given if name.startswith("PKB_") and name not in known)
