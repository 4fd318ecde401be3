from django.urls import path

from qa import asking_views, views

urlpatterns = [
    path("answer", views.AnswerView.as_view(), name="answer"),
    path("ask", asking_views.AskView.as_view(), name="ask"),
    path("ask-selected", asking_views.AskSelectedView.as_view(), name="ask-selected"),
    path("chat", asking_views.ChatView.as_view(), name="chat"),
    path("chat/<uuid:chat_id>", asking_views.ChatEventsView.as_view(), name="chat-events"),
    path("answers/<uuid:answer_id>", asking_views.StoredAnswerView.as_view(), name="stored-answer"),
    path("answers/<uuid:answer_id>/feedback", asking_views.FeedbackView.as_view(), name="feedback"),
    path("search", views.SearchView.as_view(), name="search"),
]
