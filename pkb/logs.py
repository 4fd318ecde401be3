"""Structured logs: one line per event, as text or as JSON."""

import logging
from typing import Any

import structlog


def logging_config(*, level: str, json_lines: bool) -> dict[str, Any]:
    """Configure structlog to use Django's logging, and return the LOGGING setting."""
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.StackInfoRenderer(),
    ]
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    renderers: list[Any]
    if json_lines:
        renderers = [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    else:
        # A rich traceback would show local variables, with texts and keys.
        plain = structlog.dev.plain_traceback
        renderers = [structlog.dev.ConsoleRenderer(colors=False, exception_formatter=plain)]
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "structured": {
                "()": structlog.stdlib.ProcessorFormatter,
                "processors": [
                    structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                    *renderers,
                ],
                "foreign_pre_chain": shared,
            }
        },
        "filters": {
            "no_traceback": {
                "()": "django.utils.log.CallbackFilter",
                "callback": _drop_traceback,
            }
        },
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "structured"}},
        "root": {"handlers": ["stderr"], "level": level},
        # A failed request is logged once, by django_structlog, with its traceback.
        "loggers": {
            "django.request": {"level": "CRITICAL"},
            # Any client can cause it: log one line without a traceback.
            "django.security.DisallowedHost": {"filters": ["no_traceback"]},
            "axes": {"level": "WARNING"},
            "httpx2": {"level": "WARNING"},
            "mcp": {"level": "WARNING"},
            "procrastinate": {"level": "WARNING"},
        },
    }


def _drop_traceback(record: logging.LogRecord) -> bool:
    record.exc_info = None
    return True
