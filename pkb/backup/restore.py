"""Restore an export or backup into an empty installation, completely or not at all."""

import gzip
import shutil
from pathlib import Path

from django.conf import settings
from django.core.management import call_command
from django.db import connection, transaction
from django.db.migrations.executor import MigrationExecutor
from psycopg import sql

from corpus.catalogue import ensure_default_collection
from corpus.jobs.kinds.reembed_job import queue_lacking
from corpus.lexical import compact_term_counts
from corpus.models import DEFAULT_COLLECTION, Collection, DocumentCount, Installation, Job
from corpus.postgres import as_owner
from corpus.roots.shown_paths import uploads_folder
from corpus.vector_index import ensure_vector_index, vector_index_name
from pkb.backup.manifest import (
    SECRET_KEY,
    UPLOADS,
    BackupError,
    Manifest,
    StoredTable,
    check_files,
    hash_file,
    listed_uploads,
    open_stored,
    read_manifest,
)
from pkb.backup.path_rewrite import rewrite_paths
from pkb.backup.rows import read_rows
from pkb.backup.table_selection import (
    BLANKED,
    COLLECTION,
    CREATED_BY_MIGRATION,
    Selection,
    exported_tables,
)
from pkb.backup.validation import (
    USERS,
    IsTrusted,
    check_selection,
    require_trust,
    restrict_reading,
)
from pkb.management.atomic_migrations import Target, migrate_to

# Tables with rows in an empty installation: those of migrations, and the collection `default`.
_DEFAULT_TABLES = frozenset({COLLECTION, *CREATED_BY_MIGRATION})
# A second concurrent restore waits, then fails because the installation is not empty.
_ONE_AT_A_TIME = "SELECT pg_advisory_xact_lock(0x706b625f7273)"
_SEQUENCES = """
SELECT column_name, pg_get_serial_sequence(quote_ident(table_name), column_name)
  FROM information_schema.columns
 WHERE table_schema = current_schema() AND table_name = %s
   AND pg_get_serial_sequence(quote_ident(table_name), column_name) IS NOT NULL
"""


@as_owner()
def restore_from(
    folder: Path, *, is_trusted: IsTrusted = lambda contents: False
) -> tuple[Manifest, list[Job]]:
    """Check a folder and restore its contents in one transaction.

    For data of an older version, migrate back, insert the rows, then migrate forwards.

    Args:
        is_trusted: Called before superusers, staff or secrets are restored.

    Returns:
        The manifest, and jobs that compute missing vectors.

    Raises:
        BackupError: The folder is incomplete, damaged, of a newer version, has unexpected entries,
            or is not trusted, or this installation is not empty. Nothing was changed.
        DatabaseError: Rows could not be written. Nothing was changed except upload files.
        OSError: Upload files could not be written. Nothing else was changed.
    """
    manifest = read_manifest(folder)
    # The last migration of an app may be part of a squashed one here.
    known = MigrationExecutor(connection).loader.disk_migrations
    squashed = {each.replaces[-1]: name for (_, name), each in known.items() if each.replaces}
    migrations = {app: squashed.get((app, n), n) for app, n in manifest.migrations.items()}
    manifest = manifest.model_copy(update={"migrations": migrations})
    targets = migration_targets(migrations)
    check_selection(manifest)
    require_empty()
    check_files(folder, manifest)
    _migrate()
    if targets:
        with transaction.atomic(durable=True):
            _clear(manifest)
        # Outside of our transaction: some migrations build indexes concurrently.
        migrate_to(targets)
    try:
        with transaction.atomic(durable=True):
            _clear(manifest)
            _load(folder, manifest, is_trusted)
            jobs = [] if targets else _complete()
    except BackupError:
        if targets:
            _migrate()
        raise
    if targets:
        _migrate()
        jobs = _complete()
    compact_term_counts()
    DocumentCount.objects.compact()
    with connection.cursor() as cursor:
        names = sql.SQL(", ").join(map(sql.Identifier, manifest.rows))
        cursor.execute(sql.SQL("ANALYZE {}").format(names))
    return manifest, jobs


def _migrate() -> None:
    executor = MigrationExecutor(connection)
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        call_command("migrate", verbosity=0)


def migration_targets(recorded: dict[str, str]) -> list[Target]:
    """Return the migrations to go back to before rows of ``recorded`` are inserted.

    Raises:
        BackupError: A migration is unknown.
    """
    graph = MigrationExecutor(connection).loader.graph
    unknown = [name for name in recorded.items() if name not in graph.nodes]
    if unknown:
        names = ", ".join(f"{app}.{name}" for app, name in unknown)
        raise BackupError(f"It is from another version of pkb: there is no migration {names} here.")
    leaves = dict(graph.leaf_nodes())
    changed: list[Target] = [each for each in recorded.items() if leaves[each[0]] != each[1]]
    return changed + [(app, None) for app in leaves if app not in recorded]


def _clear(manifest: Manifest) -> None:
    """Delete the default rows of tables that the backup contains."""
    require_empty()
    with connection.cursor() as cursor:
        for name in _DEFAULT_TABLES & manifest.rows.keys():
            cursor.execute(sql.SQL("DELETE FROM {}").format(sql.Identifier(name)))


def require_empty() -> None:
    """Reject an installation that contains data, at any state of its migrations.

    Raises:
        BackupError: The message names the tables.
    """
    with connection.cursor() as cursor:
        cursor.execute(_ONE_AT_A_TIME)
        existing = connection.introspection.table_names(cursor)
        exported = exported_tables(Selection(vectors=True, secrets=True))
        names = {table.name for table in exported} & set(existing) - set(CREATED_BY_MIGRATION)
        filled = []
        for name in sorted(names):
            query = sql.SQL("SELECT FROM {} LIMIT 1").format(sql.Identifier(name))
            if name == COLLECTION:
                query = sql.SQL("SELECT FROM {} WHERE name <> {} LIMIT 1").format(
                    sql.Identifier(name), sql.Literal(DEFAULT_COLLECTION)
                )
            cursor.execute(query)
            if cursor.rowcount:
                filled.append(name)
    if filled:
        raise BackupError(
            f"This installation is not empty ({', '.join(filled)}). Restore into a new one, for"
            " example with another PKB_DATA_DIR, before its first start."
        )


def _load(folder: Path, manifest: Manifest, is_trusted: IsTrusted) -> None:
    with connection.cursor() as cursor:
        # Building an index after all vectors are inserted is faster.
        for model in set(manifest.models.values()):
            cursor.execute(f"DROP INDEX IF EXISTS {vector_index_name(model)}")
    users = [table for table in manifest.tables if table.name == USERS]
    for table in users:
        _load_table(folder, table, manifest)
    require_trust(manifest, is_trusted)
    for table in manifest.tables:
        if table not in users:
            _load_table(folder, table, manifest)
    uploads = uploads_folder()
    for file in listed_uploads(folder):
        target = uploads / Path(file.path).relative_to(UPLOADS)
        if not (target.is_file() and hash_file(target) == file.sha256):
            _copy(folder, file.path, target)
    rewrite_paths(manifest.uploads_folder, str(uploads), manifest.tables)
    restrict_reading(manifest)
    columns = next(table.columns for table in manifest.tables if table.name == COLLECTION)
    query = f"SELECT embedding_model, dimension FROM {COLLECTION}"  # noqa: S608
    if "previous_model" in columns:
        query += f" UNION SELECT previous_model, previous_dimension FROM {COLLECTION}"  # noqa: S608
    with connection.cursor() as cursor:
        cursor.execute(query)
        models = cursor.fetchall()
    for model, dimension in models:
        if model:
            ensure_vector_index(model=model, dimension=dimension)
    if any(file.path == SECRET_KEY for file in manifest.files):
        _copy(folder, SECRET_KEY, settings.DATA_DIR / SECRET_KEY)


def _load_table(folder: Path, table: StoredTable, manifest: Manifest) -> None:
    values = {} if manifest.secrets else BLANKED
    blanked = {column: value for (name, column), value in values.items() if name == table.name}
    with open_stored(folder, table.file.path) as file, gzip.open(file) as lines:
        count = read_rows(table.name, table.columns, lines, blanked=blanked)
    if count != table.rows:
        raise BackupError(f"{table.file.path} has {count} rows instead of {table.rows}.")
    # Set its sequences to the highest restored number.
    with connection.cursor() as cursor:
        cursor.execute(_SEQUENCES, [table.name])
        for column, sequence in cursor.fetchall():
            statement = "SELECT setval(%s, max({0})) FROM {1} HAVING max({0}) IS NOT NULL"
            names = sql.Identifier(column), sql.Identifier(table.name)
            cursor.execute(sql.SQL(statement).format(*names), [sequence])


def _copy(folder: Path, name: str, target: Path) -> None:
    """Copy a file atomically, and create its folders with mode 0700."""
    for above in reversed([target.parent, *target.parent.parents]):
        above.mkdir(mode=0o700, exist_ok=True)
    partial = target.with_name(f"{target.name[:200]}.partial")
    partial.touch(mode=0o600)
    with open_stored(folder, name) as source, partial.open("wb") as copy:
        shutil.copyfileobj(source, copy)
    partial.replace(target)


@transaction.atomic
def _complete() -> list[Job]:
    """Create the default collection, and jobs that compute missing vectors; add no samples."""
    ensure_default_collection()
    Installation.objects.update_or_create(pk=1, defaults={"has_had_samples": True})
    jobs = [queue_lacking(collection) for collection in Collection.objects.all()]
    return [job for job in jobs if job is not None]
