"""What is kept no longer: what is too old, and what was said of documents that are deleted."""

from qa.retention.erasure import erase_derived_answers, reset_completed_question
from qa.retention.expiry import purge

__all__ = ["erase_derived_answers", "purge", "reset_completed_question"]
