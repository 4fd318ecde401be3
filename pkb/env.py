"""Every environment variable the service reads: name, type, bound, default.

The only reader of the environment and of ``.env``. An empty value is unset; an unknown ``PKB_``
name or a value out of bounds stops the start with one clear line.
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

from corpus.sources.configuration import SourceSettings, read_sources
from pkb.server_env import BASE_DIR, ServerEnv
from pkb.watched_folders import read_watched

DOTENV = BASE_DIR / ".env"


class Env(ServerEnv):
    """The service's settings; each field is the variable of the same name in capitals."""

    model_config = SettingsConfigDict(env_file=DOTENV, extra="ignore", frozen=True)

    embedding_model: str = Field(
        default="bge-small-en-v1.5+all-MiniLM-L6-v2",
        description="model of new collections: packaged, `openai/...` or sentence-transformers",
    )
    embedding_dim: int | None = Field(
        default=None,
        ge=1,
        le=4_000,
        description="dimension of EMBEDDING_MODEL, checked; shortens vectors of `openai/...`",
    )
    pkb_embedding_models: str = Field(
        default="", description="further models, `openai/...` too, that collections may have"
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
        description="longest input of `openai/...` embedding models, in tokens",
    )
    embedding_batch_size: int = Field(
        default=8, ge=1, le=512, description="texts that a local model embeds at a time"
    )
    reranker_model: str = Field(
        default="answerai-colbert-small-v1",
        description="model that orders passages: packaged, `cohere/...` or `none`",
    )
    pkb_reranker_api_base: str = Field(
        default="https://api.cohere.com/v2",
        pattern=r"^https?://",
        description="server of `cohere/...` rerankers",
    )
    pkb_reranker_api_key: SecretStr = Field(default=SecretStr(""), description="key of that server")
    pkb_token_vectors: Literal["off", "lazy", "all"] = Field(
        default="all", description="keep token vectors of `all` chunks, or of those found (`lazy`)"
    )
    pkb_reader: str = Field(
        default="minilm-l12-reader",
        description="what tells whether a passage answers, and where: its name, a file, `none`",
    )
    pkb_model_timeout_s: float = Field(
        default=60, gt=0, le=600, description="seconds for one try at a server of such models"
    )
    pkb_model_threads: int = Field(
        default=0,
        ge=0,
        le=256,
        description="runs at once of packaged models, a thread each; 0: one a core",
    )

    pkb_lm: str = Field(
        default="",
        description="language model: `openai/...`, `ollama_chat/...` or `local:<GGUF file>`",
    )
    pkb_lm_api_base: str = Field(
        default="", description="server of the language model; unset: the provider's own"
    )
    pkb_lm_api_key: SecretStr = Field(default=SecretStr(""), description="key of that server")
    pkb_lm_timeout_s: float = Field(
        default=60,
        gt=0,
        le=3_600,
        description="seconds for a whole answer of the language model, further tries included",
    )
    pkb_lm_pause_s: float = Field(
        default=120, ge=0, le=3_600, description="seconds of rest for a model that does not answer"
    )
    pkb_lm_max_tokens: int = Field(
        default=400, ge=16, le=8_192, description="longest answer of the language model, in tokens"
    )
    pkb_lm_local_passage_tokens: int = Field(
        default=1_000,
        ge=100,
        le=100_000,
        description="passages that a `local:` model is given, in tokens, about: the first ones",
    )
    pkb_lm_program: str = Field(
        default="",
        description="program of `manage.py optimize_answerer`: NAME, NAME@VERSION or a file",
    )
    pkb_query_expansions: int = Field(
        default=0, ge=0, le=4, description="other phrasings of a question, asked of PKB_LM; 0: off"
    )

    retrieval_k: int = Field(
        default=12,
        ge=1,
        le=50,
        description="passages that an answer is made from, where the request does not say",
    )
    # Chosen on evidence and on rankings: docs/decisions/0004.
    fusion_alpha: float = Field(
        default=0.5,
        ge=0,
        le=1,
        description="weight of the vector search against the search by words",
    )
    pkb_candidate_count: int = Field(
        default=50, ge=1, le=1_000, description="chunks that each of the two searches brings"
    )
    pkb_passages_per_document: int = Field(
        default=5,
        ge=1,
        le=1_000,
        description="passages of one document after which those of others go first",
    )
    pkb_rerank_count: int = Field(
        default=20, ge=1, le=200, description="passages that the reranker judges"
    )
    # Chosen on ten data sets: docs/decisions/0004.
    pkb_rerank_weight: float = Field(
        default=0.4,
        ge=0,
        le=1,
        description="weight of the reranker's score against that of the searches",
    )
    pkb_hnsw_ef_search: int = Field(
        default=100,
        ge=10,
        le=1_000,
        description="candidates that an HNSW scan keeps; more find more and take longer",
    )
    # What both give and hold back: docs/decisions/0023.
    pkb_answer_from: float = Field(
        default=0.5,
        ge=0,
        le=1,
        description="least confidence of an answer; under it the closest passages are shown",
    )
    pkb_lm_answer_from: float = Field(
        default=0.5,
        ge=0,
        le=1,
        description="least confidence of an answer that a language model drafted;"
        " `manage.py calibrate --lm` fits the confidence to the model",
    )
    pkb_abstain_below: float = Field(
        default=0.52,
        ge=0,
        le=1,
        description="cosine similarity of the best passage under which nothing in the documents is"
        " about the question",
    )
    pkb_calibration: Path = Field(
        default=BASE_DIR / "qa" / "calibration.json",
        description="file that turns evidence into confidence, by `manage.py calibrate`",
    )
    pkb_answer_words: int = Field(
        default=65,
        ge=10,
        le=500,
        description="most words of an extractive answer from one place; half of it from a second",
    )
    pkb_answer_concurrency: int = Field(
        default=2,
        ge=1,
        le=100,
        validate_default=True,
        description="answers at once in a process; at most half of PKB_DB_POOL_SIZE",
    )
    pkb_answer_cache: int = Field(
        default=500, ge=0, le=100_000, description="answers kept to be given again; 0: none"
    )
    # What runs, what waits and what is refused: docs/decisions/0027.
    pkb_search_concurrency: int = Field(
        default=0, ge=0, le=100, description="searches at once; 0: one a core, two at least"
    )
    pkb_encoding_concurrency: int = Field(
        default=0, ge=0, le=100, description="texts taken in or embedded at once; 0: as searches"
    )
    pkb_light_concurrency: int = Field(
        default=0, ge=0, le=200, description="other requests at once; 0: what the pool has left"
    )
    pkb_waiting_per_place: int = Field(
        default=10, ge=0, le=1_000, description="requests of a burst that wait, for each that runs"
    )
    pkb_max_wait_s: float = Field(
        default=30, gt=0, le=600, description="seconds that a request waits at most to begin"
    )
    pkb_body_timeout_s: float = Field(
        default=30, gt=0, le=600, description="seconds for a body, one more for each 64 KiB of it"
    )

    pkb_session_minutes: int = Field(
        default=30, ge=1, le=10_080, description="minutes without use after which a session ends"
    )
    pkb_chat_heartbeat_s: float = Field(
        default=15, ge=0.1, le=300, description="seconds of silence before a stream's heartbeat"
    )
    pkb_retention_days: int | None = Field(
        default=None, ge=1, le=36_500, description="days answers and sessions stay; unset: for ever"
    )
    pkb_tombstone_days: int = Field(
        default=90, ge=0, le=36_500, description="days that hashes of deleted texts are kept"
    )

    chunk_size: int = Field(
        default=200, ge=16, le=8_192, description="longest chunk of new collections, in tokens"
    )
    chunk_overlap: int = Field(
        default=0,
        ge=0,
        le=4_096,
        description="tokens that chunks share; 0: whole sentences; at most half of CHUNK_SIZE",
    )
    chunk_overlap_sentences: int = Field(
        default=1, ge=0, le=10, description="sentences that chunks share where CHUNK_OVERLAP is 0"
    )

    min_input_chars: int = Field(
        default=40, ge=1, le=10_000, description="shortest text that is taken in"
    )
    max_input_chars: int = Field(
        default=200_000, ge=1_000, le=20_000_000, description="longest text that is taken in"
    )
    max_file_chars: int = Field(
        default=20_000_000,
        ge=1_000,
        le=200_000_000,
        description="longest text of a file that is taken in",
    )
    pkb_model_input_chars: int = Field(
        default=200_000, ge=1_000, le=20_000_000, description="longest input of /v1 models, in all"
    )
    max_body_bytes: int = Field(
        default=10 * 2**20, ge=1_024, le=2**30, description="largest request without a file"
    )
    max_file_bytes: int = Field(default=50 * 2**20, ge=1_024, le=2**32, description="largest file")

    pkb_keep_originals: bool = Field(
        default=True, description="files sent to `POST /ingest` are kept, for as long as documents"
    )
    pkb_rules: Path | None = Field(
        default=None, description="file of rules that tag what comes in: YAML, TOML or JSON"
    )
    pkb_ocr: Literal["auto", "off"] = Field(
        default="auto", description="`auto`: pages and images without text are read by OCR"
    )
    pkb_ingest_roots: str = Field(
        default="", description="folders that may be taken in over HTTP, separated by `:`"
    )
    pkb_fetch: Literal["off", "https", "http"] = Field(
        default="off", description="addresses that are fetched to be taken in; `http`: both kinds"
    )
    pkb_fetch_hosts: str = Field(
        default="", description="hosts fetched from though not public, such as a wiki, by commas"
    )
    pkb_crawl_delay_s: float = Field(
        default=1,
        ge=0,
        le=60,
        description="seconds between two requests of a site; more where its robots.txt asks for it",
    )
    pkb_crawl_max_pages: int = Field(
        default=10_000, ge=1, le=100_000, description="most pages that a site may be given"
    )
    pkb_crawl_max_bytes: int = Field(
        default=2**30, ge=1_024, le=2**40, description="most bytes that a refresh of a site fetches"
    )
    pkb_crawl_max_hours: float = Field(
        default=12, gt=0, le=1_000, description="hours after which a refresh of a site is ended"
    )
    pkb_watch: str = Field(
        default="",
        description="folders mirrored as they change, `/path=collection`, separated by `:`",
    )
    pkb_watch_quiet_s: float = Field(
        default=2,
        ge=0.1,
        le=3_600,
        description="seconds for which a file of a watched folder must not have changed",
    )
    pkb_sources: Path | None = Field(
        default=None,
        description="file of the sources that are mirrored: docs/guides/paperless-and-mail.md",
    )
    pkb_worker: Literal["auto", "off"] = Field(
        default="auto",
        description="`auto`: `manage.py serve` on the embedded Postgres starts a worker",
    )

    otel_service_name: str = Field(default="pkb", description="name of the service in telemetry")
    otel_exporter: Literal["none", "console", "otlp"] = Field(
        default="none", description="where traces and metrics go"
    )
    otel_exporter_otlp_endpoint: str = Field(
        default="http://localhost:4318", description="collector that `otlp` sends to"
    )

    django_superuser_username: str = Field(
        default="", description="superuser that `scripts/run` makes; unset: none"
    )
    django_superuser_email: str = Field(default="", description="e-mail address of the superuser")
    django_superuser_password: SecretStr = Field(
        default=SecretStr(""), description="password of the superuser"
    )

    # Not pydantic's env_ignore_empty: an empty variable goes before what the file says, too.
    @model_validator(mode="before")
    @classmethod
    def _drop_empty(cls, given: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in given.items() if value != ""}

    @property
    def further_embedding_models(self) -> list[str]:
        return [name.strip() for name in self.pkb_embedding_models.split(",") if name.strip()]

    @property
    def full_embedding_model(self) -> str:
        """The name under which vectors are stored: one of an API has its dimension in it."""
        is_open = self.embedding_model.startswith("openai/") and "@" not in self.embedding_model
        dimension = f"@{self.embedding_dim}" if is_open and self.embedding_dim else ""
        return self.embedding_model + dimension

    @property
    def sources(self) -> list[SourceSettings]:
        """Those of ``PKB_SOURCES``, with the secrets that are in the environment or ``.env``."""
        if self.pkb_sources is None:
            return []
        return read_sources(self.pkb_sources, environment={**dotenv_values(DOTENV), **os.environ})

    @field_validator("pkb_watch")
    @classmethod
    def _are_folders(cls, given: str) -> str:
        read_watched(given)
        return given

    @field_validator("pkb_sources")
    @classmethod
    def _is_of_sources(cls, given: Path | None) -> Path | None:
        if given is not None:
            read_sources(given, environment={})
        return given

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
        raise SystemExit(
            f"pkb: unknown setting {', '.join(unknown)} (see docs/reference/settings.md)"
        )
    try:
        return Env()
    except ValidationError as exc:
        wrong = "; ".join(f"{str(e['loc'][0]).upper()}: {e['msg']}" for e in exc.errors())
        raise SystemExit(f"pkb: bad setting {wrong}") from exc


def _unknown_names() -> list[str]:
    given = {name.upper() for name in (*os.environ, *dotenv_values(DOTENV))}
    known = {name.upper() for name in Env.model_fields}
    return sorted(name for name in given if name.startswith("PKB_") and name not in known)
