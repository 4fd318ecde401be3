"""Every environment variable the service reads: name, type, bound, default.

The only reader of the environment and of ``.env``. An unknown ``PKB_`` name or a value out of
bounds stops the start with one clear line.
"""

import os
import re
from pathlib import Path
from typing import Literal

from dotenv import dotenv_values
from pydantic import Field, SecretStr, ValidationError, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

BASE_DIR = Path(__file__).resolve().parent.parent
DOTENV = BASE_DIR / ".env"
_ORIGIN = re.compile(
    r"https?://[A-Za-z0-9.-]+(:[0-9]{1,5})?|https?://\[[0-9A-Fa-f:]+\](:[0-9]{1,5})?"
)


class Env(BaseSettings):
    """The service's settings; each field is the variable of the same name in capitals."""

    model_config = SettingsConfigDict(env_file=DOTENV, extra="ignore", frozen=True)

    app_env: Literal["dev", "test", "prod"] = "dev"
    app_host: str = "127.0.0.1"
    app_port: int = Field(default=8000, ge=1, le=65_535)
    allowed_hosts: str = Field(default="localhost,127.0.0.1,[::1]", description="comma-separated")
    pkb_cors_origins: str = Field(
        default="", description="comma-separated, https://app.example.org; * is any; unset: none"
    )
    pkb_public_url: str = Field(default="", description="of links; unset: APP_HOST:APP_PORT")
    pkb_mcp_read_only: bool = Field(default=False, description="agents cannot take texts in")
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

    pkb_data_dir: Path = Field(default=BASE_DIR / "var", description="embedded Postgres, uploads")
    pkb_model_dir: Path | None = Field(
        default=None, description="what is exported of models; unset: models below PKB_DATA_DIR"
    )
    pkb_secret_key: SecretStr | None = Field(default=None, description="unset: made once, kept")

    embedding_model: str = "bge-small-en-v1.5+all-MiniLM-L6-v2"
    embedding_dim: int | None = Field(default=None, ge=1, le=4_000, description="checked if set")
    pkb_embedding_models: str = Field(
        default="", description="further ones that collections may have, comma-separated"
    )
    pkb_embedding_api_base: str = Field(
        default="https://api.openai.com/v1", pattern=r"^https?://", description="of openai/..."
    )
    pkb_embedding_api_key: SecretStr = SecretStr("")
    pkb_embedding_max_tokens: int = Field(
        default=8_191, ge=32, le=131_072, description="longest input of openai/... in tokens"
    )
    embedding_batch_size: int = Field(default=8, ge=1, le=512)
    reranker_model: str = Field(default="answerai-colbert-small-v1", description="orders passages")
    pkb_reranker_api_base: str = Field(
        default="https://api.cohere.com/v2", pattern=r"^https?://", description="of cohere/..."
    )
    pkb_reranker_api_key: SecretStr = SecretStr("")
    pkb_model_timeout_s: float = Field(
        default=60, gt=0, le=600, description="one try at openai/... or cohere/..."
    )
    pkb_model_threads: int = Field(default=0, ge=0, le=256, description="0: one a core")

    pkb_lm: str = Field(default="", description="openai/..., ollama_chat/..., local:<GGUF file>")
    pkb_lm_api_base: str = ""
    pkb_lm_api_key: SecretStr = SecretStr("")
    pkb_lm_timeout_s: float = Field(default=60, gt=0, le=3_600)
    pkb_lm_max_tokens: int = Field(default=400, ge=16, le=8_192)
    pkb_lm_program: str = Field(
        default="", description="of manage.py optimize_answerer: NAME, NAME@VERSION or a .json file"
    )
    pkb_query_expansions: int = Field(
        default=0, ge=0, le=4, description="other phrasings of a question, asked of PKB_LM; 0: off"
    )

    retrieval_k: int = Field(default=12, ge=1, le=50)
    # What it was chosen on stands at qa.search.fusion.fuse_legs.
    fusion_alpha: float = Field(default=0.5, ge=0, le=1, description="weight of the vector leg")
    pkb_candidate_count: int = Field(default=50, ge=1, le=1_000, description="rows a leg")
    pkb_passages_per_document: int = Field(default=5, ge=1, le=1_000)
    pkb_rerank_count: int = Field(default=20, ge=1, le=200, description="passages judged")
    # nDCG@10 on covid_faq, docs_faq and cranfield: .804 .810 .440 unranked, .822 .792 .447 at .3,
    # .835 .787 .441 at .4, .826 .777 .439 at .5; the mean of ten sets .713, .723, .723, .720.
    # squad2's right passage is first in .80 unranked, .85 at .3, .87 at .4, .88 at .6.
    pkb_rerank_weight: float = Field(default=0.4, ge=0, le=1)
    pkb_hnsw_ef_search: int = Field(default=100, ge=10, le=1_000)
    # Cross-validated on the questions of qa/calibration.json: below .1, 97 % of foreign, 25 % of
    # adversarial and 2.8 % of answerable questions; below .2, 98 %, 45 % and 10 %.
    pkb_abstain_below: float = Field(default=0.1, ge=0, le=1, description="confidence")
    pkb_calibration: Path = Field(
        default=BASE_DIR / "qa" / "calibration.json", description="by manage.py calibrate"
    )
    pkb_answer_sentences: int = Field(default=3, ge=1, le=10)
    pkb_answer_concurrency: int = Field(
        default=2, ge=1, le=100, validate_default=True, description="answers at once, a process"
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

    @field_validator("pkb_cors_origins")
    @classmethod
    def _are_origins(cls, given: str) -> str:
        origins = [origin.strip() for origin in given.split(",") if origin.strip()]
        if origins != ["*"] and not all(map(_ORIGIN.fullmatch, origins)):
            raise ValueError("scheme, host and port, such as https://app.example.org:8443")
        return given

    @property
    def cors_origins(self) -> list[str]:
        return [origin.strip() for origin in self.pkb_cors_origins.split(",") if origin.strip()]

    @property
    def further_embedding_models(self) -> list[str]:
        return [name.strip() for name in self.pkb_embedding_models.split(",") if name.strip()]

    @property
    def has_embedding_api(self) -> bool:
        is_wanted = self.embedding_model.startswith("openai/")
        return is_wanted or bool(self.pkb_embedding_api_key.get_secret_value())

    @property
    def full_embedding_model(self) -> str:
        """The name under which vectors are stored: one of an API has its dimension in it."""
        is_open = self.embedding_model.startswith("openai/") and "@" not in self.embedding_model
        dimension = f"@{self.embedding_dim}" if is_open and self.embedding_dim else ""
        return self.embedding_model + dimension

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
