"""Settings from environment variables and ``.env``: name, type, bounds, default, description.

No other module reads the environment. An empty value counts as unset. An unknown ``PKB_`` name or
a value out of bounds ends the start with a one-line error.
"""

import os
from pathlib import Path
from typing import Any, Literal

from dotenv import dotenv_values
from pydantic import (
    Field,
    SecretStr,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_settings import SettingsConfigDict

from corpus.sources.source_settings import SourceSettings, read_sources
from pkb.server_env import BASE_DIR, ServerEnv
from pkb.watch_setting import parse_watched_folders

DOTENV = BASE_DIR / ".env"


class Env(ServerEnv):
    """All settings; each field is the environment variable of that name in capitals."""

    model_config = SettingsConfigDict(env_file=DOTENV, extra="ignore", frozen=True)

    embedding_model: str = Field(
        default="bge-small-en-v1.5+all-MiniLM-L6-v2",
        description="model of new collections: included, `openai/...` or sentence-transformers",
    )
    embedding_dim: int | None = Field(
        default=None,
        ge=1,
        le=4_000,
        description="expected dimension of EMBEDDING_MODEL; shortens vectors of `openai/...`",
    )
    pkb_embedding_models: str = Field(
        default="",
        description="further models that collections may use, also `openai/...`, comma-separated",
    )
    pkb_embedding_api_base: str = Field(
        default="https://api.openai.com/v1",
        pattern=r"^https?://",
        description="server of `openai/...` embedding models",
    )
    pkb_embedding_api_key: SecretStr = Field(
        default=SecretStr(""), description="key of that server"
    )
    pkb_embedding_max_tokens: int = Field(
        default=8_191,
        ge=32,
        le=131_072,
        description="maximum input of `openai/...` embedding models, in tokens",
    )
    embedding_batch_size: int = Field(
        default=8, ge=1, le=512, description="number of texts that a local model embeds at a time"
    )
    reranker_model: str = Field(
        default="answerai-colbert-small-v1",
        description="model that reorders passages: included, `cohere/...` or `none`",
    )
    pkb_reranker_api_base: str = Field(
        default="https://api.cohere.com/v2",
        pattern=r"^https?://",
        description="server of `cohere/...` rerankers",
    )
    pkb_reranker_api_key: SecretStr = Field(default=SecretStr(""), description="key of that server")
    pkb_token_vectors: Literal["off", "lazy", "all"] = Field(
        default="all",
        description="store token vectors of `all` passages, or only of search results (`lazy`)",
    )
    pkb_reader: str = Field(
        default="minilm-l12-reader",
        description="model that decides whether and where a passage answers: name, file or `none`",
    )
    pkb_model_timeout_s: float = Field(
        default=60,
        gt=0,
        le=600,
        description="maximum seconds of one request to an embedding or reranking server",
    )
    pkb_model_threads: int = Field(
        default=0,
        ge=0,
        le=256,
        description="maximum number of model computations at once; 0: one for each core",
    )

    pkb_lm: str = Field(
        default="",
        description="language model: `openai/...` or `ollama_chat/...`",
    )
    pkb_lm_api_base: str = Field(
        default="", description="server of the language model; unset: the provider's own"
    )
    pkb_lm_api_key: SecretStr = Field(default=SecretStr(""), description="key of that server")
    pkb_lm_timeout_s: float = Field(
        default=60,
        gt=0,
        le=3_600,
        description="maximum seconds for an answer of the language model, with retries",
    )
    pkb_lm_pause_s: float = Field(
        default=120,
        ge=0,
        le=3_600,
        description="seconds to wait before retrying an unresponsive language model",
    )
    pkb_lm_max_tokens: int = Field(
        default=400,
        ge=16,
        le=8_192,
        description="maximum length of a language model's answer, in tokens",
    )
    pkb_lm_passage_tokens: int = Field(
        default=7_000,
        ge=100,
        le=100_000,
        description="tokens of passages that a language model gets, about; 1000 for a slow one",
    )
    pkb_lm_program: str = Field(
        default="",
        description="prompt of `manage.py optimize_answerer`: NAME, NAME@VERSION or a file",
    )
    pkb_query_expansions: int = Field(
        default=0,
        ge=0,
        le=4,
        description="number of other phrasings of a question that PKB_LM writes; 0: off",
    )

    retrieval_k: int = Field(
        default=12,
        ge=1,
        le=50,
        description="number of passages to consider for an answer, unless a request sets it",
    )
    # Measured: docs/decisions/0004.
    fusion_alpha: float = Field(
        default=0.5,
        ge=0,
        le=1,
        description="weight of search by meaning; the rest is search by words",
    )
    pkb_candidate_count: int = Field(
        default=50,
        ge=1,
        le=1_000,
        description="number of passages that each of the two searches finds",
    )
    pkb_passages_per_document: int = Field(
        default=5,
        ge=1,
        le=1_000,
        description="further passages of one document move behind those of others",
    )
    pkb_rerank_count: int = Field(
        default=20, ge=1, le=200, description="number of passages that the reranker judges"
    )
    # Measured on ten data sets: docs/decisions/0004.
    pkb_rerank_weight: float = Field(
        default=0.4,
        ge=0,
        le=1,
        description="weight of the reranker's score; the rest is the score of the search",
    )
    pkb_hnsw_ef_search: int = Field(
        default=100,
        ge=10,
        le=1_000,
        description="candidates of an HNSW search; more find more and take longer",
    )
    # What both thresholds accept and reject: docs/decisions/0023.
    pkb_answer_from: float = Field(
        default=0.5,
        ge=0,
        le=1,
        description="minimum confidence of an answer; below it, passages are shown",
    )
    pkb_lm_answer_from: float = Field(
        default=0.5,
        ge=0,
        le=1,
        description="minimum confidence of an answer by a language model; see `calibrate --lm`",
    )
    pkb_abstain_below: float = Field(
        default=0.52,
        ge=0,
        le=1,
        description="below this similarity of the best passage, nothing is about the question",
    )
    pkb_calibration: Path = Field(
        default=BASE_DIR / "qa" / "calibration.json",
        description="file of `manage.py calibrate` that turns scores into confidence",
    )
    pkb_answer_words: int = Field(
        default=65,
        ge=10,
        le=500,
        description="maximum words of a quoted answer; at most half of them from a second passage",
    )
    pkb_answer_concurrency: int = Field(
        default=2,
        ge=1,
        le=100,
        validate_default=True,
        description="answers at once in a process; at most half of PKB_DB_POOL_SIZE",
    )
    pkb_answer_cache: int = Field(
        default=500,
        ge=0,
        le=100_000,
        description="number of answers to keep for repeated questions; 0: none",
    )
    # Admission control: docs/decisions/0027.
    pkb_search_concurrency: int = Field(
        default=0, ge=0, le=100, description="searches at once; 0: one for each core, at least two"
    )
    pkb_encoding_concurrency: int = Field(
        default=0, ge=0, le=100, description="texts to ingest or embed at once; 0: as searches"
    )
    pkb_light_concurrency: int = Field(
        default=0, ge=0, le=200, description="other requests at once; 0: the rest of the pool"
    )
    pkb_waiting_per_place: int = Field(
        default=10, ge=0, le=1_000, description="maximum queued requests per running request"
    )
    pkb_max_wait_s: float = Field(
        default=30, gt=0, le=600, description="maximum seconds in the queue"
    )
    pkb_body_timeout_s: float = Field(
        default=30,
        gt=0,
        le=600,
        description="maximum seconds for a request body, and one more for each 64 KiB",
    )

    pkb_session_minutes: int = Field(
        default=30, ge=1, le=10_080, description="minutes without use after which a session expires"
    )
    pkb_chat_heartbeat_s: float = Field(
        default=15, ge=0.1, le=300, description="seconds between heartbeats of a silent stream"
    )
    pkb_retention_days: int | None = Field(
        default=None, ge=1, le=36_500, description="days to keep answers and chats; unset: forever"
    )
    pkb_tombstone_days: int = Field(
        default=90, ge=0, le=36_500, description="days to keep hashes of deleted texts"
    )

    chunk_size: int = Field(
        default=200, ge=16, le=8_192, description="maximum passage of new collections, in tokens"
    )
    chunk_overlap: int = Field(
        default=0,
        ge=0,
        le=4_096,
        description="tokens that passages share; 0: whole sentences; at most half of CHUNK_SIZE",
    )
    chunk_overlap_sentences: int = Field(
        default=1, ge=0, le=10, description="sentences that passages share if CHUNK_OVERLAP is 0"
    )

    min_input_chars: int = Field(
        default=40, ge=1, le=10_000, description="minimum length of a text, in characters"
    )
    max_input_chars: int = Field(
        default=200_000,
        ge=1_000,
        le=20_000_000,
        description="maximum length of a text, in characters",
    )
    max_file_chars: int = Field(
        default=20_000_000,
        ge=1_000,
        le=200_000_000,
        description="maximum text of a file, in characters",
    )
    pkb_model_input_chars: int = Field(
        default=200_000,
        ge=1_000,
        le=20_000_000,
        description="maximum input of /v1/embeddings and /v1/rerank, in characters",
    )
    max_body_bytes: int = Field(
        default=10 * 2**20,
        ge=1_024,
        le=2**30,
        description="maximum size of a request without a file",
    )
    max_file_bytes: int = Field(
        default=50 * 2**20, ge=1_024, le=2**32, description="maximum size of a file"
    )

    pkb_user_max_bytes: int | None = Field(
        default=None,
        ge=1_024,
        le=2**50,
        description="maximum bytes of the documents that a user owns; unset: no limit",
    )
    pkb_user_max_documents: int | None = Field(
        default=None,
        ge=1,
        le=10**9,
        description="maximum documents in collections that a user owns; unset: no limit",
    )
    pkb_user_max_jobs: int | None = Field(
        default=None,
        ge=1,
        le=10**6,
        description="maximum unfinished jobs of a user; unset: no limit",
    )
    pkb_keep_originals: bool = Field(
        default=True, description="keep files of `POST /ingest` as long as their documents"
    )
    pkb_rules: Path | None = Field(
        default=None, description="file of rules that tag new documents: YAML, TOML or JSON"
    )
    pkb_ocr: Literal["auto", "off"] = Field(
        default="auto", description="`auto`: read pages and images without text by OCR"
    )
    pkb_ingest_roots: str = Field(
        default="", description="folders that may be ingested over HTTP, separated by `:`"
    )
    pkb_fetch: Literal["off", "https", "http"] = Field(
        default="off", description="allow fetching web pages; `http`: by http and https"
    )
    pkb_fetch_hosts: str = Field(
        default="", description="private hosts that may be fetched, comma-separated"
    )
    pkb_crawl_delay_s: float = Field(
        default=1,
        ge=0,
        le=60,
        description="seconds between two requests to a website; more if its robots.txt asks",
    )
    pkb_crawl_max_pages: int = Field(
        default=10_000,
        ge=1,
        le=100_000,
        description="maximum pages that a user may request for a website",
    )
    pkb_crawl_max_bytes: int = Field(
        default=2**30,
        ge=1_024,
        le=2**40,
        description="maximum bytes that an update of a website fetches",
    )
    pkb_crawl_max_hours: float = Field(
        default=12, gt=0, le=1_000, description="maximum hours of an update of a website"
    )
    pkb_watch: str = Field(
        default="",
        description="folders to keep in sync, `/path=collection`, separated by `:`",
    )
    pkb_watch_quiet_s: float = Field(
        default=2,
        ge=0.1,
        le=3_600,
        description="seconds that a file must be unchanged before it is read",
    )
    pkb_sources: Path | None = Field(
        default=None,
        description="file of sources to keep in sync; see docs/guides/paperless-and-mail.md",
    )
    pkb_worker: Literal["auto", "off"] = Field(
        default="auto",
        description="`auto`: `manage.py serve` starts a worker with the embedded PostgreSQL",
    )

    otel_service_name: str = Field(default="pkb", description="name of the service in telemetry")
    otel_exporter: Literal["none", "console", "otlp"] = Field(
        default="none", description="destination of traces and metrics"
    )
    otel_exporter_otlp_endpoint: str = Field(
        default="http://localhost:4318", description="collector of `otlp`"
    )

    django_superuser_username: str = Field(
        default="", description="administrator that `scripts/run` creates; unset: none"
    )
    django_superuser_email: str = Field(
        default="", description="e-mail address of the administrator"
    )
    django_superuser_password: SecretStr = Field(
        default=SecretStr(""), description="password of the administrator"
    )

    # Not pydantic's env_ignore_empty: an empty variable must override the file, too.
    @model_validator(mode="before")
    @classmethod
    def _drop_empty(cls, values: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in values.items() if value != ""}

    @property
    def extra_embedding_models(self) -> list[str]:
        return [name.strip() for name in self.pkb_embedding_models.split(",") if name.strip()]

    @property
    def embedding_model_name(self) -> str:
        """Return the name under which vectors are stored; for an API it includes the dimension."""
        is_open = self.embedding_model.startswith("openai/") and "@" not in self.embedding_model
        dimension = f"@{self.embedding_dim}" if is_open and self.embedding_dim else ""
        return self.embedding_model + dimension

    @property
    def sources(self) -> list[SourceSettings]:
        """Return the sources of ``PKB_SOURCES``, with secrets from the environment or ``.env``."""
        if self.pkb_sources is None:
            return []
        return read_sources(self.pkb_sources, environment={**dotenv_values(DOTENV), **os.environ})

    @field_validator("pkb_watch")
    @classmethod
    def _validate_folders(cls, value: str) -> str:
        parse_watched_folders(value)
        return value

    @field_validator("pkb_sources")
    @classmethod
    def _validate_sources(cls, value: Path | None) -> Path | None:
        if value is not None:
            read_sources(value, environment={})
        return value

    @field_validator("pkb_answer_concurrency")
    @classmethod
    def _validate_concurrency(cls, concurrency: int, read: ValidationInfo) -> int:
        if concurrency * 2 > read.data.get("pkb_db_pool_size", concurrency * 2):
            raise ValueError("at most half of PKB_DB_POOL_SIZE")
        return concurrency

    @field_validator("chunk_overlap")
    @classmethod
    def _validate_overlap(cls, overlap: int, read: ValidationInfo) -> int:
        if overlap * 2 > read.data.get("chunk_size", overlap * 2):
            raise ValueError("at most half of CHUNK_SIZE")
        return overlap


def read_env() -> Env:
    """Return the validated settings.

    Raises:
        SystemExit: A name is unknown or a value is out of bounds; the message names it.
    """
    unknown = _unknown_names()
    if unknown:
        raise SystemExit(
            f"pkb: unknown setting {', '.join(unknown)} (see docs/reference/settings.md)"
        )
    try:
        return Env()
    except ValidationError as exc:
        wrong = "; ".join(f"{str(e['loc'][0]).upper()}: {e['msg']}" for e in exc.errors())
        raise SystemExit(f"pkb: bad setting {wrong}") from exc


def _unknown_names() -> list[str]:
    names = {name.upper() for name in (*os.environ, *dotenv_values(DOTENV))}
    known = {name.upper() for name in Env.model_fields}
    return sorted(name for name in names if name.startswith("PKB_") and name not in known)
