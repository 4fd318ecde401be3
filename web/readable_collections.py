"""The collections that a user can read: how pages call them, and which one is asked."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.functional import SimpleLazyObject

from corpus.models import ALL_COLLECTIONS, DEFAULT_COLLECTION, Collection, Document

# The key of the collection that was asked last in this browser, or * for all.
COOKIE = "pkb_collection"
COOKIE_MAX_AGE_S = 365 * 24 * 60 * 60


def readable_collections() -> list[Collection]:
    """Return the collections that the user can read, with their counts."""
    return list(Collection.objects.with_counts().select_related("owner"))


def choose_collection(
    request: HttpRequest, collections: Sequence[Collection], *, offers_all: bool = True
) -> str:
    """Return the qualified name of the collection that a page asks; "" if there is none.

    It is the one in the URL, else that of the last question in this browser, else ``*`` if several
    have documents, else ``default`` if it has some, else that of the newest document, else any.
    """
    if name := request.GET.get("collection", "").strip():
        return name
    key = request.COOKIES.get(COOKIE)
    filled = [each for each in collections if each.document_count]  # type: ignore[attr-defined]
    if offers_all and len(collections) > 1 and key == ALL_COLLECTIONS:
        return ALL_COLLECTIONS
    chosen = next((each for each in collections if str(each.pk) == key), None)
    if chosen is None and offers_all and len(filled) > 1:
        return ALL_COLLECTIONS
    if chosen is None:
        chosen = Collection.objects.find(DEFAULT_COLLECTION)
        if chosen is None or not chosen.documents.stored().exists():
            newest = Document.objects.listed().stored().order_by("-ingested_at").first()
            chosen = newest.collection if newest else chosen or next(iter(collections), None)
    return chosen.qualified_name if chosen else ""


def remember_collection(
    request: HttpRequest, reply: HttpResponse, collection_id: int | None
) -> None:
    """Let the pages of this browser ask the collection, or all, until another one is asked."""
    reply.set_cookie(
        COOKIE, str(collection_id or ALL_COLLECTIONS), max_age=COOKIE_MAX_AGE_S, path="/ui",
        httponly=True, samesite="Lax", secure=request.is_secure(),
    )  # fmt: skip


def collection_names(request: HttpRequest) -> dict[str, Any]:
    """Add to each template how pages call collections: names by qualified name.

    A collection has its owner's name only if the user can read another one of its name.
    """
    return {"collection_names": SimpleLazyObject(_names)}


def _names() -> dict[str, str]:
    collections = list(Collection.objects.select_related("owner"))
    counts = Counter(each.name for each in collections)
    qualified = [(each.qualified_name, each.name) for each in collections]
    names = {name: bare if counts[bare] == 1 else name for name, bare in qualified}
    return {ALL_COLLECTIONS: "All collections", **names}
