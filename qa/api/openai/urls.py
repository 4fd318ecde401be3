from django.urls import path, re_path

from qa.api.openai.chat_completions import ChatCompletionsView
from qa.api.openai.embeddings import EmbeddingsView
from qa.api.openai.rerank import RerankView
from qa.api.openai.responses import ResponsesView
from qa.api.openai.served_models import ModelsView, ModelView

urlpatterns = [
    path("models", ModelsView.as_view(), name="openai_models"),
    # Any id at all, line breaks too: what is not there is then OpenAI's 404.
    re_path(r"^models/(?P<model>[\s\S]+)$", ModelView.as_view(), name="openai_model"),
    path("chat/completions", ChatCompletionsView.as_view(), name="openai_chat"),
    path("responses", ResponsesView.as_view(), name="openai_responses"),
    path("embeddings", EmbeddingsView.as_view(), name="openai_embeddings"),
    path("rerank", RerankView.as_view(), name="openai_rerank"),
]
