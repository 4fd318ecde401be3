"""System checks that find configuration errors before the first question fails.

They load no model and call no server.
"""

from collections.abc import Iterable
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register
from django.core.exceptions import ImproperlyConfigured

from corpus.backends import BackendRegistry
from corpus.embedders import embedders
from corpus.errors import InvalidInput
from corpus.loaders.registry import loader_for
from corpus.rules.rule_file import read_rules
from qa.answerers.lm_settings import check_remote, find_program
from qa.context import LANGUAGE_MODEL
from qa.grounding.confidence import read_calibration
from qa.readers import get_reader, readers
from qa.search.rerankers import rerankers

CONFIGURATION = "configuration"


@register(CONFIGURATION)
def check_models(**kwargs: Any) -> list[CheckMessage]:
    chosen: Iterable[tuple[str, str, BackendRegistry[Any]]] = (
        ("EMBEDDING_MODEL", settings.PKB_EMBEDDING_MODEL, embedders),
        *(("PKB_EMBEDDING_MODELS", each, embedders) for each in settings.PKB_EMBEDDING_MODELS),
        ("RERANKER_MODEL", settings.PKB_RERANKER_MODEL, rerankers),
        ("PKB_READER", settings.PKB_READER_MODEL, readers),
    )
    return [
        Error(
            f"{setting}: there is no {value!r}, but {', '.join(known.names)}.",
            hint="A model of a server needs @DIMENSION, one of the Hugging Face hub is "
            "hf:ORG/NAME@REVISION, and a folder must exist (docs/guides/language-models.md).",
            id="qa.E001",
        )
        for setting, value, known in chosen
        if value not in known
    ]


@register(CONFIGURATION)
def check_calibration(**kwargs: Any) -> list[CheckMessage]:
    try:
        if settings.PKB_READER_MODEL in readers:
            read_calibration(settings.PKB_CALIBRATION, get_reader().name)
    except ValueError as exc:
        return [Error(f"PKB_CALIBRATION: {exc}", id="qa.E002")]
    return []


@register(CONFIGURATION)
def check_language_model(**kwargs: Any) -> list[CheckMessage]:
    options = settings.PKB_ANSWERERS.get(LANGUAGE_MODEL, {}).get("OPTIONS", {})
    model = options.get("model", "")
    try:
        if model:
            check_remote(model, api_base=options["api_base"], api_key=options["api_key"])
        if options.get("program"):
            find_program(options["program"], folder=options["programs"])
    except ImproperlyConfigured as exc:
        return [Error(str(exc), id="qa.E003")]
    return []


@register(CONFIGURATION)
def check_loaders(**kwargs: Any) -> list[CheckMessage]:
    errors: list[CheckMessage] = []
    for media_type in settings.PKB_LOADERS:
        try:
            loader_for(media_type)
        except (AttributeError, ImportError, TypeError) as exc:
            errors.append(Error(f"PKB_BACKENDS: loaders: {media_type}: {exc!r}", id="qa.E006"))
    return errors


@register(CONFIGURATION)
def check_rules(**kwargs: Any) -> list[CheckMessage]:
    try:
        if settings.PKB_RULES is not None:
            read_rules(settings.PKB_RULES)
    except InvalidInput as exc:
        return [Error(f"PKB_RULES: {exc}", id="qa.E005")]
    return []
