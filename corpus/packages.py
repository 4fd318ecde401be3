"""Check that optional packages are installed before the work begins."""

from importlib.util import find_spec

from django.core.exceptions import ImproperlyConfigured


def check_packages(*modules: str) -> None:
    """Raise if packages of the group "evaluation" are missing; import nothing.

    Raises:
        ImproperlyConfigured: A module is missing; the message names it and how to install it.
    """
    missing = [module for module in modules if find_spec(module) is None]
    if missing:
        names = " and ".join(missing)
        raise ImproperlyConfigured(f"Missing: {names}; run scripts/install evaluation")
