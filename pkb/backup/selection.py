"""Hold a folder to what its manifest selects: whoever wrote it may have been anybody."""

from collections.abc import Callable, Mapping
from pathlib import PurePosixPath

from django.db import connection
from django.db.migrations.loader import MigrationLoader

from corpus.roots.shown_paths import uploads_folder
from pkb.backup.manifest import SECRET_KEY, UPLOADS_LIST, BackupError, Manifest, table_path
from pkb.backup.tables import BLANKED, Selection, exported_tables

# Asked with what a folder brings by which somebody could get in.
IsTrusted = Callable[[str], bool]

USERS = "auth_user"
_STAFF = "SELECT username FROM auth_user WHERE is_superuser OR is_staff ORDER BY username"

# A command may read any folder, and so does who tries its job again: here it is bound to uploads.
_BIND_JOBS = """
UPDATE corpus_job SET arguments = arguments || jsonb_build_object('root', %s::text)
 WHERE kind = 'sync'
   AND (jsonb_typeof(arguments->'root') IS DISTINCT FROM 'string' OR arguments->>'root' = '')
"""
# Those of PKB_WATCH, which makes them again where it is set.
_DROP_FOLDERS = "DELETE FROM corpus_watchedfolder WHERE root = ''"


def check_selection(manifest: Manifest) -> None:
    """Refuse a manifest that names more than an export or backup of its selection holds.

    Its migrations are known here; tables and columns are compared with those of that state.

    Raises:
        BackupError: Tables, columns or files are named.
    """
    selection = Selection(
        manifest.vectors, manifest.secrets, collection_id=None if manifest.collection is None else 0
    )
    state = MigrationLoader(None).project_state(list(manifest.migrations.items()))
    columns = {table.name: table.columns for table in exported_tables(selection, state.apps)}
    files = {UPLOADS_LIST, *([SECRET_KEY] if manifest.secrets else ())}
    strange = [file.path for file in manifest.files if file.path not in files]
    for table in manifest.tables:
        known = columns.get(table.name, {})
        strange += [f"{table.name}.{column}" for column in table.columns if column not in known]
        strange += [table.name] if table.name not in columns else []
        strange += [table.file.path] if table.file.path != table_path(table.name) else []
    if not PurePosixPath(manifest.uploads_folder).is_absolute():
        strange.append("an uploads_folder that is not absolute")
    if strange:
        raise BackupError(f"The manifest has what none of its kind has: {', '.join(strange)}.")


def blanked_values(manifest: Manifest, table: str) -> Mapping[str, str]:
    """Return what is written into columns of a table, whatever its rows say."""
    if manifest.secrets:
        return {}
    return {column: value for (name, column), value in BLANKED.items() if name == table}


def require_trust(manifest: Manifest, is_trusted: IsTrusted) -> None:
    """Ask about secrets, and about superusers and staff, whose rows are there by now.

    Raises:
        BackupError: They are not trusted.
    """
    with connection.cursor() as cursor:
        cursor.execute(_STAFF)
        # A name may hold what a terminal obeys.
        names = ", ".join(repr(name) for (name,) in cursor.fetchall())
    brought = [f"superusers or staff ({names})"] if names else []
    if manifest.secrets:
        brought.append("hashes of passwords and keys and the secret key")
    what = ", ".join(brought)
    if brought and not is_trusted(what):
        raise BackupError(f"It brings {what}. If you trust who made it, say --trusted.")


def restrict_reading(manifest: Manifest) -> None:
    """Let no job or watched folder of another machine read what nobody allowed on this one."""
    if manifest.secrets:
        return
    with connection.cursor() as cursor:
        if "corpus_job" in manifest.rows:
            cursor.execute(_BIND_JOBS, [str(uploads_folder())])
        if "corpus_watchedfolder" in manifest.rows:
            cursor.execute(_DROP_FOLDERS)
