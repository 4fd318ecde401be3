"""Check that optional packages are installed before the work begins."""

from importlib.util import find_spec

from django.core.exceptions import ImproperlyConfigured

EVALUATION = "requirements-evaluation.txt"


def check_packages(*modules: str, requirements: str) -> None:
    """Raise if packages of a requirement file are missing; import nothing.

    Raises:
        ImproperlyConfigured: A module is missing; the message names it and the package to install.
    """
    missing = [module for module in modules if find_spec(module) is None]
    if missing:
        names = " and ".join(missing)
        raise ImproperlyConfigured(f"Missing: {names}; pip install -r locks/{requirements}")
