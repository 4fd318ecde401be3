"""Validate an untrusted backup folder before it is restored."""

from collections.abc import Callable
from pathlib import PurePosixPath

from django.db import connection
from django.db.migrations.loader import MigrationLoader

from corpus.roots.shown_paths import uploads_folder
from pkb.backup.manifest import SECRET_KEY, UPLOADS_LIST, BackupError, Manifest, table_path
from pkb.backup.table_selection import Selection, exported_tables

# Called with a description of restored accounts and secrets; returns whether to accept them.
IsTrusted = Callable[[str], bool]

USERS = "auth_user"
_STAFF = "SELECT username FROM auth_user WHERE is_superuser OR is_staff ORDER BY username"

# A sync job of the command line may read any folder, also when it is retried: restrict it to
# the upload folder.
_BIND_JOBS = """
UPDATE corpus_job SET arguments = arguments || jsonb_build_object('root', %s::text)
 WHERE kind = 'sync'
   AND (jsonb_typeof(arguments->'root') IS DISTINCT FROM 'string' OR arguments->>'root' = '')
"""
# Folders of PKB_WATCH, which are created again if it is set.
_DROP_FOLDERS = "DELETE FROM corpus_watchedfolder WHERE root = ''"


def check_selection(manifest: Manifest) -> None:
    """Reject a manifest with tables, columns or files that an export or backup never has.

    They are compared with the models at the manifest's migrations, which must be known.

    Raises:
        BackupError: The message names them.
    """
    selection = Selection(
        manifest.vectors, manifest.secrets, collection_id=None if manifest.collection is None else 0
    )
    state = MigrationLoader(None).project_state(list(manifest.migrations.items()))
    columns = {table.name: table.columns for table in exported_tables(selection, state.apps)}
    files = {UPLOADS_LIST, *([SECRET_KEY] if manifest.secrets else ())}
    unexpected = [file.path for file in manifest.files if file.path not in files]
    for table in manifest.tables:
        known = columns.get(table.name, [])
        unexpected += [f"{table.name}.{column}" for column in table.columns if column not in known]
        unexpected += [table.name] if table.name not in columns else []
        unexpected += [table.file.path] if table.file.path != table_path(table.name) else []
    if not PurePosixPath(manifest.uploads_folder).is_absolute():
        unexpected.append("an uploads_folder that is not absolute")
    if unexpected:
        raise BackupError(f"The manifest has unexpected entries: {', '.join(unexpected)}.")


def require_trust(manifest: Manifest, is_trusted: IsTrusted) -> None:
    """Ask whether to accept secrets, and superusers and staff, whose rows are loaded already.

    Raises:
        BackupError: They are not accepted.
    """
    with connection.cursor() as cursor:
        cursor.execute(_STAFF)
        # A name may contain control sequences of terminals.
        names = ", ".join(repr(name) for (name,) in cursor.fetchall())
    contents = [f"superusers or staff ({names})"] if names else []
    if manifest.secrets:
        contents.append("hashes of passwords and keys and the secret key")
    what = ", ".join(contents)
    if contents and not is_trusted(what):
        raise BackupError(f"It contains {what}. If you trust its author, use --trusted.")


def restrict_reading(manifest: Manifest) -> None:
    """Restrict sync jobs and synced folders of another machine to the upload folder."""
    if manifest.secrets:
        return
    with connection.cursor() as cursor:
        if "corpus_job" in manifest.rows:
            cursor.execute(_BIND_JOBS, [str(uploads_folder())])
        if "corpus_watchedfolder" in manifest.rows:
            cursor.execute(_DROP_FOLDERS)
