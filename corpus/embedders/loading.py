"""Loading something heavy once, however many threads ask for it first."""

from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

T = TypeVar("T")


class LoadOnce(Generic[T]):
    """Holds what ``load`` returns; a load that failed is tried again at the next call."""

    def __init__(self, load: Callable[[], T]) -> None:
        self._load = load
        self._lock = Lock()
        self._loaded: list[T] = []

    @property
    def is_loaded(self) -> bool:
        return bool(self._loaded)

    def __call__(self) -> T:
        # Looked at before the lock is taken: after the first call nobody waits for anybody.
        if not self._loaded:
            with self._lock:
                if not self._loaded:
                    self._loaded.append(self._load())
        return self._loaded[0]


class LoadedOnce(Generic[T]):
    """What every model on this machine has in common: its weights load once, when first used."""

    def __init__(self, load: Callable[[], T]) -> None:
        self._loaded = LoadOnce(load)

    @property
    def is_loaded(self) -> bool:
        return self._loaded.is_loaded

    def load(self) -> None:
        """Load the weights and run them once.

        Raises:
            BackendError: The model is missing or does not load.
        """
        self._loaded()
