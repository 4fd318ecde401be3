"""What of a deployment lets others do more than was meant, told at the start."""

from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import psycopg
from django.conf import settings
from django.core import checks
from django.db import connection
from psycopg.rows import class_row

from corpus.postgres import ROLE_CHECKS
from pkb.http.exposure import Exposure, is_loopback
from pkb.postgres.roles import (
    CAN_CREATE_LARGE_OBJECTS,
    FORBID_LARGE_OBJECTS,
    LEAKPROOF,
    MISSING_LEAKPROOF,
    leakproof_statement,
)
from qa.checks import CONFIGURATION

# A server that does not answer in this time is asked nothing: who needs it will hear of that.
CONNECT_TIMEOUT_S = 2
ROLES_HINT = (
    "Let DATABASE_URL or POSTGRES_USER name a role that owns nothing, and POSTGRES_OWNER another,"
    " which owns the tables: pkb/postgres/sql makes both (docs/guides/database.md)."
)
_POWERS = f"""
SELECT rolname AS role, rolsuper OR rolbypassrls AS is_powerful,
       EXISTS (SELECT FROM pg_class
                WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p')
                  AND pg_has_role(relowner, 'MEMBER')) AS may_own,
       EXISTS (SELECT FROM pg_db_role_setting LEFT JOIN pg_database d ON d.oid = setdatabase
                WHERE setrole = pg_roles.oid
                  AND coalesce(datname, current_database()) = current_database()) AS has_settings,
       {CAN_CREATE_LARGE_OBJECTS} AS can_create_large_objects,
       ARRAY ({MISSING_LEAKPROOF}) AS not_leakproof
  FROM pg_roles WHERE rolname = current_user
"""  # noqa: S608


class Powers(NamedTuple):
    """What a role may do beyond its work.

    Attributes:
        is_powerful: It is a superuser, or no policy holds for it.
        may_own: It owns a table, or is a member of the role that does.
        has_settings: It has settings of its own for each session, as it may give itself.
        can_create_large_objects: It, like every role, may write into the database without a table.
        not_leakproof: Of ``LEAKPROOF``, what the server does not know to be.
    """

    role: str
    is_powerful: bool
    may_own: bool
    has_settings: bool
    can_create_large_objects: bool
    not_leakproof: list[str]


_AS_POWERS = class_row(Powers)


@checks.register(CONFIGURATION)
def check_deployment(**kwargs: Any) -> list[checks.CheckMessage]:
    return list(check_exposure(settings.EXPOSURE))


def check_exposure(exposure: Exposure) -> Iterator[checks.CheckMessage]:
    """Yield an error where others need no login, a warning where keys can be overheard.

    And a warning where a proxy stands before it whose clients cannot be told apart.
    """
    reasons = exposure.reasons()
    if settings.PKB_AUTH == "off" and reasons:
        message = f"PKB_AUTH=off is for this machine alone, but {', '.join(reasons)}:"
        hint = "Leave PKB_AUTH unset: a login is required then (docs/explanation/security.md)."
        yield checks.Error(f"{message} whoever reaches it may do all.", hint=hint, id="pkb.E001")
    elif not (is_loopback(exposure.bind) or exposure.is_behind_tls):
        message = f"APP_HOST: {exposure.bind} is no loopback address, and nothing encrypts:"
        hint = "Put a proxy that ends TLS before it, and set PKB_HTTPS (docs/guides/proxy.md)."
        yield checks.Warning(f"{message} passwords and keys can be read.", hint=hint, id="pkb.W001")
    if exposure.is_behind_tls and not settings.PKB_TRUSTED_PROXIES:
        message = "PKB_HTTPS is set and PKB_TRUSTED_PROXIES is 0: everybody has the proxy's address"
        hint = "Set PKB_TRUSTED_PROXIES to how many proxies there are (docs/guides/proxy.md)."
        yield checks.Warning(f"{message} and shares its limits.", hint=hint, id="pkb.W004")
    issuer = urlsplit(exposure.issuer)
    if issuer.scheme == "http" and not is_loopback(issuer.hostname or ""):
        message = f"PKB_OIDC_ISSUER: {exposure.issuer} is not https:"
        yield checks.Error(f"{message} who is between could log in as anybody.", id="pkb.E003")


@checks.register(CONFIGURATION, ROLE_CHECKS)
def check_role(**kwargs: Any) -> list[checks.CheckMessage]:
    """Ask a server that is not ours what the role may do; the embedded one's is right."""
    powers = None if settings.PKB_POSTGRES_DIR else _ask_for_powers()
    return [] if powers is None else [*_judge(powers), *_miss_marks(powers)]


def _judge(powers: Powers) -> Iterator[checks.CheckMessage]:
    by_rank = f"The database role {powers.role!r} is a superuser or gets around row-level security:"
    if settings.PKB_AUTH_REQUIRED and (powers.is_powerful or powers.may_own):
        by_owning = f"The database role {powers.role!r} owns the tables, or may become their owner:"
        message = f"{by_rank if powers.is_powerful else by_owning} nothing keeps users apart."
        yield checks.Error(message, hint=ROLES_HINT, id="pkb.E002")
    elif powers.is_powerful:
        yield checks.Warning(f"{by_rank} SQL could run programs.", hint=ROLES_HINT, id="pkb.W002")
    if settings.PKB_AUTH_REQUIRED and powers.has_settings:
        message = f"The database role {powers.role!r} has settings of its own: whose, nobody knows."
        hint = "ALTER ROLE ... RESET ALL, and IN DATABASE, too. Set options in DATABASE_URL."
        yield checks.Error(message, hint=hint, id="pkb.E004")


def _miss_marks(powers: Powers) -> Iterator[checks.CheckMessage]:
    if powers.not_leakproof:
        message = (
            "Under row-level security this server does not ask some indexes: searches are slow."
        )
        statements = "; ".join(map(leakproof_statement, powers.not_leakproof))
        hint = f"Let its superuser run, in this database: {statements}"
        yield checks.Warning(message, hint=hint, id="pkb.W003")
    if powers.can_create_large_objects:
        message = "On this server every role may make large objects, which no policy bounds."
        hint = f"Let its superuser run, in this database: {FORBID_LARGE_OBJECTS}"
        yield checks.Warning(message, hint=hint, id="pkb.W005")


def _ask_for_powers() -> Powers | None:
    wanted = {**connection.get_connection_params(), "connect_timeout": CONNECT_TIMEOUT_S}
    try:
        with psycopg.connect(**wanted) as asking, asking.cursor(row_factory=_AS_POWERS) as cursor:
            return cursor.execute(_POWERS, [list(LEAKPROOF)]).fetchone()
    except psycopg.OperationalError:
        return None
