"""Deletion of expired data, and of answers from deleted documents."""

from qa.retention.erasure import erase_derived_answers, reset_completed_question
from qa.retention.expiry import purge

__all__ = ["erase_derived_answers", "purge", "reset_completed_question"]
