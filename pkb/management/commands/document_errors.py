from collections.abc import Iterator
from typing import Any

from django.core.management.base import BaseCommand

from corpus.errors import PkbError
from pkb.env import BASE_DIR

PAGE = BASE_DIR / "docs" / "reference" / "errors.md"
HEAD = """\
# Errors

Every error response has the media type `application/problem+json` and this body:

```json
{"type": "about:blank", "title": "No collection has this name.", "status": 404,
 "detail": "There is no collection 'books'.", "error": "collection_not_found", "status_code": 404}
```

Check `error`: it never changes. `detail` is for people and may change. If fields are wrong,
`errors` lists each as `{field, message, code}`. Below `/v1`, errors have OpenAI's shape:
`{"error": {"message", "type", "param", "code"}}`.

If a response has `Retry-After`, send the request again after so many seconds. Other errors repeat
until you change the request or the settings.

Responses without a code of their own carry the name of their status, such as `not_found` for an
unknown path, `request_timeout` for a body that arrives too slowly, `too_many_requests` and
`service_unavailable` when pkb is busy ([limits](limits.md)), and `internal_server_error` for a bug.
A bug's `detail` names the id under which the log has its traceback.

`manage.py document_errors` writes this page from `corpus/errors`.

| status | `error` | meaning | `Retry-After` |
|---|---|---|---|
"""


class Command(BaseCommand):
    help = "Write docs/reference/errors.md, the page of all errors."
    requires_system_checks = []

    def handle(self, *args: Any, **options: Any) -> None:
        PAGE.write_text(render_page(), encoding="utf-8")


def render_page() -> str:
    """Return the page of all errors, by status."""
    by_code = {each.code: each for each in _subclasses(PkbError)}
    rows = sorted(by_code.values(), key=lambda each: (each.status, each.code))
    page = HEAD
    for each in rows:
        meaning = (each.__doc__ or "").strip().splitlines()[0]
        wait = f"{each.retry_after_s} s" if each.retry_after_s else ""
        page += f"| {each.status} | `{each.code}` | {meaning} | {wait} |\n"
    return page


def _subclasses(error: type[PkbError]) -> Iterator[type[PkbError]]:
    """Yield the subclasses in `corpus.errors`, the more general ones last."""
    for each in error.__subclasses__():
        yield from _subclasses(each)
        if each.__module__.startswith("corpus.errors"):
            yield each
