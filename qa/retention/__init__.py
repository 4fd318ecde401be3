"""What is kept no longer: what is too old, and what was said of documents that are deleted."""

from qa.retention.age import purge
from qa.retention.erasure import erase_what_was_said, forget_what_completed

__all__ = ["erase_what_was_said", "forget_what_completed", "purge"]
