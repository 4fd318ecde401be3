from django.urls import path

from qa import claim_views, views

urlpatterns = [
    path("answer", views.AnswerView.as_view(), name="answer"),
    path("query", views.IndexQueryView.as_view(), name="query"),
    path("claims/verify", claim_views.VerifyClaimView.as_view(), name="verify-claim"),
    path("search", views.SearchView.as_view(), name="search"),
]
