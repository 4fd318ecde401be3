"""Select the tables, rows and columns of an export or backup.

All models are included, also future ones, unless they are named here or seem to hold secrets.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from typing import Any, NamedTuple

from django.apps import apps
from django.apps.registry import Apps
from django.db.models import ForeignKey
from psycopg import sql

# With the reason. Tables with a required foreign key to one of them are excluded, too.
EXCLUDED = {
    "accounts_failedlogin": "failures of the last hour, shown to their user at the next login",
    "accounts_knownclient": "browsers and networks from which users log in to this installation",
    "accounts_setupaddress": "a one-time setup link, valid for minutes",
    "corpus_collectionaccess": "written by a trigger, from the collections",
    "corpus_collectionchange": "written by triggers; versions of collections are never reused",
    "corpus_documentcount": "counted by triggers when documents are stored",
    "corpus_droppedfile": "files to delete from this machine",
    "corpus_installation": "processes on this database",
    "corpus_termcount": "counted by triggers when chunks are stored",
    "corpus_webhookdelivery": "what was sent from this installation, or is about to be",
    "django_session": "sessions of browsers",
    "qa_chatstream": "stored for minutes, to resume interrupted streams",
}
# Apps whose tables hold only temporary state.
EXCLUDED_APPS = frozenset({"axes"})
VECTOR_TABLES = frozenset({"corpus_embedding", "corpus_tokenvectors"})
# Replacements of secrets in exports; Django treats this one as an unusable password.
BLANKED = {("auth_user", "password"): "!"}
# A table with such a column is only part of backups.
_SECRET = re.compile(
    r"password|passwd|secret|salt|api_?key|token_?key|key_hash|key_sha256|credential"
)
# Migrations create their rows, so they exist in an empty installation and are replaced.
CREATED_BY_MIGRATION = ("django_content_type", "auth_permission")
COLLECTION = "corpus_collection"

Model = Any


@dataclass(frozen=True, slots=True)
class Selection:
    """Options of an export or backup.

    Attributes:
        vectors: Include vectors of chunks and tokens; otherwise a restore computes them.
        secrets: Include hashes of passwords and keys.
        collection_id: Include only this collection and its data; None: all.
    """

    vectors: bool
    secrets: bool
    collection_id: int | None = None


class Table(NamedTuple):
    """An exported table; its query returns each row as one JSON object."""

    name: str
    columns: list[str]
    query: sql.Composed


def exported_tables(selection: Selection, registry: Apps = apps) -> list[Table]:
    """Return the exported tables, each after those that it refers to.

    Args:
        registry: The current models, or those at some migration.
    """
    models = _exported_models(selection, registry)
    scope = _Scope(models, selection.collection_id)
    tables = []
    for name, model in models.items():
        if not scope.includes(name):
            continue
        expressions = {
            field.column: _expression(model, field, models, scope, selection)
            for field in _stored_fields(model)
        }
        columns = sql.SQL(", ").join(
            sql.SQL("{} AS {}").format(expression, sql.Identifier(column))
            for column, expression in expressions.items()
        )
        query = sql.SQL("SELECT row_to_json(r) FROM (SELECT {} FROM {} t WHERE {}) r").format(
            columns, sql.Identifier(name), scope.condition(name)
        )
        tables.append(Table(name, list(expressions), query))
    return tables


def _exported_models(selection: Selection, registry: Apps) -> dict[str, Model]:
    """Return the exported models by table, each after those that it refers to."""
    models = {
        model._meta.db_table: model
        for model in registry.get_models(include_auto_created=True)
        if model._meta.managed and not model._meta.proxy
    }
    exported = {
        name
        for name, model in models.items()
        if name not in EXCLUDED
        and model._meta.app_label not in EXCLUDED_APPS
        and (selection.vectors or name not in VECTOR_TABLES)
        and (
            selection.secrets
            or not any(
                _SECRET.search(field.column) and (name, field.column) not in BLANKED
                for field in _stored_fields(model)
            )
        )
    }
    while orphans := {
        name for name in exported if _references(models[name], is_required=True) - exported
    }:
        exported -= orphans
    order = TopologicalSorter(
        {name: sorted((_references(models[name]) & exported) - {name}) for name in sorted(exported)}
    )
    return {name: models[name] for name in order.static_order()}


def _stored_fields(model: Model) -> list[Any]:
    return [field for field in model._meta.local_concrete_fields if not field.generated]


def _foreign_keys(model: Model) -> list[Any]:
    return [field for field in model._meta.local_concrete_fields if isinstance(field, ForeignKey)]


def _target(field: Any) -> str:
    return str(field.remote_field.model._meta.db_table)


def _references(model: Model, *, is_required: bool = False) -> set[str]:
    """Return the tables that a model refers to, or must refer to."""
    return {_target(key) for key in _foreign_keys(model) if not (is_required and key.null)}


def _expression(
    model: Model, field: Any, models: Mapping[str, Model], scope: "_Scope", selection: Selection
) -> sql.Composable:
    """Return the SQL expression of a column: blank for secrets, null for excluded references."""
    column = sql.SQL("t.{}").format(sql.Identifier(field.column))
    blank = BLANKED.get((model._meta.db_table, field.column))
    if blank is not None and not selection.secrets:
        return sql.Literal(blank)
    if isinstance(field, ForeignKey) and field.null:
        if _target(field) not in models or not scope.includes(_target(field)):
            return sql.SQL("NULL")
        if scope.is_bounded:
            return sql.SQL("CASE WHEN {} THEN {} END").format(scope.refers_within(field), column)
    return column


class _Scope:
    """Selects the rows that belong to one collection, and the rows that these refer to."""

    def __init__(self, models: Mapping[str, Model], collection_id: int | None) -> None:
        self._models = models
        self._collection_id = collection_id
        self._paths = {name: self._find_path(model) for name, model in models.items()}
        inside = [name for name in models if self._belongs_to_collection(name)]
        # Tables that rows of a collection refer to without belonging to it: tags, conversations.
        self._named = {
            name: [
                (other, field)
                for other in inside
                for field in _foreign_keys(models[other])
                if _target(field) == name and not self._belongs_to_collection(name)
            ]
            for name in models
        }

    @property
    def is_bounded(self) -> bool:
        return self._collection_id is not None

    def includes(self, name: str) -> bool:
        """Return whether any row of a table can belong to the collection."""
        return not self.is_bounded or self._belongs_to_collection(name) or bool(self._named[name])

    def condition(self, name: str) -> sql.Composable:
        """Return the SQL condition of the rows that belong to the collection, over ``t``."""
        if not self.is_bounded:
            return sql.SQL("TRUE")
        if name == COLLECTION:
            return sql.SQL("t.id = {}").format(sql.Literal(self._collection_id))
        if self._belongs_to_collection(name):
            return self.refers_within(self._paths[name])
        return sql.SQL(" OR ").join(
            sql.SQL("t.{} IN (SELECT {} FROM {} t WHERE {})").format(
                sql.Identifier(self._models[name]._meta.pk.column),
                sql.Identifier(field.column),
                sql.Identifier(other),
                self.condition(other),
            )
            for other, field in self._named[name]
        )

    def refers_within(self, field: Any) -> sql.Composed:
        """Return the SQL condition that a foreign key refers to a row of the collection."""
        target = _target(field)
        if target == COLLECTION:
            ids: sql.Composable = sql.Literal(self._collection_id)
        else:
            ids = sql.SQL("SELECT t.{} FROM {} t WHERE {}").format(
                sql.Identifier(field.target_field.column),
                sql.Identifier(target),
                self.condition(target),
            )
        return sql.SQL("t.{} IN ({})").format(sql.Identifier(field.column), ids)

    def _belongs_to_collection(self, name: str) -> bool:
        return name == COLLECTION or self._paths[name] is not None

    def _find_path(self, model: Model, seen: Sequence[str] = ()) -> Any:
        """Return the foreign key on the path to the collection; None if there is none."""
        direct = [key for key in _foreign_keys(model) if _target(key) == COLLECTION]
        keys = [key for key in _foreign_keys(model) if not key.null]
        name = model._meta.db_table
        through = [
            key
            for key in keys
            if (target := _target(key)) in self._models
            and target not in {*seen, name}
            and self._find_path(self._models[target], (*seen, name)) is not None
        ]
        return next(iter(direct + through), None)
