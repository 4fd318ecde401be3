"""Rules that tag documents by path, title, words or sender, at ingestion and on demand.

Here they are stored; ``matching`` compares them with documents.
"""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from corpus.access.principal import SYSTEM, acting_as
from corpus.errors import InvalidInput, RuleExists, RuleIsSet, RuleNotFound
from corpus.models import Collection, Rule
from corpus.postgres import execute, fetch_prepared
from corpus.rules.conditions import FIELDS, validate_rule
from corpus.rules.rule_file import MAX_RULES, read_rules

_read: set[Path] = set()
_ANY = "SELECT FROM corpus_rule LIMIT 1"
_ONE_AT_A_TIME = "SELECT pg_advisory_xact_lock(hashtext('corpus_rule'))"


def active_rules() -> list[Rule]:
    """Return the rules that apply, whoever ingests a document."""
    with acting_as(SYSTEM):
        # Most installations have none, and every document needs them.
        is_any = settings.PKB_RULES is not None or fetch_prepared(_ANY, [])
        return list(all_rules()) if is_any else []


def all_rules() -> QuerySet[Rule]:
    """Return all rules by name.

    The file of ``PKB_RULES`` is read once per process: a change needs a restart.

    Raises:
        InvalidInput: The file cannot be read.
    """
    path = settings.PKB_RULES
    if path is None:
        return Rule.objects.filter(is_set=False)
    if path not in _read:
        save_configured_rules()
        # Not in the transaction of a document, which may be rolled back.
        transaction.on_commit(partial(_read.add, path))
    return Rule.objects.all()


@transaction.atomic
def save_configured_rules() -> None:
    """Store the rules of ``PKB_RULES``.

    Raises:
        InvalidInput: The file cannot be read.
    """
    rules = read_rules(settings.PKB_RULES) if settings.PKB_RULES else []
    execute(_ONE_AT_A_TIME)
    for rule in rules:
        Rule.objects.update_or_create(name=rule["name"], is_set=True, defaults=rule)
    names = [rule["name"] for rule in rules]
    Rule.objects.filter(is_set=True).exclude(name__in=names).delete()


def find_rule(rule_id: UUID) -> Rule:
    """Return a rule.

    Raises:
        RuleNotFound: No rule has this id.
    """
    rule = Rule.objects.filter(pk=rule_id).first()
    if rule is None:
        raise RuleNotFound(f"There is no rule {rule_id}.")
    return rule


@transaction.atomic
def add_rule(values: Mapping[str, Any]) -> Rule:
    """Create a rule for documents ingested from now on.

    Raises:
        InvalidInput: As ``validate_rule``, or there are too many rules.
        CollectionNotFound: No collection has that name.
        RuleExists: The name is taken.
    """
    rule = Rule(**_validate(values))
    execute(_ONE_AT_A_TIME)
    if Rule.objects.filter(is_set=False).count() >= MAX_RULES:
        raise InvalidInput(f"There are already {MAX_RULES} rules, the maximum. Delete one first.")
    return _save(rule)


@transaction.atomic
def change_rule(rule_id: UUID, values: Mapping[str, Any]) -> Rule:
    """Update fields of a rule; tags it has added stay.

    Raises:
        InvalidInput, CollectionNotFound, RuleExists: As ``add_rule``.
        RuleNotFound, RuleIsSet: As ``delete_rule``.
    """
    rule = _find_own(rule_id)
    current = {field: getattr(rule, field) for field in FIELDS}
    for field, value in _validate({**current, **values}).items():
        setattr(rule, field, value)
    return _save(rule)


@transaction.atomic
def delete_rule(rule_id: UUID) -> None:
    """Delete a rule; tags it has added stay.

    Raises:
        RuleNotFound: There is none of this id.
        RuleIsSet: It is in the file of ``PKB_RULES``.
    """
    _find_own(rule_id).delete()


def _find_own(rule_id: UUID) -> Rule:
    rule = find_rule(rule_id)
    if rule.is_set:
        raise RuleIsSet(f"The rule {rule.name!r} comes from the file in PKB_RULES. Edit it there.")
    return rule


def _validate(values: Mapping[str, Any]) -> dict[str, Any]:
    fields = validate_rule(values)
    if fields["collection"]:
        Collection.objects.get_named(fields["collection"])
    return fields


def _save(rule: Rule) -> Rule:
    try:
        with transaction.atomic():
            rule.save()
    except IntegrityError as exc:
        raise RuleExists(f"A rule {rule.name!r} already exists.") from exc
    return rule
