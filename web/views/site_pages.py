"""Web pages and websites that are kept in sync."""

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from corpus.catalogue import get_or_create_collection
from corpus.public_web import check_fetching
from corpus.sites import SiteLimits, add_site, refresh_site, remove_site
from web.forms import RemoveSiteForm, SiteForm


@require_POST
def keep(request: HttpRequest) -> HttpResponse:
    """Add a page or a site, and start its first import."""
    check_fetching()
    fields = SiteForm.read(request.POST)
    limits = SiteLimits(
        is_whole=fields["what"] == "site",
        depth=fields["depth"],
        max_pages=fields["max_pages"],
        every_hours=fields["every_hours"],
    )
    collection = get_or_create_collection(fields["collection"])
    site, _ = add_site(fields["url"], limits, collection=collection, tags=fields["tags"])
    refresh_site(site.pk)
    return redirect("web:library")


@require_POST
def refresh(request: HttpRequest, site_id: UUID) -> HttpResponse:
    refresh_site(site_id)
    return redirect("web:library")


@require_POST
def remove(request: HttpRequest, site_id: UUID) -> HttpResponse:
    """Remove a site; delete its documents if requested."""
    check_fetching()
    fields = RemoveSiteForm.read(request.POST)
    remove_site(site_id, with_documents=fields["with_documents"])
    return redirect("web:library")
