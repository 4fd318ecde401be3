"""Requests to a language model that runs in this process."""

from pathlib import Path
from typing import Any

from dspy import lm15

from qa.answerers.local_engine import LocalEngine, ModelFile


def engine_of(gguf: Path) -> LocalEngine:
    return LocalEngine(ModelFile(gguf, threads=1))


def request_for(text: str, **config: Any) -> Any:
    settings = lm15.Config(**{"max_tokens": 60, "temperature": 0.0, **config})
    return lm15.Request(model="local/m", messages=(lm15.Message.user(text),), config=settings)
