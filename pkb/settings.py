"""Django settings; the only reader of the environment is ``pkb.env``."""

import os
from pathlib import Path
from typing import Any

from corsheaders.defaults import default_headers

from corpus.filters import FILTER_SCHEMAS
from pkb import __version__
from pkb.data_folder import create_data_folder, read_secret_key
from pkb.databases import read_databases
from pkb.env import BASE_DIR, read_env, split_names
from pkb.http.exposure import Exposure
from pkb.logs import logging_config
from pkb.model_catalogue import Catalogue
from pkb.product_settings import product_settings

env = read_env()

# Model libraries read these at import: never fetch anything at run time. Only the process that
# fetches a model (PKB_MODEL_FETCH) is online.
os.environ["HF_HUB_OFFLINE"] = "1"
# onnxruntime sends telemetry unless this is set before its import.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
# All matrix products are small: more numpy threads would cost 30 times as much CPU, mostly waiting.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# The vocabulary cl100k_base, under the name that tiktoken looks for.
os.environ.setdefault("TIKTOKEN_CACHE_DIR", str(BASE_DIR / "corpus" / "embedders" / "cl100k"))

VERSION = __version__
DEBUG = False
IS_DEV = env.APP_ENV == "dev"
DATA_DIR = create_data_folder(env.PKB_DATA_DIR)
SECRET_KEY = read_secret_key(env)
ALLOWED_HOSTS = split_names(env.ALLOWED_HOSTS)
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
                "web.readable_collections.collection_names",
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

TIME_ZONE = "UTC"
STATIC_URL = "static/"
WHITENOISE_USE_FINDERS = True
APPEND_SLASH = False

# Only these origins may call the API from a browser.
cors_origins = split_names(env.PKB_CORS_ORIGINS)
CORS_ALLOW_ALL_ORIGINS = cors_origins == ["*"]
CORS_ALLOWED_ORIGINS = [] if CORS_ALLOW_ALL_ORIGINS else cors_origins
CORS_ALLOW_HEADERS = [
    *default_headers, "idempotency-key", "last-event-id", "x-api-key", "x-request-id",
]  # fmt: skip
CORS_EXPOSE_HEADERS = ["Location", "Retry-After", "X-Request-Id"]
CORS_URLS_REGEX = r"^/(?!admin|ui)"

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
PKB_INLINE_SCRIPT_POLICY = {
    "script-src": ["'self'", "'unsafe-inline'", "'unsafe-eval'"],
    "style-src": ["'self'", "'unsafe-inline'"],
    "font-src": ["'self'", "data:"],
}
SECURE_SSL_REDIRECT = env.PKB_HTTPS
# Prometheus on this machine does not send X-Forwarded-Proto.
SECURE_REDIRECT_EXEMPT = [r"^health$", r"^ready$", r"^metrics$"]
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if env.PKB_HTTPS else None
SECURE_HSTS_SECONDS = 365 * 24 * 3_600 if env.PKB_HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = env.PKB_HTTPS
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = env.PKB_HTTPS
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
LOGGING = logging_config(level=env.LOG_LEVEL, json_lines=env.LOG_FORMAT == "json")

# pkb.http.admission limits all bodies.
DATA_UPLOAD_MAX_MEMORY_SIZE = None
FILE_UPLOAD_MAX_MEMORY_SIZE = 2**20

REST_FRAMEWORK = {
    "EXCEPTION_HANDLER": "pkb.http.problems.exception_handler",
    "DEFAULT_SCHEMA_CLASS": "pkb.http.openapi.ProblemAutoSchema",
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["corpus.api.requests.ObjectParser"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "corpus.api.requests.ProblemNegotiation",
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
            "name": "Grids",
            "description": "Questions that are asked of each document of a collection.",
        },
        {"name": "Webhooks", "description": "Signed messages that tell other programs of events."},
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

EXPOSURE = Exposure.of(env)
# pkb's own settings are the fields of pkb/env.py, and those that pkb/product_settings.py names. The
# catalogues are declared for tests, which import them from here.
PKB_EMBEDDERS: Catalogue
PKB_RERANKERS: Catalogue
PKB_READERS: Catalogue
vars().update(product_settings(env, DATA_DIR))
# The `tasks` module of each app is found automatically.
PROCRASTINATE_IMPORT_PATHS = ["pkb.backup.tasks"]
