"""Which language model ``PKB_LM`` names, told without loading DSPy."""

from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

from corpus.packages import LOCAL_LM, check_packages

LOCAL = "local:"
# The prefix of PKB_LM -> the server's dialect. ``ollama_chat`` is litellm's name for Ollama.
DIALECTS = {"openai": "openai", "ollama_chat": "ollama"}


def find_model_file(model: str) -> Path:
    """Return the file that ``local:FILE.gguf`` names.

    Raises:
        ImproperlyConfigured: There is none, or the package that runs it is missing.
    """
    path = Path(model.removeprefix(LOCAL)).expanduser()
    if not path.is_file():
        raise ImproperlyConfigured(f"PKB_LM: there is no file {path}.")
    check_packages("xllamacpp", requirements=LOCAL_LM)
    return path.resolve()


def check_remote(model: str, *, api_base: str, api_key: str) -> None:
    """Check the name and the address of a model behind a server; nothing is reached.

    Raises:
        ImproperlyConfigured: It is of no known kind, or has no address or key.
    """
    prefix, _, name = model.partition("/")
    if prefix not in DIALECTS or not name:
        kinds = ", ".join(f"{kind}/..." for kind in DIALECTS)
        raise ImproperlyConfigured(f"PKB_LM: {model!r} is none of {kinds}, local:<GGUF file>.")
    if api_base and not api_base.startswith(("http://", "https://")):
        raise ImproperlyConfigured("PKB_LM_API_BASE must begin with http:// or https://.")
    if prefix == "openai" and not (api_base or api_key):
        raise ImproperlyConfigured("PKB_LM_API_KEY or PKB_LM_API_BASE is needed for openai/...")
