from django.urls import path

from qa.api import answers, claims, conversations, search, sessions

urlpatterns = [
    path("answer", answers.AnswerView.as_view(), name="answer"),
    path("answers/<uuid:answer_id>", answers.StoredAnswerView.as_view(), name="stored-answer"),
    path("answers/<uuid:answer_id>/feedback", answers.FeedbackView.as_view(), name="feedback"),
    path("search", search.SearchView.as_view(), name="search"),
    path("query", search.IndexQueryView.as_view(), name="query"),
    path("claims/verify", claims.VerifyClaimView.as_view(), name="verify-claim"),
    path("ask", sessions.AskView.as_view(), name="ask"),
    path("ask-selected", sessions.AskSelectedView.as_view(), name="ask-selected"),
    path("sessions", conversations.SessionsView.as_view(), name="sessions"),
    path("sessions/<uuid:session_id>", conversations.SessionView.as_view(), name="session"),
    path("chat", sessions.ChatView.as_view(), name="chat"),
    path("chat/<uuid:chat_id>", sessions.ChatEventsView.as_view(), name="chat-events"),
]
