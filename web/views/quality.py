from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe


@require_safe
def quality(request: HttpRequest) -> HttpResponse:
    return render(request, "web/quality.html", {})
