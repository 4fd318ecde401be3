from django.urls import path, register_converter
from django.urls.converters import StringConverter

from corpus.api import collections, documents, ingest, jobs, originals, rules, sites, sources, tags


class NameConverter(StringConverter):
    """A part of a path that can be somebody's name: it holds no NUL."""

    regex = r"[^/\0]+"


register_converter(NameConverter, "name")

urlpatterns = [
    path("ingest", ingest.IngestView.as_view(), name="ingest"),
    path("create", collections.CreateView.as_view(), name="create"),
    path("encode_doc", jobs.EncodeDocView.as_view(), name="encode_doc"),
    path("encode_batch", jobs.EncodeBatchView.as_view(), name="encode_batch"),
    path("jobs", jobs.JobsView.as_view(), name="jobs"),
    path("jobs/<uuid:job_id>", jobs.JobView.as_view(), name="job"),
    path("jobs/<uuid:job_id>/retry", jobs.JobRetryView.as_view(), name="job_retry"),
    path("jobs/<uuid:job_id>/cancel", jobs.JobCancelView.as_view(), name="job_cancel"),
    path("sites", sites.SitesView.as_view(), name="sites"),
    path("sites/<uuid:site_id>", sites.SiteView.as_view(), name="site"),
    path("sites/<uuid:site_id>/refresh", sites.SiteRefreshView.as_view(), name="site_refresh"),
    path("collections", collections.CollectionsView.as_view(), name="collections"),
    path("collections/<name:name>", collections.CollectionView.as_view(), name="collection"),
    path("documents", documents.DocumentsView.as_view(), name="documents"),
    path("documents/stats", collections.StatsView.as_view(), name="stats"),
    path("documents/<uuid:document_id>", documents.DocumentView.as_view(), name="document"),
    path("documents/<uuid:document_id>/text", documents.DocumentTextView.as_view(), name="text"),
    path(
        "documents/<uuid:document_id>/chunks", documents.DocumentChunksView.as_view(), name="chunks"
    ),
    path(
        "documents/<uuid:document_id>/original", originals.OriginalView.as_view(), name="original"
    ),
    path(
        "documents/<uuid:document_id>/pages/<int:number>",
        originals.PageView.as_view(),
        name="page",
    ),
    path("chunks/<uuid:chunk_id>", documents.ChunkView.as_view(), name="chunk"),
    path("rules", rules.RulesView.as_view(), name="rules"),
    path("rules/try", rules.RulePreviewView.as_view(), name="preview_rule"),
    path("rules/<uuid:rule_id>", rules.RuleView.as_view(), name="rule"),
    path("sources", sources.SourcesView.as_view(), name="sources"),
    path("sources/<name:name>/sync", sources.SourceSyncView.as_view(), name="source_sync"),
    path("tags", tags.TagsView.as_view(), name="tags"),
    path("tags/<name:name>", tags.TagView.as_view(), name="tag"),
]
