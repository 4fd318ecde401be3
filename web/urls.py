from django.urls import path
from django.views.generic import RedirectView

from web.views import ask, bulk, documents, jobs, library, pages, quality, search

app_name = "web"
urlpatterns = [
    path("", RedirectView.as_view(pattern_name="web:home"), name="root"),
    path("ui/", RedirectView.as_view(pattern_name="web:ask"), name="home"),
    path("ui/ask", ask.ask, name="ask"),
    path("ui/ask/nearest", ask.nearest, name="nearest"),
    path("ui/search", search.search, name="search"),
    path("ui/library", library.library, name="library"),
    path("ui/library/upload", library.upload, name="upload"),
    path("ui/library/paste", library.paste, name="paste"),
    path("ui/library/folder", library.sync_folder, name="sync_folder"),
    path("ui/library/bulk", bulk.bulk, name="bulk"),
    path("ui/library/clear", library.clear, name="clear_finished"),
    path("ui/library/formats", library.formats, name="formats"),
    path("ui/library/collection", library.add_collection, name="add_collection"),
    path("ui/documents/<uuid:document_id>", documents.document, name="document"),
    path("ui/documents/<uuid:document_id>/pages/<int:number>", pages.page, name="page"),
    path("ui/documents/<uuid:document_id>/passage", ask.passage, name="passage"),
    path("ui/documents/<uuid:document_id>/tags", documents.tag, name="tag"),
    path("ui/documents/<uuid:document_id>/reingest", documents.reingest, name="reingest"),
    path("ui/documents/<uuid:document_id>/delete", documents.delete, name="delete"),
    path("ui/jobs", jobs.jobs, name="jobs"),
    path("ui/jobs/<uuid:job_id>", jobs.job, name="job"),
    path("ui/jobs/<uuid:job_id>/retry", jobs.retry, name="retry"),
    path("ui/jobs/<uuid:job_id>/cancel", jobs.cancel, name="cancel"),
    path("ui/quality", quality.quality, name="quality"),
    path("ui/quality/plots/<str:dataset>/<str:name>", quality.plot, name="plot"),
    path("ui/quality/map", quality.compute_map, name="compute_map"),
]
