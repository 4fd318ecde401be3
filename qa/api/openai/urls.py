from django.urls import path, re_path

from qa.api.openai import views
from qa.api.openai.responses.response_views import ResponsesView
from qa.api.openai.vector_stores.store_views import StoreSearchView, StoresView, StoreView

urlpatterns = [
    path("models", views.ModelsView.as_view(), name="openai_models"),
    # Any id at all, line breaks too: what is not there is then OpenAI's 404.
    re_path(r"^models/(?P<model>[\s\S]+)$", views.ModelView.as_view(), name="openai_model"),
    path("chat/completions", views.ChatCompletionsView.as_view(), name="openai_chat"),
    path("responses", ResponsesView.as_view(), name="openai_responses"),
    path("vector_stores", StoresView.as_view(), name="openai_vector_stores"),
    re_path(
        r"^vector_stores/(?P<store_id>[\s\S]+)/search$",
        StoreSearchView.as_view(),
        name="openai_vector_store_search",
    ),
    re_path(
        r"^vector_stores/(?P<store_id>[\s\S]+)$",
        StoreView.as_view(),
        name="openai_vector_store",
    ),
    path("embeddings", views.EmbeddingsView.as_view(), name="openai_embeddings"),
    path("rerank", views.RerankView.as_view(), name="openai_rerank"),
]
