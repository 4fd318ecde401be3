from django.urls import path

from qa import views

urlpatterns = [
    path("answer", views.AnswerView.as_view(), name="answer"),
    path("search", views.SearchView.as_view(), name="search"),
]
