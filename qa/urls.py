from django.urls import path

from qa.api import (
    answer_views,
    claim_views,
    confidence_views,
    conversation_views,
    grid_views,
    search_views,
    session_views,
    standing_question_views,
)

urlpatterns = [
    path("answer", answer_views.AnswerView.as_view(), name="answer"),
    path("answers/<uuid:answer_id>", answer_views.StoredAnswerView.as_view(), name="stored-answer"),
    path("answers/<uuid:answer_id>/feedback", answer_views.FeedbackView.as_view(), name="feedback"),
    path(
        "collections/<name:name>/confidence",
        confidence_views.ConfidenceView.as_view(),
        name="confidence",
    ),
    path("grids", grid_views.GridsView.as_view(), name="grids"),
    path("grids/<uuid:grid_id>", grid_views.GridView.as_view(), name="grid"),
    path("grids/<uuid:grid_id>/export", grid_views.GridExportView.as_view(), name="grid-export"),
    path(
        "standing-questions",
        standing_question_views.StandingQuestionsView.as_view(),
        name="standing-questions",
    ),
    path(
        "standing-questions/<uuid:question_id>",
        standing_question_views.StandingQuestionView.as_view(),
        name="standing-question",
    ),
    path("search", search_views.SearchView.as_view(), name="search"),
    path("query", search_views.IndexQueryView.as_view(), name="query"),
    path("claims/verify", claim_views.VerifyClaimView.as_view(), name="verify-claim"),
    path("ask", session_views.AskView.as_view(), name="ask"),
    path("ask-selected", session_views.AskSelectedView.as_view(), name="ask-selected"),
    path("sessions", conversation_views.SessionsView.as_view(), name="sessions"),
    path("sessions/<uuid:session_id>", conversation_views.SessionView.as_view(), name="session"),
    path("chat", session_views.ChatView.as_view(), name="chat"),
    path("chat/<uuid:chat_id>", session_views.ChatEventsView.as_view(), name="chat-events"),
]
