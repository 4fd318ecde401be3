"""Rules that tag documents by path, title, words or sender, as they come in and on demand."""

from corpus.rules.conditions import FIELDS, settle_rule
from corpus.rules.kept import (
    add_rule,
    all_rules,
    change_rule,
    delete_rule,
    find_rule,
    keep_set_rules,
    rules_in_force,
)
from corpus.rules.matches import Trial, apply_rule, documents_of, rules_of, try_rule

__all__ = [
    "FIELDS", "Trial", "add_rule", "all_rules", "apply_rule", "change_rule", "delete_rule",
    "documents_of", "find_rule", "keep_set_rules", "rules_in_force", "rules_of",
    "settle_rule", "try_rule",
]  # fmt: skip
