from django.urls import path

from corpus import views
from corpus.jobs import views as job_views

urlpatterns = [
    path("ingest", views.IngestView.as_view(), name="ingest"),
    path("create", views.CreateView.as_view(), name="create"),
    path("encode_doc", job_views.EncodeDocView.as_view(), name="encode_doc"),
    path("encode_batch", job_views.EncodeBatchView.as_view(), name="encode_batch"),
    path("jobs", job_views.JobsView.as_view(), name="jobs"),
    path("jobs/<uuid:job_id>", job_views.JobView.as_view(), name="job"),
    path("jobs/<uuid:job_id>/retry", job_views.JobRetryView.as_view(), name="job_retry"),
    path("jobs/<uuid:job_id>/cancel", job_views.JobCancelView.as_view(), name="job_cancel"),
    path("collections", views.CollectionsView.as_view(), name="collections"),
    path("collections/<str:name>", views.CollectionView.as_view(), name="collection"),
    path("documents", views.DocumentsView.as_view(), name="documents"),
    path("documents/stats", views.StatsView.as_view(), name="stats"),
    path("documents/<uuid:document_id>", views.DocumentView.as_view(), name="document"),
    path("documents/<uuid:document_id>/text", views.DocumentTextView.as_view(), name="text"),
    path("documents/<uuid:document_id>/chunks", views.DocumentChunksView.as_view(), name="chunks"),
    path("chunks/<uuid:chunk_id>", views.ChunkView.as_view(), name="chunk"),
    path("tags", views.TagsView.as_view(), name="tags"),
    path("tags/<str:name>", views.TagView.as_view(), name="tag"),
]
