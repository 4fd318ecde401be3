from django.urls import path

from qa import views

urlpatterns = [
    path("answer", views.AnswerView.as_view(), name="answer"),
    path("query", views.IndexQueryView.as_view(), name="query"),
    path("search", views.SearchView.as_view(), name="search"),
]
