"""Settings from environment variables and ``.env``: name, type, bounds, default, description.

No other module reads the environment. An empty value counts as unset. An unknown ``PKB_`` name or
a value out of bounds ends the start with a one-line error.
"""

import os
import re
from difflib import get_close_matches
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
from pydantic_settings import BaseSettings, SettingsConfigDict

from corpus.sources.source_settings import SourceSettings, read_sources

BASE_DIR = Path(__file__).resolve().parent.parent
DOTENV = BASE_DIR / ".env"
_ORIGIN = re.compile(
    r"https?://[A-Za-z0-9.-]+(:[0-9]{1,5})?|https?://\[[0-9A-Fa-f:]+\](:[0-9]{1,5})?"
)
# As in corpus.models, which cannot be imported before the settings.
_COLLECTION_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9_-]{0,99}")


class ServerEnv(BaseSettings):
    """Settings of the server, login, logs, database and folders, which are read once."""

    model_config = SettingsConfigDict(
        env_file=DOTENV, extra="ignore", frozen=True, use_attribute_docstrings=True
    )

    app_env: Literal["dev", "test", "prod"] = "dev"
    """`dev` shows the steps of an answer; also the environment name in telemetry"""
    app_host: str = "127.0.0.1"
    """address that `manage.py serve` listens on"""
    app_port: int = Field(default=8000, ge=1, le=65_535)
    """port that `manage.py serve` listens on"""
    allowed_hosts: str = "localhost,127.0.0.1,[::1]"
    """host names at which pkb may be called, comma-separated"""
    pkb_cors_origins: str = ""
    """origins whose pages may call the API, comma-separated; `*` is any"""
    pkb_public_url: str = ""
    """URL at which people reach the web app; unset: APP_HOST and APP_PORT"""
    pkb_auth: Literal["auto", "required", "off"] = "auto"
    """`auto`: a login is required unless only this machine can reach pkb"""
    pkb_oidc_issuer: str = Field(default="", pattern=r"^(https?://|$)")
    """issuer URL of the OpenID provider for logins"""
    pkb_oidc_client_id: str = ""
    """client id of pkb at the provider"""
    pkb_oidc_client_secret: SecretStr = SecretStr("")
    """client secret; unset: a public client"""
    pkb_oidc_name: str = ""
    """name of the provider on the login page; unset: its host"""
    pkb_oidc_scopes: str = Field(default="openid profile email", pattern=r"^openid( |$)")
    """scopes that pkb requests from the provider"""
    pkb_oidc_create_users: bool = False
    """create an account for a new user at the first login"""
    pkb_oidc_groups_claim: str = ""
    """claim with the user's groups; unset: groups do not change"""
    pkb_oidc_admin_group: str = ""
    """group of that claim whose members are administrators; all others are not"""
    pkb_audit_days: int = Field(default=365, ge=1, le=36_500)
    """days that the audit log is kept"""
    pkb_audit_questions: bool = False
    """record the text of questions in the audit log"""
    pkb_trusted_proxies: int = Field(default=0, ge=0, le=10)
    """number of proxies in front of pkb whose X-Forwarded-For is trusted"""
    pkb_api_key: SecretStr = SecretStr("")
    """API key for `manage.py ask` and `mcp`, if a login is required"""
    pkb_mcp_read_only: bool = False
    """MCP clients cannot add texts"""
    pkb_https: bool = False
    """pkb is behind a proxy with TLS: redirects, HSTS, secure cookies"""
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    """minimum severity of log messages"""
    log_format: Literal["console", "json"] = "console"
    """`json` writes one object per line"""

    database_url: SecretStr | None = None
    """`postgresql://user:password@host/name`; overrides POSTGRES_*"""
    postgres_host: str = ""
    """PostgreSQL server; without it and DATABASE_URL, the embedded one runs"""
    postgres_port: int = Field(default=5432, ge=1, le=65_535)
    """port of POSTGRES_HOST"""
    postgres_db: str = "pkb"
    """database on POSTGRES_HOST"""
    postgres_user: str = "pkb"
    """user on POSTGRES_HOST"""
    postgres_password: SecretStr = SecretStr("")
    """password on POSTGRES_HOST"""
    postgres_owner: str = ""
    """role that owns the tables, also with DATABASE_URL; unset: the serving role"""
    postgres_owner_password: SecretStr = SecretStr("")
    """password of that role"""
    pkb_replica_url: SecretStr | None = None
    """standby of DATABASE_URL for searches; unset: none"""
    pkb_replica_wait_ms: int = Field(default=20, ge=0, le=1_000)
    """milliseconds to wait until the standby is up to date"""
    pkb_db_pool_size: int = Field(default=20, ge=2, le=200)
    """database connections of a process"""
    pkb_statement_timeout_s: float = Field(default=60, ge=1, le=3_600)
    """maximum seconds of a database statement in a request"""
    pkb_lock_timeout_s: float = Field(default=10, ge=1, le=3_600)
    """maximum seconds that a request waits for a database lock"""

    pkb_data_dir: Path = BASE_DIR / "var"
    """folder of the embedded PostgreSQL, uploads, results and the secret key"""
    pkb_model_dir: Path | None = None
    """folder of converted models; unset: `models` in PKB_DATA_DIR"""
    pkb_secret_key: SecretStr | None = None
    """Django's secret key; unset: created once and stored in PKB_DATA_DIR"""

    pkb_backup_dir: Path | None = None
    """folder for automatic backups; unset: none are made"""
    pkb_backup_keep: int = Field(default=7, ge=1, le=1_000)
    """number of backups to keep"""
    pkb_backup_every_hours: float = Field(default=24, ge=0.1, le=8_760)
    """hours between two backups"""

    @field_validator("pkb_cors_origins")
    @classmethod
    def _validate_origins(cls, value: str) -> str:
        origins = split_names(value)
        if origins != ["*"] and not all(map(_ORIGIN.fullmatch, origins)):
            raise ValueError("scheme, host and port, such as https://app.example.org:8443")
        return value

    @field_validator("pkb_oidc_client_id")
    @classmethod
    def _validate_client_id(cls, value: str, info: ValidationInfo) -> str:
        if info.data.get("pkb_oidc_issuer") and not value:
            raise ValueError("needed with PKB_OIDC_ISSUER")
        return value

    @field_validator("pkb_oidc_admin_group")
    @classmethod
    def _validate_admin_group(cls, value: str, info: ValidationInfo) -> str:
        if value and not info.data.get("pkb_oidc_groups_claim"):
            raise ValueError("needs PKB_OIDC_GROUPS_CLAIM")
        return value


class Env(ServerEnv):
    """All settings; each field is the environment variable of that name in capitals."""

    embedding_model: str = "bge-small-en-v1.5+all-MiniLM-L6-v2"
    """model of new collections: included, `openai/...` or sentence-transformers"""
    embedding_dim: int | None = Field(default=None, ge=1, le=4_000)
    """expected dimension of EMBEDDING_MODEL; shortens vectors of `openai/...`"""
    pkb_embedding_models: str = ""
    """further models that collections may use, also `openai/...`, comma-separated"""
    pkb_embedding_api_base: str = Field(default="https://api.openai.com/v1", pattern=r"^https?://")
    """server of `openai/...` embedding models"""
    pkb_embedding_api_key: SecretStr = SecretStr("")
    """key of that server"""
    pkb_embedding_max_tokens: int = Field(default=8_191, ge=32, le=131_072)
    """maximum input of `openai/...` embedding models, in tokens"""
    embedding_batch_size: int = Field(default=8, ge=1, le=512)
    """number of texts that a local model embeds at a time"""
    reranker_model: str = "answerai-colbert-small-v1"
    """model that reorders passages: included, `cohere/...` or `none`"""
    pkb_reranker_api_base: str = Field(default="https://api.cohere.com/v2", pattern=r"^https?://")
    """server of `cohere/...` rerankers"""
    pkb_reranker_api_key: SecretStr = SecretStr("")
    """key of that server"""
    pkb_token_vectors: Literal["off", "lazy", "all"] = Field(default="all")
    """store token vectors of `all` passages, or only of search results (`lazy`)"""
    pkb_reader: str = "minilm-l12-reader"
    """model that decides whether and where a passage answers: name, file or `none`"""
    pkb_model_timeout_s: float = Field(default=60, gt=0, le=600)
    """maximum seconds of one request to an embedding or reranking server"""
    pkb_model_threads: int = Field(default=0, ge=0, le=256)
    """maximum number of model computations at once; 0: one for each core"""

    pkb_lm: str = ""
    """language model: `openai/...` or `ollama_chat/...`"""
    pkb_lm_api_base: str = ""
    """server of the language model; unset: the provider's own"""
    pkb_lm_api_key: SecretStr = SecretStr("")
    """key of that server"""
    pkb_lm_timeout_s: float = Field(default=60, gt=0, le=3_600)
    """maximum seconds for an answer of the language model, with retries"""
    pkb_lm_pause_s: float = Field(default=120, ge=0, le=3_600)
    """seconds to wait before retrying an unresponsive language model"""
    pkb_lm_max_tokens: int = Field(default=400, ge=16, le=8_192)
    """maximum length of a language model's answer, in tokens"""
    pkb_lm_passage_tokens: int = Field(default=7_000, ge=100, le=100_000)
    """tokens of passages that a language model gets, about; 1000 for a slow one"""
    pkb_lm_program: str = ""
    """prompt of `manage.py optimize_answerer`: NAME or a file"""
    pkb_query_expansions: int = Field(default=0, ge=0, le=4)
    """number of other phrasings of a question that PKB_LM writes; 0: off"""

    retrieval_k: int = Field(default=12, ge=1, le=50)
    """number of passages to consider for an answer, unless a request sets it"""
    # Measured: docs/decisions/0004.
    fusion_alpha: float = Field(default=0.5, ge=0, le=1)
    """weight of search by meaning; the rest is search by words"""
    pkb_candidate_count: int = Field(default=50, ge=1, le=1_000)
    """number of passages that each of the two searches finds"""
    pkb_passages_per_document: int = Field(default=5, ge=1, le=1_000)
    """further passages of one document move behind those of others"""
    pkb_rerank_count: int = Field(default=20, ge=1, le=200)
    """number of passages that the reranker judges"""
    # Measured on ten data sets: docs/decisions/0004.
    pkb_rerank_weight: float = Field(default=0.4, ge=0, le=1)
    """weight of the reranker's score; the rest is the score of the search"""
    pkb_hnsw_ef_search: int = Field(default=100, ge=10, le=1_000)
    """candidates of an HNSW search; more find more and take longer"""
    # What both thresholds accept and reject: docs/decisions/0023.
    pkb_answer_from: float = Field(default=0.5, ge=0, le=1)
    """minimum confidence of an answer; below it, passages are shown"""
    pkb_lm_answer_from: float = Field(default=0.5, ge=0, le=1)
    """minimum confidence of an answer by a language model; see `calibrate --lm`"""
    pkb_abstain_below: float = Field(default=0.52, ge=0, le=1)
    """below this similarity of the best passage, nothing is about the question"""
    pkb_calibration: Path = BASE_DIR / "qa" / "calibration.json"
    """file of `manage.py calibrate` that turns scores into confidence"""
    pkb_answer_words: int = Field(default=65, ge=10, le=500)
    """maximum words of a quoted answer; at most half of them from a second passage"""
    pkb_answer_concurrency: int = Field(default=2, ge=1, le=100, validate_default=True)
    """answers at once in a process; at most half of PKB_DB_POOL_SIZE"""
    pkb_answer_cache: int = Field(default=500, ge=0, le=100_000)
    """number of answers to keep for repeated questions; 0: none"""
    # Admission control: docs/decisions/0027.
    pkb_search_concurrency: int = Field(default=0, ge=0, le=100)
    """searches at once; 0: one for each core, at least two"""
    pkb_encoding_concurrency: int = Field(default=0, ge=0, le=100)
    """texts to ingest or embed at once; 0: as searches"""
    pkb_light_concurrency: int = Field(default=0, ge=0, le=200)
    """other requests at once; 0: the rest of the pool"""
    pkb_waiting_per_place: int = Field(default=10, ge=0, le=1_000)
    """maximum queued requests per running request"""
    pkb_max_wait_s: float = Field(default=30, gt=0, le=600)
    """maximum seconds in the queue"""
    pkb_body_timeout_s: float = Field(default=30, gt=0, le=600)
    """maximum seconds for a request body, and one more for each 64 KiB"""

    pkb_session_minutes: int = Field(default=30, ge=1, le=10_080)
    """minutes without use after which a session expires"""
    pkb_chat_heartbeat_s: float = Field(default=15, ge=0.1, le=300)
    """seconds between heartbeats of a silent stream"""
    pkb_retention_days: int | None = Field(default=None, ge=1, le=36_500)
    """days to keep answers and chats; unset: forever"""
    pkb_tombstone_days: int = Field(default=90, ge=0, le=36_500)
    """days to keep hashes of deleted texts"""

    chunk_size: int = Field(default=200, ge=16, le=8_192)
    """maximum passage of new collections, in tokens"""
    chunk_overlap: int = Field(default=0, ge=0, le=4_096)
    """tokens that passages share; 0: whole sentences; at most half of CHUNK_SIZE"""
    chunk_overlap_sentences: int = Field(default=1, ge=0, le=10)
    """sentences that passages share if CHUNK_OVERLAP is 0"""

    min_input_chars: int = Field(default=40, ge=1, le=10_000)
    """minimum length of a text, in characters"""
    max_input_chars: int = Field(default=200_000, ge=1_000, le=20_000_000)
    """maximum length of a text, in characters"""
    max_file_chars: int = Field(default=20_000_000, ge=1_000, le=200_000_000)
    """maximum text of a file, in characters"""
    pkb_model_input_chars: int = Field(default=200_000, ge=1_000, le=20_000_000)
    """maximum input of /v1/embeddings and /v1/rerank, in characters"""
    max_body_bytes: int = Field(default=10 * 2**20, ge=1_024, le=2**30)
    """maximum size of a request without a file"""
    max_file_bytes: int = Field(default=50 * 2**20, ge=1_024, le=2**32)
    """maximum size of a file"""

    pkb_user_max_bytes: int | None = Field(default=None, ge=1_024, le=2**50)
    """maximum bytes of the documents that a user owns; unset: no limit"""
    pkb_user_max_documents: int | None = Field(default=None, ge=1, le=10**9)
    """maximum documents in collections that a user owns; unset: no limit"""
    pkb_user_max_jobs: int | None = Field(default=None, ge=1, le=10**6)
    """maximum unfinished jobs of a user; unset: no limit"""
    pkb_keep_originals: bool = True
    """keep files of `POST /ingest` as long as their documents"""
    pkb_rules: Path | None = None
    """file of rules that tag new documents: YAML, TOML or JSON"""
    pkb_ocr: Literal["auto", "off"] = "auto"
    """`auto`: read pages and images without text by OCR"""
    pkb_ingest_roots: str = ""
    """folders that may be ingested over HTTP, separated by `:`"""
    pkb_fetch: Literal["off", "https", "http"] = "off"
    """allow fetching web pages; `http`: by http and https"""
    pkb_fetch_hosts: str = ""
    """private hosts that may be fetched, comma-separated"""
    pkb_crawl_delay_s: float = Field(default=1, ge=0, le=60)
    """seconds between two requests to a website; more if its robots.txt asks"""
    pkb_crawl_max_pages: int = Field(default=10_000, ge=1, le=100_000)
    """maximum pages that a user may request for a website"""
    pkb_crawl_max_bytes: int = Field(default=2**30, ge=1_024, le=2**40)
    """maximum bytes that an update of a website fetches"""
    pkb_crawl_max_hours: float = Field(default=12, gt=0, le=1_000)
    """maximum hours of an update of a website"""
    pkb_watch: str = ""
    """folders to keep in sync, `/path=collection`, separated by `:`"""
    pkb_watch_quiet_s: float = Field(default=2, ge=0.1, le=3_600)
    """seconds that a file must be unchanged before it is read"""
    pkb_sources: Path | None = None
    """file of sources to keep in sync; see docs/guides/paperless-and-mail.md"""
    pkb_worker: Literal["auto", "off"] = "auto"
    """`auto`: `manage.py serve` starts a worker with the embedded PostgreSQL"""

    otel_service_name: str = "pkb"
    """name of the service in telemetry"""
    otel_exporter: Literal["none", "console", "otlp"] = "none"
    """destination of traces and metrics"""
    otel_exporter_otlp_endpoint: str = "http://localhost:4318"
    """collector of `otlp`"""

    django_superuser_username: str = ""
    """administrator that `scripts/run` creates; unset: none"""
    django_superuser_email: str = ""
    """e-mail address of the administrator"""
    django_superuser_password: SecretStr = SecretStr("")
    """password of the administrator"""

    # Not pydantic's env_ignore_empty: an empty variable must override the file, too.
    @model_validator(mode="before")
    @classmethod
    def _drop_empty(cls, values: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in values.items() if value != ""}

    @property
    def cors_origins(self) -> list[str]:
        return split_names(self.pkb_cors_origins)

    @property
    def extra_embedding_models(self) -> list[str]:
        return split_names(self.pkb_embedding_models)

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

    @field_validator("pkb_answer_concurrency", "chunk_overlap")
    @classmethod
    def _validate_half(cls, value: int, info: ValidationInfo) -> int:
        whole = "chunk_size" if info.field_name == "chunk_overlap" else "pkb_db_pool_size"
        if value * 2 > info.data.get(whole, value * 2):
            raise ValueError(f"at most half of {whole.upper()}")
        return value


def split_names(value: str) -> list[str]:
    """Return the names of a comma-separated value."""
    return [name.strip() for name in value.split(",") if name.strip()]


def parse_watched_folders(value: str) -> list[tuple[Path, str]]:
    """Parse a value of ``PKB_WATCH`` such as ``/srv/notes:/srv/manuals=manuals``.

    The text after the last ``=`` of a part is its collection; without ``=`` it is ``default``.

    Raises:
        ValueError: A path is relative or named twice, or a collection name is invalid.
    """
    folders: list[tuple[Path, str]] = []
    for part in filter(str.strip, value.split(":")):
        path, sign, collection = part.strip().rpartition("=")
        if not sign:
            path, collection = collection, "default"
        if not Path(path).is_absolute():
            raise ValueError(f"{part!r} is not an absolute path, such as /srv/notes=default")
        if not _COLLECTION_NAME.fullmatch(collection):
            raise ValueError(f"{collection!r} is not a collection name, as in /srv/notes=default")
        if (Path(path).resolve(), collection) in folders:
            raise ValueError(f"{Path(path).resolve()} is named twice")
        folders.append((Path(path).resolve(), collection))
    return folders


def read_env(**changes: Any) -> Env:
    """Return the validated settings.

    Args:
        changes: Values that override the environment and ``.env``.

    Raises:
        SystemExit: A name is unknown or a value is out of bounds; the message names it.
    """
    names = {name.upper() for name in (*os.environ, *dotenv_values(DOTENV))}
    known = {name.upper() for name in Env.model_fields}
    unknown = sorted(name for name in names - known if name.startswith("PKB_"))
    if unknown:
        nearest = {name: get_close_matches(name, known, n=1, cutoff=0.8) for name in unknown}
        entries = [f"{n} (did you mean {nearest[n][0]}?)" if nearest[n] else n for n in unknown]
        raise SystemExit(
            f"pkb: unknown setting {', '.join(entries)} (see docs/reference/settings.md)"
        )
    try:
        return Env(**changes)
    except ValidationError as exc:
        wrong = "; ".join(f"{str(e['loc'][0]).upper()}: {e['msg']}" for e in exc.errors())
        raise SystemExit(f"pkb: bad setting {wrong}") from exc
