"""Which tables are carried, in which order, and which of their rows and columns.

The models of all apps are walked, so that a table that comes later is carried unless it is named
here, or has the look of a secret.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from typing import Any

from django.apps import apps
from django.apps.registry import Apps
from django.db.models import ForeignKey
from psycopg import sql

# With the reason; what has a foreign key to one of them that must not be null stays behind, too.
EXCLUDED = {
    "accounts_failedlogin": "of the last hour, and told to their user at the next login",
    "accounts_knownclient": "from which browsers and networks users log in to this installation",
    "accounts_setupaddress": "opens an installation once, within minutes",
    "corpus_collectionaccess": "kept by a trigger, of what each collection says of itself",
    "corpus_collectionchange": "written by triggers; no version of a collection ever comes back",
    "corpus_documentcount": "counted by triggers as documents come in",
    "corpus_droppedfile": "of files that are to go from this machine",
    "corpus_installation": "of the processes that run beside this database",
    "corpus_termcount": "counted by triggers as chunks come in",
    "django_session": "who is logged in by which browser",
    "qa_chatstream": "kept for minutes, to be read on from where a connection broke",
}
# Apps whose tables are of this machine, of the moment.
EXCLUDED_APPS = frozenset({"axes"})
VECTOR_TABLES = frozenset({"corpus_embedding", "corpus_tokenvectors"})
# What stands for a secret where none is to go: Django takes it for no password that there is.
BLANKED = {("auth_user", "password"): "!"}
# A table with such a column goes only where secrets may, whoever added it.
_SECRET = re.compile(
    r"password|passwd|secret|salt|api_?key|token_?key|key_hash|key_sha256|credential"
)
# Made by every migration: they are there in an empty installation, and give way.
CREATED_BY_MIGRATION = ("django_content_type", "auth_permission")
COLLECTION = "corpus_collection"

Model = Any


@dataclass(frozen=True, slots=True)
class Selection:
    """What of an installation is wanted.

    Attributes:
        vectors: Vectors of chunks and of their tokens, too; else they are made anew.
        secrets: Hashes of passwords and keys, too.
        collection_id: Only this one, with what belongs to it; None: all.
    """

    vectors: bool
    secrets: bool
    collection_id: int | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """A table that is carried.

    Attributes:
        columns: Those that are stored, by the expression that reads each.
        condition: Which rows, as SQL over ``t``.
    """

    name: str
    columns: Mapping[str, sql.Composable]
    condition: sql.Composable

    @property
    def query(self) -> sql.Composed:
        """A row of it is one column: the row as a JSON object."""
        columns = sql.SQL(", ").join(
            sql.SQL("{} AS {}").format(expression, sql.Identifier(name))
            for name, expression in self.columns.items()
        )
        return sql.SQL("SELECT row_to_json(r) FROM (SELECT {} FROM {} t WHERE {}) r").format(
            columns, sql.Identifier(self.name), self.condition
        )


def exported_tables(selection: Selection, registry: Apps = apps) -> list[Table]:
    """Return the tables that are carried, each after those that it refers to.

    Args:
        registry: The models as they are, or were at some migration.
    """
    models = _exported_models(selection, registry)
    scope = _Scope(models, selection.collection_id)
    return [
        Table(
            name,
            {
                field.column: _expression(model, field, models, scope, selection)
                for field in _stored_fields(model)
            },
            scope.condition(name),
        )
        for name, model in models.items()
        if scope.holds(name)
    ]


def all_tables() -> list[str]:
    """Return the names of the tables of all models that we make, in no order."""
    return [model._meta.db_table for model in _own_models(apps)]


def _own_models(registry: Apps) -> list[Model]:
    found = registry.get_models(include_auto_created=True)
    return [m for m in found if m._meta.managed and not m._meta.proxy]


def _exported_models(selection: Selection, registry: Apps) -> dict[str, Model]:
    """Models by table, each after those that it refers to."""
    models = {model._meta.db_table: model for model in _own_models(registry)}
    kept = {name for name, model in models.items() if not _is_excluded(model, selection)}
    while lost := {name for name in kept if _must_refer(models[name]) - kept}:
        kept -= lost
    order = TopologicalSorter(
        {name: sorted((_may_refer(models[name]) & kept) - {name}) for name in sorted(kept)}
    )
    return {name: models[name] for name in order.static_order()}


def _is_excluded(model: Model, selection: Selection) -> bool:
    name = model._meta.db_table
    if name in EXCLUDED or model._meta.app_label in EXCLUDED_APPS:
        return True
    if name in VECTOR_TABLES and not selection.vectors:
        return True
    return not selection.secrets and any(
        _SECRET.search(field.column) and (name, field.column) not in BLANKED
        for field in _stored_fields(model)
    )


def _stored_fields(model: Model) -> list[Any]:
    return [field for field in model._meta.local_concrete_fields if not field.generated]


def _foreign_keys(model: Model) -> list[Any]:
    return [field for field in model._meta.local_concrete_fields if isinstance(field, ForeignKey)]


def _target(field: Any) -> str:
    return str(field.remote_field.model._meta.db_table)


def _may_refer(model: Model) -> set[str]:
    return {_target(field) for field in _foreign_keys(model)}


def _must_refer(model: Model) -> set[str]:
    return {_target(field) for field in _foreign_keys(model) if not field.null}


def _expression(
    model: Model, field: Any, models: Mapping[str, Model], scope: "_Scope", selection: Selection
) -> sql.Composable:
    """What is read for a column: itself, but for a secret, or a reference to what stays behind."""
    column = sql.SQL("t.{}").format(sql.Identifier(field.column))
    blank = BLANKED.get((model._meta.db_table, field.column))
    if blank is not None and not selection.secrets:
        return sql.Literal(blank)
    if isinstance(field, ForeignKey) and field.null:
        if _target(field) not in models or not scope.holds(_target(field)):
            return sql.SQL("NULL")
        if scope.is_bounded:
            return sql.SQL("CASE WHEN {} THEN {} END").format(scope.refers_within(field), column)
    return column


class _Scope:
    """The rows of one collection: what leads to it, and what those rows refer to."""

    def __init__(self, models: Mapping[str, Model], collection_id: int | None) -> None:
        self._models = models
        self._collection_id = collection_id
        self._ways = {name: self._way(model) for name, model in models.items()}
        inside = [name for name in models if self._leads(name)]
        # What the rows of a collection name without being its own: tags, conversations.
        self._named = {
            name: [
                (other, field)
                for other in inside
                for field in _foreign_keys(models[other])
                if _target(field) == name and not self._leads(name)
            ]
            for name in models
        }

    @property
    def is_bounded(self) -> bool:
        return self._collection_id is not None

    def holds(self, name: str) -> bool:
        """Tell whether anything of a table belongs to it."""
        return not self.is_bounded or self._leads(name) or bool(self._named[name])

    def condition(self, name: str) -> sql.Composable:
        """Which rows of a table belong to it, as SQL over ``t``."""
        if not self.is_bounded:
            return sql.SQL("TRUE")
        if name == COLLECTION:
            return sql.SQL("t.id = {}").format(sql.Literal(self._collection_id))
        if self._leads(name):
            return self.refers_within(self._ways[name])
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
        """Whether what a column refers to belongs to it."""
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

    def _leads(self, name: str) -> bool:
        return name == COLLECTION or self._ways[name] is not None

    def _way(self, model: Model, seen: Sequence[str] = ()) -> Any:
        """The foreign key by which each row is one collection's; None where there is none."""
        direct = [key for key in _foreign_keys(model) if _target(key) == COLLECTION]
        keys = [key for key in _foreign_keys(model) if not key.null]
        name = model._meta.db_table
        through = [
            key
            for key in keys
            if (target := _target(key)) in self._models
            and target not in {*seen, name}
            and self._way(self._models[target], (*seen, name)) is not None
        ]
        return next(iter(direct + through), None)
