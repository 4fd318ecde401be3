from django.urls import path

from qa.openai import views

urlpatterns = [
    path("models", views.ModelsView.as_view(), name="openai_models"),
    path("models/<path:model>", views.ModelView.as_view(), name="openai_model"),
    path("chat/completions", views.ChatCompletionsView.as_view(), name="openai_chat"),
    path("embeddings", views.EmbeddingsView.as_view(), name="openai_embeddings"),
    path("rerank", views.RerankView.as_view(), name="openai_rerank"),
]
