"""The rules of the table: those that people keep, and those that ``PKB_RULES`` sets."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, connection, transaction
from django.db.models import QuerySet

from corpus.access.principal import SYSTEM, acting_as
from corpus.errors import InvalidInput, RuleExists, RuleIsSet, RuleNotFound
from corpus.models import Collection, Rule
from corpus.postgres.prepared import fetch_prepared
from corpus.rules.conditions import FIELDS, settle_rule
from corpus.rules.rule_file import MAX_RULES, read_rules

_read: set[Path] = set()
_ANY = "SELECT FROM corpus_rule LIMIT 1"
_ONE_AT_A_TIME = "SELECT pg_advisory_xact_lock(hashtext('corpus_rule'))"


def rules_in_force() -> list[Rule]:
    """Return the rules that hold, whoever brings something in."""
    with acting_as(SYSTEM):
        # Most have none, and every document asks.
        is_any = settings.PKB_RULES is not None or fetch_prepared(_ANY, [])
        return list(all_rules()) if is_any else []


def all_rules() -> QuerySet[Rule]:
    """Return the rules that hold, in order of their names.

    The file of ``PKB_RULES`` is read once a process: a change takes a new start.

    Raises:
        InvalidInput: That file cannot be read.
    """
    path = settings.PKB_RULES
    if path is None:
        return Rule.objects.filter(is_set=False)
    if path not in _read:
        keep_set_rules()
        # Not if a document whose transaction this is comes to nothing.
        transaction.on_commit(partial(_read.add, path))
    return Rule.objects.all()


@transaction.atomic
def keep_set_rules() -> None:
    """Make the table say what ``PKB_RULES`` says.

    Raises:
        InvalidInput: The file cannot be read.
    """
    said = read_rules(settings.PKB_RULES) if settings.PKB_RULES else []
    with connection.cursor() as cursor:
        cursor.execute(_ONE_AT_A_TIME)
    for rule in said:
        Rule.objects.update_or_create(name=rule["name"], is_set=True, defaults=rule)
    names = [rule["name"] for rule in said]
    Rule.objects.filter(is_set=True).exclude(name__in=names).delete()


def find_rule(rule_id: UUID) -> Rule:
    """Return a rule.

    Raises:
        RuleNotFound: There is none of this id.
    """
    rule = Rule.objects.filter(pk=rule_id).first()
    if rule is None:
        raise RuleNotFound(f"There is no rule {rule_id}.")
    return rule


@transaction.atomic
def add_rule(given: Mapping[str, Any]) -> Rule:
    """Keep a rule, for what comes in from now on.

    Raises:
        InvalidInput: As ``settle_rule``, or there are too many.
        CollectionNotFound: There is none of that name.
        RuleExists: The name is taken.
    """
    rule = Rule(**_checked(given))
    with connection.cursor() as cursor:
        cursor.execute(_ONE_AT_A_TIME)
    if Rule.objects.filter(is_set=False).count() >= MAX_RULES:
        raise InvalidInput(f"There are {MAX_RULES} rules already, the most that can be.")
    return _save(rule)


@transaction.atomic
def change_rule(rule_id: UUID, given: Mapping[str, Any]) -> Rule:
    """Change what is given; tags that the rule has put on stay.

    Raises:
        InvalidInput, CollectionNotFound, RuleExists: As ``add_rule``.
        RuleNotFound, RuleIsSet: As ``delete_rule``.
    """
    rule = _find_own(rule_id)
    said = {field: getattr(rule, field) for field in FIELDS}
    for field, value in _checked({**said, **given}).items():
        setattr(rule, field, value)
    return _save(rule)


@transaction.atomic
def delete_rule(rule_id: UUID) -> None:
    """Remove a rule; tags that it has put on stay.

    Raises:
        RuleNotFound: There is none of this id.
        RuleIsSet: It stands in the file of ``PKB_RULES``.
    """
    _find_own(rule_id).delete()


def _find_own(rule_id: UUID) -> Rule:
    rule = find_rule(rule_id)
    if rule.is_set:
        raise RuleIsSet(f"{rule.name!r} stands in the file of PKB_RULES: change it there.")
    return rule


def _checked(given: Mapping[str, Any]) -> dict[str, Any]:
    settled = settle_rule(given)
    if settled["collection"]:
        Collection.objects.named(settled["collection"])
    return settled


def _save(rule: Rule) -> Rule:
    try:
        with transaction.atomic():
            rule.save()
    except IntegrityError as exc:
        raise RuleExists(f"There is a rule {rule.name!r} already.") from exc
    return rule
