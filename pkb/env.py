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
from pkb.own_backends import read_own_backends

BASE_DIR = Path(__file__).resolve().parent.parent
DOTENV = BASE_DIR / ".env"
_ORIGIN = re.compile(
    r"https?://[A-Za-z0-9.-]+(:[0-9]{1,5})?|https?://\[[0-9A-Fa-f:]+\](:[0-9]{1,5})?"
)
_PROVIDERS = r"^[A-Za-z]+ExecutionProvider(,[A-Za-z]+ExecutionProvider)*$"
_ADDRESS = r"^(https?://|$)"
_SELF_HOSTED = ("vllm/", "infinity/", "tei/")
# Prefixes of embedding models that a server runs.
SERVERS = ("openai/", "ollama/", *_SELF_HOSTED)
# As in corpus.models, which cannot be imported before the settings.
_COLLECTION_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9_-]{0,99}")


class ServerEnv(BaseSettings):
    """Settings of the server, login, logs, database and folders, which are read once."""

    model_config = SettingsConfigDict(
        env_file=DOTENV, extra="ignore", frozen=True, use_attribute_docstrings=True
    )

    APP_ENV: Literal["dev", "test", "prod"] = "dev"
    """`dev` shows the steps of an answer; also the environment name in telemetry"""
    APP_HOST: str = "127.0.0.1"
    """address that `manage.py serve` listens on"""
    APP_PORT: int = Field(default=8000, ge=1, le=65_535)
    """port that `manage.py serve` listens on"""
    ALLOWED_HOSTS: str = "localhost,127.0.0.1,[::1]"
    """host names at which pkb may be called, comma-separated"""
    PKB_CORS_ORIGINS: str = ""
    """origins whose pages may call the API, comma-separated; `*` is any"""
    PKB_PUBLIC_URL: str = ""
    """URL at which people reach the web app; unset: APP_HOST and APP_PORT"""
    PKB_AUTH: Literal["auto", "required", "off"] = "auto"
    """`auto`: a login is required unless only this machine can reach pkb"""
    PKB_OIDC_ISSUER: str = Field(default="", pattern=r"^(https?://|$)")
    """issuer URL of the OpenID provider for logins"""
    PKB_OIDC_CLIENT_ID: str = ""
    """client id of pkb at the provider"""
    PKB_OIDC_CLIENT_SECRET: SecretStr = SecretStr("")
    """client secret; unset: a public client"""
    PKB_OIDC_NAME: str = ""
    """name of the provider on the login page; unset: its host"""
    PKB_OIDC_SCOPES: str = Field(default="openid profile email", pattern=r"^openid( |$)")
    """scopes that pkb requests from the provider"""
    PKB_OIDC_CREATE_USERS: bool = False
    """create an account for a new user at the first login"""
    PKB_OIDC_GROUPS_CLAIM: str = ""
    """claim with the user's groups; unset: groups do not change"""
    PKB_OIDC_ADMIN_GROUP: str = ""
    """group of that claim whose members are administrators; all others are not"""
    PKB_AUDIT_DAYS: int = Field(default=365, ge=1, le=36_500)
    """days that the audit log is kept"""
    PKB_AUDIT_QUESTIONS: bool = False
    """record the text of questions in the audit log"""
    PKB_TRUSTED_PROXIES: int = Field(default=0, ge=0, le=10)
    """number of proxies in front of pkb whose X-Forwarded-For is trusted"""
    PKB_API_KEY: SecretStr = SecretStr("")
    """API key for `manage.py ask` and `mcp`, if a login is required"""
    PKB_MCP_READ_ONLY: bool = False
    """MCP clients cannot add texts"""
    PKB_HTTPS: bool = False
    """pkb is behind a proxy with TLS: redirects, HSTS, secure cookies"""
    LOG_LEVEL: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    """minimum severity of log messages"""
    LOG_FORMAT: Literal["console", "json"] = "console"
    """`json` writes one object per line"""

    DATABASE_URL: SecretStr | None = None
    """`postgresql://user:password@host/name`; overrides POSTGRES_*"""
    POSTGRES_HOST: str = ""
    """PostgreSQL server; without it and DATABASE_URL, the embedded one runs"""
    POSTGRES_PORT: int = Field(default=5432, ge=1, le=65_535)
    """port of POSTGRES_HOST"""
    POSTGRES_DB: str = "pkb"
    """database on POSTGRES_HOST"""
    POSTGRES_USER: str = "pkb"
    """user on POSTGRES_HOST"""
    POSTGRES_PASSWORD: SecretStr = SecretStr("")
    """password on POSTGRES_HOST"""
    POSTGRES_OWNER: str = ""
    """role that owns the tables, also with DATABASE_URL; unset: the serving role"""
    POSTGRES_OWNER_PASSWORD: SecretStr = SecretStr("")
    """password of that role"""
    PKB_DB_POOL_SIZE: int = Field(default=20, ge=2, le=200)
    """database connections of a process"""
    PKB_STATEMENT_TIMEOUT_S: float = Field(default=60, ge=1, le=3_600)
    """maximum seconds of a database statement in a request"""
    PKB_LOCK_TIMEOUT_S: float = Field(default=10, ge=1, le=3_600)
    """maximum seconds that a request waits for a database lock"""

    PKB_DATA_DIR: Path = BASE_DIR / "var"
    """folder of the embedded PostgreSQL, uploads, results and the secret key"""
    PKB_POSTGRES_BIN: Path | None = None
    """folder of the embedded PostgreSQL's programs, with pgvector; unset: those of the package"""
    PKB_MODEL_DIR: Path | None = None
    """folder of converted models; unset: `models` in PKB_DATA_DIR"""
    PKB_SECRET_KEY: SecretStr | None = None
    """Django's secret key; unset: created once and stored in PKB_DATA_DIR"""

    PKB_BACKUP_DIR: Path | None = None
    """folder for automatic backups; unset: none are made"""
    PKB_BACKUP_KEEP: int = Field(default=7, ge=1, le=1_000)
    """number of backups to keep"""
    PKB_BACKUP_EVERY_HOURS: float = Field(default=24, ge=0.1, le=8_760)
    """hours between two backups"""

    @field_validator("PKB_CORS_ORIGINS")
    @classmethod
    def _validate_origins(cls, value: str) -> str:
        origins = split_names(value)
        if origins != ["*"] and not all(map(_ORIGIN.fullmatch, origins)):
            raise ValueError("scheme, host and port, such as https://app.example.org:8443")
        return value

    @field_validator("PKB_OIDC_CLIENT_ID")
    @classmethod
    def _validate_client_id(cls, value: str, info: ValidationInfo) -> str:
        if info.data.get("PKB_OIDC_ISSUER") and not value:
            raise ValueError("needed with PKB_OIDC_ISSUER")
        return value

    @field_validator("PKB_OIDC_ADMIN_GROUP")
    @classmethod
    def _validate_admin_group(cls, value: str, info: ValidationInfo) -> str:
        if value and not info.data.get("PKB_OIDC_GROUPS_CLAIM"):
            raise ValueError("needs PKB_OIDC_GROUPS_CLAIM")
        return value


class Env(ServerEnv):
    """All settings; each field is the environment variable of that name."""

    EMBEDDING_MODEL: str = "bge-small-en-v1.5+all-MiniLM-L6-v2"
    """model of new collections: included, a folder, `hf:...`, or a server's as `openai/...`"""
    EMBEDDING_DIM: int | None = Field(default=None, ge=1, le=4_000)
    """expected dimension of EMBEDDING_MODEL; shortens vectors of `openai/...`"""
    PKB_BACKENDS: Path | None = None
    """file of models, answerers and loaders of your own; see docs/guides/extend.md"""
    PKB_EMBEDDING_MODELS: str = ""
    """further models that collections may use, such as `openai/...`, comma-separated"""
    PKB_EMBEDDING_API_BASE: str = Field(default="", pattern=_ADDRESS, validate_default=True)
    """address of the server of embedding models; unset: OpenAI's, or Ollama on this machine"""
    PKB_EMBEDDING_API_KEY: SecretStr = SecretStr("")
    """key of that server"""
    PKB_EMBEDDING_MAX_TOKENS: int = Field(default=8_191, ge=32, le=131_072)
    """maximum input of a server's embedding models, in tokens of OpenAI's"""
    PKB_EMBEDDING_QUERY_PREFIX: str = ""
    """text before each query, if EMBEDDING_MODEL is not included and needs it, as e5 `"query: "`"""
    PKB_EMBEDDING_DOCUMENT_PREFIX: str = ""
    """text before each passage, likewise"""
    EMBEDDING_BATCH_SIZE: int = Field(default=8, ge=1, le=512)
    """number of texts that a local model embeds at a time"""
    RERANKER_MODEL: str = "answerai-colbert-small-v1"
    """model that reorders: included, `none`, a folder, `hf:...`, or a server's as `cohere/...`"""
    PKB_RERANKER_API_BASE: str = Field(default="", pattern=_ADDRESS, validate_default=True)
    """address of the server of rerankers; unset: Cohere's"""
    PKB_RERANKER_API_KEY: SecretStr = SecretStr("")
    """key of that server"""
    PKB_TOKEN_VECTORS: Literal["off", "lazy", "all"] = Field(default="all")
    """store token vectors of `all` passages, or only of search results (`lazy`)"""
    PKB_READER: str = "minilm-l12-reader"
    """model that decides whether and where a passage answers: name, file or `none`"""
    PKB_MODEL_FETCH: Literal["off", "hub"] = "off"
    """`hub`: fetch models named `hf:ORG/NAME@REVISION` from the Hugging Face hub, once"""
    PKB_ONNX_PROVIDERS: str = Field(default="CPUExecutionProvider", pattern=_PROVIDERS)
    """execution providers of onnxruntime, comma-separated, the best first"""
    PKB_TORCH_DEVICE: str = Field(default="cpu", pattern=r"^(cpu|mps|(cuda|xpu)(:\d{1,2})?)$")
    """device of models that torch runs"""
    PKB_MODEL_TIMEOUT_S: float = Field(default=60, gt=0, le=600)
    """maximum seconds of one request to an embedding or reranking server"""
    PKB_MODEL_THREADS: int = Field(default=0, ge=0, le=256)
    """maximum number of model computations at once; 0: one for each core"""

    PKB_LM: str = ""
    """language model: `openai/...` or `ollama_chat/...`"""
    PKB_LM_API_BASE: str = ""
    """server of the language model; unset: the provider's own"""
    PKB_LM_API_KEY: SecretStr = SecretStr("")
    """key of that server"""
    PKB_LM_TIMEOUT_S: float = Field(default=60, gt=0, le=3_600)
    """maximum seconds for an answer of the language model, with retries"""
    PKB_LM_PAUSE_S: float = Field(default=120, ge=0, le=3_600)
    """seconds to wait before retrying an unresponsive language model"""
    PKB_LM_MAX_TOKENS: int = Field(default=400, ge=16, le=8_192)
    """maximum length of a language model's answer, in tokens"""
    PKB_LM_PASSAGE_TOKENS: int = Field(default=7_000, ge=100, le=100_000)
    """tokens of passages that a language model gets, about; 1000 for a slow one"""
    PKB_LM_PROGRAM: str = ""
    """prompt of `manage.py optimize_answerer`: NAME or a file"""

    RETRIEVAL_K: int = Field(default=12, ge=1, le=50)
    """number of passages to consider for an answer, unless a request sets it"""
    # Measured: docs/decisions/0004.
    FUSION_ALPHA: float = Field(default=0.5, ge=0, le=1)
    """weight of search by meaning; the rest is search by words"""
    PKB_CANDIDATE_COUNT: int = Field(default=50, ge=1, le=1_000)
    """number of passages that each of the two searches finds"""
    PKB_PASSAGES_PER_DOCUMENT: int = Field(default=8, ge=1, le=1_000)
    """further passages of one document move behind those of others"""
    PKB_RERANK_COUNT: int = Field(default=40, ge=1, le=200)
    """number of passages that the reranker judges"""
    # Measured on ten data sets: docs/decisions/0004.
    PKB_RERANK_WEIGHT: float = Field(default=0.4, ge=0, le=1)
    """weight of the reranker's score; the rest is the score of the search"""
    PKB_HNSW_EF_SEARCH: int = Field(default=100, ge=10, le=1_000)
    """candidates of an HNSW search; more find more and take longer"""
    # What both thresholds accept and reject: docs/decisions/0023.
    PKB_ANSWER_FROM: float = Field(default=0.5, ge=0, le=1)
    """minimum confidence of an answer; below it, passages are shown"""
    PKB_LM_ANSWER_FROM: float = Field(default=0.5, ge=0, le=1)
    """minimum confidence of an answer by a language model; see `calibrate --lm`"""
    PKB_ABSTAIN_BELOW: float = Field(default=0.52, ge=0, le=1)
    """below this similarity of the best passage, nothing is about the question"""
    PKB_CALIBRATION: Path = BASE_DIR / "qa" / "calibration.json"
    """file of `manage.py calibrate` that turns scores into confidence"""
    PKB_ANSWER_WORDS: int = Field(default=65, ge=10, le=500)
    """maximum words of a quoted answer; at most half of them from a second passage"""
    PKB_ANSWER_CONCURRENCY: int = Field(default=2, ge=1, le=100, validate_default=True)
    """answers at once in a process; at most half of PKB_DB_POOL_SIZE"""
    PKB_ANSWER_CACHE: int = Field(default=500, ge=0, le=100_000)
    """number of answers to keep for repeated questions; 0: none"""
    # Admission control: docs/decisions/0027.
    PKB_SEARCH_CONCURRENCY: int = Field(default=0, ge=0, le=100)
    """searches at once; 0: one for each core, at least two"""
    PKB_ENCODING_CONCURRENCY: int = Field(default=0, ge=0, le=100)
    """texts to ingest or embed at once; 0: as searches"""
    PKB_LIGHT_CONCURRENCY: int = Field(default=0, ge=0, le=200)
    """other requests at once; 0: the rest of the pool"""
    PKB_WAITING_PER_PLACE: int = Field(default=10, ge=0, le=1_000)
    """maximum queued requests per running request"""
    PKB_MAX_WAIT_S: float = Field(default=30, gt=0, le=600)
    """maximum seconds in the queue"""
    PKB_BODY_TIMEOUT_S: float = Field(default=30, gt=0, le=600)
    """maximum seconds for a request body, and one more for each 64 KiB"""

    PKB_SESSION_MINUTES: int = Field(default=30, ge=1, le=10_080)
    """minutes without use after which a session expires"""
    PKB_CHAT_HEARTBEAT_S: float = Field(default=15, ge=0.1, le=300)
    """seconds between heartbeats of a silent stream"""
    PKB_RETENTION_DAYS: int | None = Field(default=None, ge=1, le=36_500)
    """days to keep answers and chats; unset: forever"""
    PKB_TOMBSTONE_DAYS: int = Field(default=90, ge=0, le=36_500)
    """days to keep hashes of deleted texts"""

    CHUNK_SIZE: int = Field(default=200, ge=16, le=8_192)
    """maximum passage of new collections, in tokens"""
    CHUNK_OVERLAP: int = Field(default=0, ge=0, le=4_096)
    """tokens that passages share; 0: whole sentences; at most half of CHUNK_SIZE"""
    CHUNK_OVERLAP_SENTENCES: int = Field(default=1, ge=0, le=10)
    """sentences that passages share if CHUNK_OVERLAP is 0"""

    MIN_INPUT_CHARS: int = Field(default=40, ge=1, le=10_000)
    """minimum length of a text, in characters"""
    MAX_INPUT_CHARS: int = Field(default=200_000, ge=1_000, le=20_000_000)
    """maximum length of a text, in characters"""
    MAX_FILE_CHARS: int = Field(default=20_000_000, ge=1_000, le=200_000_000)
    """maximum text of a file, in characters"""
    PKB_MODEL_INPUT_CHARS: int = Field(default=200_000, ge=1_000, le=20_000_000)
    """maximum input of /v1/embeddings and /v1/rerank, in characters"""
    MAX_BODY_BYTES: int = Field(default=10 * 2**20, ge=1_024, le=2**30)
    """maximum size of a request without a file"""
    MAX_FILE_BYTES: int = Field(default=50 * 2**20, ge=1_024, le=2**32)
    """maximum size of a file"""

    PKB_USER_MAX_BYTES: int | None = Field(default=None, ge=1_024, le=2**50)
    """maximum bytes of the documents that a user owns; unset: no limit"""
    PKB_USER_MAX_DOCUMENTS: int | None = Field(default=None, ge=1, le=10**9)
    """maximum documents in collections that a user owns; unset: no limit"""
    PKB_USER_MAX_JOBS: int | None = Field(default=None, ge=1, le=10**6)
    """maximum unfinished jobs of a user; unset: no limit"""
    PKB_KEEP_ORIGINALS: bool = True
    """keep files of `POST /ingest` as long as their documents"""
    PKB_RULES: Path | None = None
    """file of rules that tag new documents: YAML, TOML or JSON"""
    PKB_OCR: Literal["auto", "off"] = "auto"
    """`auto`: read pages and images without text by OCR"""
    PKB_CONVERTER_URL: str = Field(
        default="", pattern=r"^(?:(?:docling|tika)\+https?://[^\s/]+\S*)?$"
    )
    """server that reads files of `PKB_CONVERTER_FORMATS`: `docling+http://...` or `tika+http://...`"""
    PKB_CONVERTER_KEY: SecretStr = SecretStr("")
    """key that this server asks for (`X-Api-Key`)"""
    PKB_CONVERTER_FORMATS: str = Field(
        default="djvu,heic,key,numbers,pages,pub,vsd,vsdx,wpd,wps",
        pattern=r"^[a-z0-9]+(?:,[a-z0-9]+)*$",
    )
    """extensions of files for that server, comma-separated, also of formats that pkb reads"""
    PKB_CONVERTER_TIMEOUT_S: float = Field(default=300, ge=1, le=3_600)
    """maximum seconds for a file"""
    PKB_INGEST_ROOTS: str = ""
    """folders that may be ingested over HTTP, separated by `:`"""
    PKB_FETCH: Literal["off", "https", "http"] = "off"
    """allow fetching web pages; `http`: by http and https"""
    PKB_FETCH_HOSTS: str = ""
    """private hosts that may be fetched, comma-separated"""
    PKB_WEBHOOK_HOSTS: str = ""
    """hosts that webhooks may always reach, also private ones and by http, comma-separated"""
    PKB_CRAWL_DELAY_S: float = Field(default=1, ge=0, le=60)
    """seconds between two requests to a website; more if its robots.txt asks"""
    PKB_CRAWL_MAX_PAGES: int = Field(default=10_000, ge=1, le=100_000)
    """maximum pages that a user may request for a website"""
    PKB_CRAWL_MAX_BYTES: int = Field(default=2**30, ge=1_024, le=2**40)
    """maximum bytes that an update of a website fetches"""
    PKB_CRAWL_MAX_HOURS: float = Field(default=12, gt=0, le=1_000)
    """maximum hours of an update of a website"""
    PKB_WATCH: str = ""
    """folders to keep in sync, `/path=collection`, separated by `:`"""
    PKB_WATCH_QUIET_S: float = Field(default=2, ge=0.1, le=3_600)
    """seconds that a file must be unchanged before it is read"""
    PKB_SOURCES: Path | None = None
    """file of sources to keep in sync; see docs/guides/sources.md"""
    PKB_WORKER: Literal["auto", "off"] = "auto"
    """`auto`: `manage.py serve` starts a worker with the embedded PostgreSQL"""

    OTEL_SERVICE_NAME: str = "pkb"
    """name of the service in telemetry"""
    OTEL_EXPORTER: Literal["none", "console", "otlp"] = "none"
    """destination of traces and metrics"""
    OTEL_EXPORTER_OTLP_ENDPOINT: str = "http://localhost:4318"
    """collector of `otlp`"""

    DJANGO_SUPERUSER_USERNAME: str = ""
    """administrator that `scripts/run` creates; unset: none"""
    DJANGO_SUPERUSER_EMAIL: str = ""
    """e-mail address of the administrator"""
    DJANGO_SUPERUSER_PASSWORD: SecretStr = SecretStr("")
    """password of the administrator"""

    # Not pydantic's env_ignore_empty: an empty variable must override the file, too.
    @model_validator(mode="before")
    @classmethod
    def _drop_empty(cls, values: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in values.items() if value != ""}

    @property
    def embedding_model_name(self) -> str:
        """Return the name under which vectors are stored; for an API it includes the dimension."""
        is_open = self.EMBEDDING_MODEL.startswith(SERVERS) and "@" not in self.EMBEDDING_MODEL
        dimension = f"@{self.EMBEDDING_DIM}" if is_open and self.EMBEDDING_DIM else ""
        return self.EMBEDDING_MODEL + dimension

    @property
    def sources(self) -> list[SourceSettings]:
        """Return the sources of ``PKB_SOURCES``, with secrets from the environment or ``.env``."""
        if self.PKB_SOURCES is None:
            return []
        return read_sources(self.PKB_SOURCES, environment={**dotenv_values(DOTENV), **os.environ})

    @field_validator("PKB_WATCH")
    @classmethod
    def _validate_folders(cls, value: str) -> str:
        parse_watched_folders(value)
        return value

    @field_validator("PKB_BACKENDS")
    @classmethod
    def _validate_backends(cls, value: Path | None) -> Path | None:
        read_own_backends(value)
        return value

    @field_validator("PKB_SOURCES")
    @classmethod
    def _validate_sources(cls, value: Path | None) -> Path | None:
        if value is not None:
            read_sources(value, environment={})
        return value

    @field_validator("PKB_EMBEDDING_API_BASE", "PKB_RERANKER_API_BASE")
    @classmethod
    def _validate_address(cls, value: str, info: ValidationInfo) -> str:
        is_embedding = info.field_name == "PKB_EMBEDDING_API_BASE"
        setting = "EMBEDDING_MODEL" if is_embedding else "RERANKER_MODEL"
        models = [info.data.get(setting, "")]
        if is_embedding:
            models += split_names(info.data.get("PKB_EMBEDDING_MODELS", ""))
        if not value and any(model.startswith(_SELF_HOSTED) for model in models):
            raise ValueError(f"needed for models of {', '.join(_SELF_HOSTED)}")
        return value

    @field_validator("PKB_ANSWER_CONCURRENCY", "CHUNK_OVERLAP")
    @classmethod
    def _validate_half(cls, value: int, info: ValidationInfo) -> int:
        whole = "CHUNK_SIZE" if info.field_name == "CHUNK_OVERLAP" else "PKB_DB_POOL_SIZE"
        if value * 2 > info.data.get(whole, value * 2):
            raise ValueError(f"at most half of {whole}")
        return value


def split_names(value: str) -> list[str]:
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
    unknown = sorted(name for name in names - Env.model_fields.keys() if name.startswith("PKB_"))
    if unknown:
        nearest = {
            name: get_close_matches(name, Env.model_fields, n=1, cutoff=0.8) for name in unknown
        }
        entries = [f"{n} (did you mean {nearest[n][0]}?)" if nearest[n] else n for n in unknown]
        raise SystemExit(
            f"pkb: unknown setting {', '.join(entries)} (see docs/reference/settings.md)"
        )
    try:
        return Env(**changes)
    except ValidationError as exc:
        wrong = "; ".join(f"{e['loc'][0]}: {e['msg']}" for e in exc.errors())
        raise SystemExit(f"pkb: bad setting {wrong}") from exc
