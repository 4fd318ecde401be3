"""Django settings; the only reader of the environment is ``pkb.env``."""

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from corsheaders.defaults import default_headers

from corpus.filters import FILTER_SCHEMAS
from pkb import __version__
from pkb.data_folder import create_data_folder
from pkb.databases import read_databases
from pkb.env import read_env
from pkb.http.exposure import Exposure
from pkb.logs import logging_config
from pkb.model_catalogue import (
    CROSS_ENCODER,
    answerers,
    embedders,
    readers,
    rerankers,
    token_embedders,
)
from pkb.secret_key import read_secret_key
from pkb.server_env import BASE_DIR
from pkb.watch_setting import parse_watched_folders

env = read_env()

# Model libraries read these at import: never fetch anything at run time.
os.environ.setdefault("HF_HUB_OFFLINE", "1")
# onnxruntime sends telemetry unless this is set before its import.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
# All matrix products are small: more numpy threads would cost 30 times as much CPU, mostly waiting.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
# litellm contains tiktoken's cl100k file; locate the package without importing it.
if (_litellm := find_spec("litellm")) and _litellm.origin:
    _TOKENIZERS = Path(_litellm.origin).parent / "litellm_core_utils" / "tokenizers"
    os.environ.setdefault("TIKTOKEN_CACHE_DIR", str(_TOKENIZERS))

VERSION = __version__
DEBUG = False
IS_DEV = env.app_env == "dev"
DATA_DIR = create_data_folder(env.pkb_data_dir)
SECRET_KEY = read_secret_key(env)
ALLOWED_HOSTS = [host.strip() for host in env.allowed_hosts.split(",") if host.strip()]
ROOT_URLCONF = "pkb.urls"
LOGIN_URL = "web:login"
LOGIN_REDIRECT_URL = "web:ask"
LOGOUT_REDIRECT_URL = "web:login"
ASGI_APPLICATION = "pkb.asgi.application"

INSTALLED_APPS = [
    "pkb",  # before django.contrib.auth, whose createsuperuser it replaces
    "corsheaders",
    "unfold.apps.BasicAppConfig",
    "pkb.apps.OrderedAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "django.contrib.postgres",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "csp",
    "django_htmx",
    "django_structlog",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "procrastinate.contrib.django",
    "rest_framework",
    "axes",
    "knox",
    "corpus",
    "accounts",
    "qa",
    "evaluation",
    "web",
]
MIDDLEWARE = [
    "corsheaders.middleware.CorsMiddleware",
    "pkb.http.middleware.OriginMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "pkb.http.middleware.LogMiddleware",
    "pkb.http.middleware.RequestIdMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "pkb.http.middleware.PolicyMiddleware",
    "pkb.http.access.AccessMiddleware",
    "web.error_pages.PageErrorMiddleware",
    "axes.middleware.AxesMiddleware",
]
TEMPLATES: list[dict[str, Any]] = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "pkb" / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]

UNFOLD = {
    "SITE_TITLE": "pkb",
    "SITE_HEADER": "pkb",
    "SITE_URL": "/ui/",
    "SHOW_HISTORY": False,
    "DASHBOARD_CALLBACK": "pkb.dashboard.add_counts",
    # Shades of the web app's --accent: 600, and 400 in dark mode.
    "COLORS": {
        "primary": {
            "50": "#f4f7fd",
            "100": "#e8eefa",
            "200": "#cddaf5",
            "300": "#b3c9f7",
            "400": "#8fb4ff",
            "500": "#5a8aeb",
            "600": "#2456b8",
            "700": "#1e4a9f",
            "800": "#1b3f85",
            "900": "#19356c",
            "950": "#112145",
        }
    },
}

PKB_POSTGRES_DIR: Path | None
DATABASES, PKB_POSTGRES_DIR = read_databases(env, DATA_DIR)
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

LANGUAGE_CODE = "en-us"
TIME_ZONE = "UTC"
USE_TZ = True
STATIC_URL = "static/"
WHITENOISE_USE_FINDERS = True
APPEND_SLASH = False

# Only these origins may call the API from a browser.
CORS_ALLOW_ALL_ORIGINS = env.cors_origins == ["*"]
CORS_ALLOWED_ORIGINS = [] if CORS_ALLOW_ALL_ORIGINS else env.cors_origins
CORS_ALLOW_HEADERS = [
    *default_headers, "idempotency-key", "last-event-id", "x-api-key", "x-request-id",
]  # fmt: skip
CORS_EXPOSE_HEADERS = ["Location", "Retry-After", "X-Request-Id"]
CORS_URLS_REGEX = r"^/(?!admin|ui)"

SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'self'"],
        "img-src": ["'self'", "data:"],
        "object-src": ["'none'"],
        "base-uri": ["'none'"],
        "form-action": ["'self'"],
        "frame-ancestors": ["'none'"],
    }
}
# Alpine in the admin evaluates attributes; Swagger UI and the admin use inline styles.
PKB_INLINE_SCRIPT_PATHS = ("/admin", "/docs")
PKB_INLINE_SCRIPT_POLICY = {
    "script-src": ["'self'", "'unsafe-inline'", "'unsafe-eval'"],
    "style-src": ["'self'", "'unsafe-inline'"],
    "font-src": ["'self'", "data:"],
}
SECURE_SSL_REDIRECT = env.pkb_https
# Prometheus on this machine does not send X-Forwarded-Proto.
SECURE_REDIRECT_EXEMPT = [r"^health$", r"^ready$", r"^metrics$"]
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if env.pkb_https else None
SECURE_HSTS_SECONDS = 365 * 24 * 3_600 if env.pkb_https else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = env.pkb_https
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = env.pkb_https
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
_RULES = "django.contrib.auth.password_validation"
AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "django.contrib.auth.backends.ModelBackend",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"{_RULES}.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": f"{_RULES}.CommonPasswordValidator"},
    {"NAME": f"{_RULES}.UserAttributeSimilarityValidator"},
]
# API keys are stored in our own model: knox has no tables.
KNOX_TOKEN_MODEL = "accounts.ApiKey"  # noqa: S105  (a name)
MIGRATION_MODULES = {"knox": None}
REST_KNOX = {"AUTH_HEADER_PREFIX": "Bearer", "TOKEN_PREFIX": "pkb_", "TOKEN_TTL": None}
# axes rejects logins; accounts.lockouts counts failures.
AXES_HANDLER = "accounts.lockouts.LoginHandler"
AXES_LOCKOUT_TEMPLATE = "web/locked_out.html"
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False
AXES_CLIENT_IP_CALLABLE = "accounts.client_ip.client_ip"
AXES_ENABLE_ADMIN = False
AXES_ALLOWED_CORS_ORIGINS = ""
AXES_VERBOSE = False
# Logging the user would read the session: every request with a cookie would need the database, even
# /health.
DJANGO_STRUCTLOG_USER_ID_FIELD = ""
LOGGING = logging_config(level=env.log_level, json_lines=env.log_format == "json")

# pkb.http.admission limits all bodies.
DATA_UPLOAD_MAX_MEMORY_SIZE = None
FILE_UPLOAD_MAX_MEMORY_SIZE = 2**20

REST_FRAMEWORK = {
    "EXCEPTION_HANDLER": "pkb.http.problems.exception_handler",
    "DEFAULT_SCHEMA_CLASS": "pkb.http.openapi.ProblemAutoSchema",
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["pkb.http.negotiation.ObjectParser"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "pkb.http.negotiation.ProblemNegotiation",
    "DEFAULT_AUTHENTICATION_CLASSES": [],
    "DEFAULT_PERMISSION_CLASSES": [],
    "UNAUTHENTICATED_USER": None,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "pkb",
    "DESCRIPTION": "Answers from your own documents, with verified citations.",
    "VERSION": VERSION,
    "OAS_VERSION": "3.1.0",
    "SERVE_INCLUDE_SCHEMA": False,
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "ENFORCE_NON_BLANK_FIELDS": True,
    "COMPONENT_SPLIT_REQUEST": True,
    "SERVERS": [{"url": "/", "description": "this server"}],
    # Sections of /docs, in order.
    "TAGS": [
        {
            "name": "Ask",
            "description": "Ask questions, get answers with verified citations, and rate them.",
        },
        {"name": "Search", "description": "Find passages, and check a claim."},
        {
            "name": "Documents",
            "description": "Ingest, read and delete documents, their chunks and tags.",
        },
        {
            "name": "Collections",
            "description": "Documents that are searched together, with one embedding model.",
        },
        {"name": "Jobs", "description": "Background jobs."},
        {
            "name": "Index scripts",
            "description": "Compatible endpoints for scripts that call a collection an index.",
        },
        {"name": "OpenAI", "description": "Compatible endpoints for clients of OpenAI and Cohere."},
        {"name": "Service", "description": "Health, status, metrics and audit log."},
    ],
    "APPEND_COMPONENTS": {
        "schemas": FILTER_SCHEMAS,
        "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
    },
    # No key is needed if no login is required.
    "SECURITY": [{"key": []}, {}],
    "ENUM_NAME_OVERRIDES": {
        "GrantRole": "corpus.models.Grant.Role",
        "AnswerKind": "qa.models.Answer.Kind",
        "DocumentStatus": "corpus.models.Document.Status",
        "JobStatus": "corpus.models.Job.Status",
        "CitationSupport": ["supported", "partial"],
        "ClaimSupport": ["supported", "partial", "unsupported", "contradicted"],
    },
}

MODEL_DIR = env.pkb_model_dir or DATA_DIR / "models"
PKB_EMBEDDERS = embedders(env, cache_dir=MODEL_DIR)
PKB_EMBEDDING_MODEL = env.embedding_model_name
PKB_EMBEDDING_MODELS = env.extra_embedding_models
PKB_EMBEDDING_DIM = env.embedding_dim
PKB_RERANKERS = rerankers(env)
PKB_RERANKER_MODEL = env.reranker_model
PKB_TOKEN_EMBEDDERS = token_embedders(env)
PKB_TOKEN_VECTORS = env.pkb_token_vectors
# Judges whether one sentence supports another; its thresholds are valid only for this model.
PKB_JUDGE_MODEL = CROSS_ENCODER
PKB_READERS = readers(env, cache_dir=MODEL_DIR)
PKB_READER_MODEL = env.pkb_reader
PKB_PROGRAMS_DIR = DATA_DIR / "programs"
# File with the address of the last `serve`, for other processes.
PKB_SERVED_AT = DATA_DIR / "served-at"
PKB_ANSWERERS = answerers(env, programs_dir=PKB_PROGRAMS_DIR)

PKB_RETRIEVAL_K = env.retrieval_k
PKB_FUSION_ALPHA = env.fusion_alpha
PKB_CANDIDATE_COUNT = env.pkb_candidate_count
PKB_QUERY_EXPANSIONS = env.pkb_query_expansions
PKB_PASSAGES_PER_DOCUMENT = env.pkb_passages_per_document
PKB_RERANK_COUNT = env.pkb_rerank_count
PKB_RERANK_WEIGHT = env.pkb_rerank_weight
PKB_CALIBRATION = env.pkb_calibration
PKB_ABSTAIN_BELOW = env.pkb_abstain_below
PKB_ANSWER_FROM = env.pkb_answer_from
PKB_LM_ANSWER_FROM = env.pkb_lm_answer_from
PKB_ANSWER_CACHE = env.pkb_answer_cache
PKB_ANSWER_CONCURRENCY = env.pkb_answer_concurrency
PKB_SEARCH_CONCURRENCY = env.pkb_search_concurrency
PKB_ENCODING_CONCURRENCY = env.pkb_encoding_concurrency
PKB_LIGHT_CONCURRENCY = env.pkb_light_concurrency
PKB_WAITING_PER_PLACE = env.pkb_waiting_per_place
PKB_MAX_WAIT_S = env.pkb_max_wait_s
PKB_BODY_TIMEOUT_S = env.pkb_body_timeout_s
PKB_STATEMENT_TIMEOUT_S = env.pkb_statement_timeout_s
PKB_LOCK_TIMEOUT_S = env.pkb_lock_timeout_s
PKB_REPLICA_WAIT_MS = env.pkb_replica_wait_ms
PKB_DB_POOL_SIZE = env.pkb_db_pool_size
PKB_SESSION_MINUTES = env.pkb_session_minutes
PKB_CHAT_HEARTBEAT_S = env.pkb_chat_heartbeat_s
PKB_RETENTION_DAYS = env.pkb_retention_days
PKB_TOMBSTONE_DAYS = env.pkb_tombstone_days
PKB_CHUNK_SIZE = env.chunk_size
PKB_CHUNK_OVERLAP = env.chunk_overlap
PKB_CHUNK_OVERLAP_SENTENCES = env.chunk_overlap_sentences
PKB_MIN_INPUT_CHARS = env.min_input_chars
PKB_MAX_INPUT_CHARS = env.max_input_chars
PKB_MAX_FILE_CHARS = env.max_file_chars
PKB_MODEL_INPUT_CHARS = env.pkb_model_input_chars
PKB_MAX_BODY_BYTES = env.max_body_bytes
PKB_MAX_FILE_BYTES = env.max_file_bytes
PKB_USER_MAX_BYTES = env.pkb_user_max_bytes
PKB_USER_MAX_DOCUMENTS = env.pkb_user_max_documents
PKB_USER_MAX_JOBS = env.pkb_user_max_jobs
PKB_KEEP_ORIGINALS = env.pkb_keep_originals
PKB_RULES = env.pkb_rules
PKB_OCR = env.pkb_ocr
PKB_INGEST_ROOTS = [Path(root).resolve() for root in env.pkb_ingest_roots.split(":") if root]
PKB_FETCH = env.pkb_fetch
PKB_FETCH_HOSTS = {host.strip().lower() for host in env.pkb_fetch_hosts.split(",") if host.strip()}
PKB_CRAWL_DELAY_S = env.pkb_crawl_delay_s
PKB_CRAWL_MAX_PAGES = env.pkb_crawl_max_pages
PKB_CRAWL_MAX_BYTES = env.pkb_crawl_max_bytes
PKB_CRAWL_MAX_HOURS = env.pkb_crawl_max_hours
PKB_WATCH = parse_watched_folders(env.pkb_watch)
PKB_WATCH_QUIET_S = env.pkb_watch_quiet_s
PKB_SOURCES = env.sources
PKB_MANAGE = BASE_DIR / "manage.py"
PKB_BACKUP_DIR = env.pkb_backup_dir and env.pkb_backup_dir.resolve()
PKB_BACKUP_KEEP = env.pkb_backup_keep
PKB_BACKUP_EVERY_HOURS = env.pkb_backup_every_hours
# The `tasks` module of each app is found automatically.
PROCRASTINATE_IMPORT_PATHS = ["pkb.backup.tasks"]
PKB_EVALUATIONS_DIR = DATA_DIR / "evaluations"
PKB_WORKER = env.pkb_worker
PKB_OTEL_SERVICE_NAME = env.otel_service_name
PKB_OTEL_EXPORTER = env.otel_exporter
PKB_OTEL_ENDPOINT = env.otel_exporter_otlp_endpoint.rstrip("/")
PKB_OTEL_ENVIRONMENT = env.app_env
PKB_HOST = env.app_host
PKB_PORT = env.app_port
PKB_PUBLIC_URL = env.pkb_public_url.rstrip("/") or f"http://{PKB_HOST}:{PKB_PORT}"
EXPOSURE = Exposure.of(env)
PKB_AUTH = env.pkb_auth
PKB_AUTH_REQUIRED = EXPOSURE.requires_login(env.pkb_auth)
PKB_OIDC_ISSUER = env.pkb_oidc_issuer
PKB_OIDC_CLIENT_ID = env.pkb_oidc_client_id
PKB_OIDC_CLIENT_SECRET = env.pkb_oidc_client_secret.get_secret_value()
PKB_OIDC_NAME = env.pkb_oidc_name or urlsplit(env.pkb_oidc_issuer).netloc
PKB_OIDC_SCOPES = env.pkb_oidc_scopes
PKB_OIDC_CREATE_USERS = env.pkb_oidc_create_users
PKB_OIDC_GROUPS_CLAIM = env.pkb_oidc_groups_claim
PKB_OIDC_ADMIN_GROUP = env.pkb_oidc_admin_group
PKB_AUDIT_DAYS = env.pkb_audit_days
PKB_AUDIT_QUESTIONS = env.pkb_audit_questions
PKB_TRUSTED_PROXIES = env.pkb_trusted_proxies
PKB_API_KEY = env.pkb_api_key.get_secret_value()
PKB_MCP_READ_ONLY = env.pkb_mcp_read_only
PKB_SUPERUSER = {
    "username": env.django_superuser_username,
    "email": env.django_superuser_email,
    "password": env.django_superuser_password.get_secret_value(),
}
