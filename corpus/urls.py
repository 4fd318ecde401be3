from django.urls import path, register_converter
from django.urls.converters import StringConverter

from corpus.api import (
    collection_views,
    count_views,
    document_views,
    ingest_views,
    job_views,
    original_views,
    rule_views,
    site_views,
    source_views,
    tag_views,
    webhook_views,
)


class NameConverter(StringConverter):
    """A part of a path that can be somebody's name: it holds no NUL."""

    regex = r"[^/\0]+"


register_converter(NameConverter, "name")

urlpatterns = [
    path("ingest", ingest_views.IngestView.as_view(), name="ingest"),
    path("create", collection_views.CreateView.as_view(), name="create"),
    path("encode_doc", job_views.EncodeDocView.as_view(), name="encode_doc"),
    path("encode_batch", job_views.EncodeBatchView.as_view(), name="encode_batch"),
    path("jobs", job_views.JobsView.as_view(), name="jobs"),
    path("jobs/<uuid:job_id>", job_views.JobView.as_view(), name="job"),
    path("jobs/<uuid:job_id>/retry", job_views.JobRetryView.as_view(), name="job_retry"),
    path("jobs/<uuid:job_id>/cancel", job_views.JobCancelView.as_view(), name="job_cancel"),
    path("sites", site_views.SitesView.as_view(), name="sites"),
    path("sites/<uuid:site_id>", site_views.SiteView.as_view(), name="site"),
    path("sites/<uuid:site_id>/refresh", site_views.SiteRefreshView.as_view(), name="site_refresh"),
    path("collections", collection_views.CollectionsView.as_view(), name="collections"),
    path("collections/<name:name>", collection_views.CollectionView.as_view(), name="collection"),
    path("count", count_views.CountView.as_view(), name="count"),
    path("documents", document_views.DocumentsView.as_view(), name="documents"),
    path("documents/stats", collection_views.StatsView.as_view(), name="stats"),
    path("documents/<uuid:document_id>", document_views.DocumentView.as_view(), name="document"),
    path(
        "documents/<uuid:document_id>/text", document_views.DocumentTextView.as_view(), name="text"
    ),
    path(
        "documents/<uuid:document_id>/chunks",
        document_views.DocumentChunksView.as_view(),
        name="chunks",
    ),
    path(
        "documents/<uuid:document_id>/original",
        original_views.OriginalView.as_view(),
        name="original",
    ),
    path(
        "documents/<uuid:document_id>/pages/<int:number>",
        original_views.PageView.as_view(),
        name="page",
    ),
    path("chunks/<uuid:chunk_id>", document_views.ChunkView.as_view(), name="chunk"),
    path("rules", rule_views.RulesView.as_view(), name="rules"),
    path("rules/try", rule_views.RulePreviewView.as_view(), name="preview_rule"),
    path("rules/<uuid:rule_id>", rule_views.RuleView.as_view(), name="rule"),
    path("sources", source_views.SourcesView.as_view(), name="sources"),
    path("sources/<name:name>/sync", source_views.SourceSyncView.as_view(), name="source_sync"),
    path("tags", tag_views.TagsView.as_view(), name="tags"),
    path("tags/<name:name>", tag_views.TagView.as_view(), name="tag"),
    path("webhooks", webhook_views.WebhooksView.as_view(), name="webhooks"),
    path("webhooks/<uuid:webhook_id>", webhook_views.WebhookView.as_view(), name="webhook"),
    path(
        "webhooks/<uuid:webhook_id>/deliveries",
        webhook_views.DeliveriesView.as_view(),
        name="deliveries",
    ),
    path(
        "webhooks/<uuid:webhook_id>/deliveries/<uuid:delivery_id>/send",
        webhook_views.SendAgainView.as_view(),
        name="send_again",
    ),
]
