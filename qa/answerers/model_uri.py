"""Validate the model URI of ``PKB_LM`` without loading DSPy."""

from django.core.exceptions import ImproperlyConfigured

# The prefix of PKB_LM -> the server's dialect. ``ollama_chat`` is litellm's name for Ollama.
DIALECTS = {"openai": "openai", "ollama_chat": "ollama"}


def check_remote(model: str, *, api_base: str, api_key: str) -> None:
    """Check the name and URL of a remote model without calling it.

    Raises:
        ImproperlyConfigured: It is of no known kind, or has no URL or key.
    """
    prefix, _, name = model.partition("/")
    if prefix not in DIALECTS or not name:
        kinds = ", ".join(f"{kind}/..." for kind in DIALECTS)
        raise ImproperlyConfigured(f"PKB_LM: {model!r} is none of {kinds}.")
    if api_base and not api_base.startswith(("http://", "https://")):
        raise ImproperlyConfigured("PKB_LM_API_BASE must begin with http:// or https://.")
    if prefix == "openai" and not (api_base or api_key):
        raise ImproperlyConfigured("PKB_LM_API_KEY or PKB_LM_API_BASE is needed for openai/...")
