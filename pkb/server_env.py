"""Settings of the server, login, logs, database and folders: the base class of ``pkb.env.Env``."""

import re
from pathlib import Path
from typing import Literal

from pydantic import Field, SecretStr, ValidationInfo, field_validator
from pydantic_settings import BaseSettings

BASE_DIR = Path(__file__).resolve().parent.parent
_ORIGIN = re.compile(
    r"https?://[A-Za-z0-9.-]+(:[0-9]{1,5})?|https?://\[[0-9A-Fa-f:]+\](:[0-9]{1,5})?"
)


class ServerEnv(BaseSettings):
    """Settings of the server, login, logs, database and folders."""

    app_env: Literal["dev", "test", "prod"] = Field(
        default="dev",
        description="`dev` shows the steps of an answer; also the environment name in telemetry",
    )
    app_host: str = Field(
        default="127.0.0.1", description="address that `manage.py serve` listens on"
    )
    app_port: int = Field(
        default=8000, ge=1, le=65_535, description="port that `manage.py serve` listens on"
    )
    allowed_hosts: str = Field(
        default="localhost,127.0.0.1,[::1]",
        description="host names at which pkb may be called, comma-separated",
    )
    pkb_cors_origins: str = Field(
        default="", description="origins whose pages may call the API, comma-separated; `*` is any"
    )
    pkb_public_url: str = Field(
        default="",
        description="URL at which people reach the web app; unset: APP_HOST and APP_PORT",
    )
    pkb_auth: Literal["auto", "required", "off"] = Field(
        default="auto",
        description="`auto`: a login is required unless only this machine can reach pkb",
    )
    pkb_oidc_issuer: str = Field(
        default="",
        pattern=r"^(https?://|$)",
        description="issuer URL of the OpenID provider for logins",
    )
    pkb_oidc_client_id: str = Field(default="", description="client id of pkb at the provider")
    pkb_oidc_client_secret: SecretStr = Field(
        default=SecretStr(""), description="client secret; unset: a public client"
    )
    pkb_oidc_name: str = Field(
        default="", description="name of the provider on the login page; unset: its host"
    )
    pkb_oidc_scopes: str = Field(
        default="openid profile email",
        pattern=r"^openid( |$)",
        description="scopes that pkb requests from the provider",
    )
    pkb_oidc_create_users: bool = Field(
        default=False, description="create an account for a new user at the first login"
    )
    pkb_oidc_groups_claim: str = Field(
        default="", description="claim with the user's groups; unset: groups do not change"
    )
    pkb_oidc_admin_group: str = Field(
        default="",
        description="group of that claim whose members are administrators; all others are not",
    )
    pkb_audit_days: int = Field(
        default=365, ge=1, le=36_500, description="days that the audit log is kept"
    )
    pkb_audit_questions: bool = Field(
        default=False, description="record the text of questions in the audit log"
    )
    pkb_trusted_proxies: int = Field(
        default=0,
        ge=0,
        le=10,
        description="number of proxies in front of pkb whose X-Forwarded-For is trusted",
    )
    pkb_api_key: SecretStr = Field(
        default=SecretStr(""),
        description="API key for `manage.py ask` and `mcp`, if a login is required",
    )
    pkb_mcp_read_only: bool = Field(default=False, description="MCP clients cannot add texts")
    pkb_https: bool = Field(
        default=False, description="pkb is behind a proxy with TLS: redirects, HSTS, secure cookies"
    )
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field(
        default="INFO", description="minimum severity of log messages"
    )
    log_format: Literal["console", "json"] = Field(
        default="console", description="`json` writes one object per line"
    )

    database_url: SecretStr | None = Field(
        default=None, description="`postgresql://user:password@host/name`; overrides POSTGRES_*"
    )
    postgres_host: str = Field(
        default="",
        description="PostgreSQL server; without it and DATABASE_URL, the embedded one runs",
    )
    postgres_port: int = Field(default=5432, ge=1, le=65_535, description="port of POSTGRES_HOST")
    postgres_db: str = Field(default="pkb", description="database on POSTGRES_HOST")
    postgres_user: str = Field(default="pkb", description="user on POSTGRES_HOST")
    postgres_password: SecretStr = Field(
        default=SecretStr(""), description="password on POSTGRES_HOST"
    )
    postgres_owner: str = Field(
        default="",
        description="role that owns the tables, also with DATABASE_URL; unset: the serving role",
    )
    postgres_owner_password: SecretStr = Field(
        default=SecretStr(""), description="password of that role"
    )
    pkb_replica_url: SecretStr | None = Field(
        default=None, description="standby of DATABASE_URL for searches; unset: none"
    )
    pkb_replica_wait_ms: int = Field(
        default=20,
        ge=0,
        le=1_000,
        description="milliseconds to wait until the standby is up to date",
    )
    pkb_db_pool_size: int = Field(
        default=20, ge=2, le=200, description="database connections of a process"
    )
    pkb_statement_timeout_s: float = Field(
        default=60,
        ge=1,
        le=3_600,
        description="maximum seconds of a database statement in a request",
    )
    pkb_lock_timeout_s: float = Field(
        default=10,
        ge=1,
        le=3_600,
        description="maximum seconds that a request waits for a database lock",
    )

    pkb_data_dir: Path = Field(
        default=BASE_DIR / "var",
        description="folder of the embedded PostgreSQL, uploads, results and the secret key",
    )
    pkb_model_dir: Path | None = Field(
        default=None, description="folder of converted models; unset: `models` in PKB_DATA_DIR"
    )
    pkb_secret_key: SecretStr | None = Field(
        default=None,
        description="Django's secret key; unset: created once and stored in PKB_DATA_DIR",
    )

    pkb_backup_dir: Path | None = Field(
        default=None, description="folder for automatic backups; unset: none are made"
    )
    pkb_backup_keep: int = Field(default=7, ge=1, le=1_000, description="number of backups to keep")
    pkb_backup_every_hours: float = Field(
        default=24, ge=0.1, le=8_760, description="hours between two backups"
    )

    @field_validator("pkb_cors_origins")
    @classmethod
    def _validate_origins(cls, value: str) -> str:
        origins = [origin.strip() for origin in value.split(",") if origin.strip()]
        if origins != ["*"] and not all(map(_ORIGIN.fullmatch, origins)):
            raise ValueError("scheme, host and port, such as https://app.example.org:8443")
        return value

    @field_validator("pkb_oidc_client_id")
    @classmethod
    def _validate_client_id(cls, value: str, read: ValidationInfo) -> str:
        if read.data.get("pkb_oidc_issuer") and not value:
            raise ValueError("needed with PKB_OIDC_ISSUER")
        return value

    @field_validator("pkb_oidc_admin_group")
    @classmethod
    def _validate_admin_group(cls, value: str, read: ValidationInfo) -> str:
        if value and not read.data.get("pkb_oidc_groups_claim"):
            raise ValueError("needs PKB_OIDC_GROUPS_CLAIM")
        return value

    @property
    def cors_origins(self) -> list[str]:
        return [origin.strip() for origin in self.pkb_cors_origins.split(",") if origin.strip()]
