"""Load the models in the background when a process starts."""

import gc
from threading import Thread, main_thread

import structlog
from django.conf import settings

from corpus.backends import LoadableModel
from corpus.embedders import embedders, get_embedder
from corpus.errors import BackendError
from qa.context import EXTRACTIVE, answerers, default_answerer_name, get_answerer
from qa.readers import get_reader, readers
from qa.search.rerankers import rerankers

log = structlog.get_logger(__name__)


def start_loading() -> Thread:
    """Start a thread that loads the graph and the models.

    A process that ends meanwhile waits for the current model: interrupting its load would crash
    the process.
    """
    thread = Thread(target=_load_models, name="warming")
    thread.start()
    return thread


def question_models() -> tuple[LoadableModel, ...]:
    """Return the models that every question in a new collection needs."""
    return (
        get_embedder(settings.PKB_EMBEDDING_MODEL),
        rerankers[settings.PKB_RERANKER_MODEL],
        get_reader(),
        rerankers[settings.PKB_JUDGE_MODEL],
        get_answerer(default_answerer_name()),
    )


def _load_models() -> None:
    from qa.graph import build_graph  # noqa: PLC0415  (imports LangGraph)

    build_graph()
    for model in question_models():
        if not main_thread().is_alive():
            return
        try:
            model.load()
        except BackendError as exc:
            log.error("model_did_not_load", reason=str(exc))
    # The loaded objects stay. Exclude them from garbage collection, which would pause all threads
    # (docs/decisions/0014).
    gc.collect()
    gc.freeze()


def is_lm_loaded() -> bool:
    """Return whether a language model is configured and its answerer is loaded."""
    name = default_answerer_name()
    return name != EXTRACTIVE and name in answerers.loaded and get_answerer(name).is_loaded


def are_models_loaded() -> bool:
    names = {settings.PKB_RERANKER_MODEL, settings.PKB_JUDGE_MODEL}
    return (
        settings.PKB_EMBEDDING_MODEL in embedders.loaded
        and get_embedder(settings.PKB_EMBEDDING_MODEL).is_loaded
        and names <= set(rerankers.loaded)
        and settings.PKB_READER_MODEL in readers.loaded
        and all(rerankers[name].is_loaded for name in names)
        and get_reader().is_loaded
    )
