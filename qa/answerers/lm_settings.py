"""Check the settings of the language model, ``PKB_LM`` and its like, without loading DSPy."""

import json
import re
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

# The prefix of PKB_LM -> the server's dialect. ``ollama_chat`` is litellm's name for Ollama.
DIALECTS = {"openai": "openai", "ollama_chat": "ollama"}
PROGRAM_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,59}")


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


def find_program(program: str, *, folder: Path) -> Path:
    """Return the file of a compiled program: ``NAME`` in the folder, or ``/PATH/FILE.json``.

    Raises:
        ImproperlyConfigured: There is no such program, or it was compiled for other replies.
    """
    is_path = program.endswith(".json") and Path(program).is_absolute()
    path = Path(program) if is_path else folder / f"{program}.json"
    if not (is_path or PROGRAM_NAME.fullmatch(program)) or not path.is_file():
        raise ImproperlyConfigured(f"PKB_LM_PROGRAM: there is no program {program!r}.")
    try:
        fields = json.loads(path.read_text(encoding="utf-8"))["predict"]["signature"]["fields"]
        names = {field["prefix"] for field in fields}
    except (OSError, ValueError, KeyError, TypeError):
        return path  # what is no program at all fails when it is loaded
    if "Statements:" not in names:
        raise ImproperlyConfigured(
            f"PKB_LM_PROGRAM: {path.name} was compiled by an older version of pkb, for answers"
            " without sources. Compile it again with manage.py optimize_answerer."
        )
    return path
