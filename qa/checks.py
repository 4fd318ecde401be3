"""System checks that find configuration errors before the first question fails.

They load no model and call no server.
"""

from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register
from django.core.exceptions import ImproperlyConfigured

from corpus.embedders import embedders
from corpus.errors import InvalidInput
from corpus.rules.rule_file import read_rules
from qa.answerers.lm_settings import check_remote, find_program
from qa.context import LANGUAGE_MODEL
from qa.grounding.confidence import read_calibration
from qa.readers import get_reader, readers
from qa.search.rerankers import rerankers

CONFIGURATION = "configuration"


@register(CONFIGURATION)
def check_configuration(**kwargs: Any) -> list[CheckMessage]:
    return [
        *_check_models(), *_check_calibration(), *_check_language_model(), *_check_rules()
    ]  # fmt: skip


def _check_models() -> Iterator[CheckMessage]:
    for setting, value, known in (
        ("EMBEDDING_MODEL", settings.PKB_EMBEDDING_MODEL, embedders),
        *(("PKB_EMBEDDING_MODELS", each, embedders) for each in settings.PKB_EMBEDDING_MODELS),
        ("RERANKER_MODEL", settings.PKB_RERANKER_MODEL, rerankers),
        ("PKB_READER", settings.PKB_READER_MODEL, readers),
    ):
        if value not in known:
            names = ", ".join(known.names)
            yield Error(f"{setting}: there is no {value!r}, but {names}.", id="qa.E001")


def _check_calibration() -> Iterator[CheckMessage]:
    if settings.PKB_READER_MODEL not in readers:
        return
    try:
        read_calibration(settings.PKB_CALIBRATION, get_reader().name)
    except ValueError as exc:
        yield Error(f"PKB_CALIBRATION: {exc}", id="qa.E002")


def _check_language_model() -> Iterator[CheckMessage]:
    options = settings.PKB_ANSWERERS.get(LANGUAGE_MODEL, {}).get("OPTIONS", {})
    model = options.get("model", "")
    try:
        if model:
            check_remote(model, api_base=options["api_base"], api_key=options["api_key"])
        if options.get("program"):
            find_program(options["program"], folder=options["programs"])
    except ImproperlyConfigured as exc:
        yield Error(str(exc), id="qa.E003")


def _check_rules() -> Iterator[CheckMessage]:
    if settings.PKB_RULES is None:
        return
    try:
        read_rules(settings.PKB_RULES)
    except InvalidInput as exc:
        yield Error(f"PKB_RULES: {exc}", id="qa.E005")
