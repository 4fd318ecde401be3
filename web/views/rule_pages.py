"""Pages of the rules that tag documents."""

from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from corpus.access.principal import Scope
from corpus.endpoints import Cost, Endpoint, endpoint
from corpus.errors import CollectionNotFound, InvalidInput, RuleExists
from corpus.jobs.kinds.edit_job import start_tagging
from corpus.jobs.run import run_jobs_now
from corpus.models import Collection, Rule
from corpus.rules import add_rule, all_rules, change_rule, delete_rule, find_rule
from corpus.rules.conditions import FIELDS, validate_rule
from corpus.rules.matching import SHOWN, preview_rule
from web.forms import RuleForm


@endpoint(GET=Endpoint(scope=Scope.ADMIN))
@require_safe
def rules(request: HttpRequest) -> HttpResponse:
    return render(request, "web/rules.html", {"rules": all_rules()})


@endpoint(
    GET=Endpoint(scope=Scope.ADMIN, cost=Cost.SEARCH),
    POST=Endpoint(scope=Scope.ADMIN, cost=Cost.SEARCH),
)
@require_http_methods(["GET", "HEAD", "POST"])
def rule(request: HttpRequest, rule_id: UUID | None = None) -> HttpResponse:
    """Show a rule or a new one; try it on stored documents, save it, or save and apply it."""
    saved = find_rule(rule_id) if rule_id else None
    if request.method != "POST":
        values = {field: getattr(saved, field) for field in FIELDS} if saved else {}
        trial = preview_rule(saved) if saved else None
        return _show(request, saved, values, trial=trial)
    fields = RuleForm.read(request.POST)
    act = fields.pop("act")
    try:
        if act == "try":
            values = validate_rule({**fields, "name": fields["name"] or "trial"})
            return _show(request, saved, fields, trial=preview_rule(Rule(**values)))
        saved = change_rule(saved.pk, fields) if saved else add_rule(fields)
    except (InvalidInput, CollectionNotFound, RuleExists) as exc:
        return _show(request, saved, fields, problem=exc)
    jobs = start_tagging(saved) if act == "apply" else []
    run_jobs_now(jobs)
    return redirect("web:job", jobs[0].pk) if len(jobs) == 1 else redirect("web:rules")


def _show(
    request: HttpRequest,
    saved: Rule | None,
    values: dict[str, Any],
    *,
    trial: Any = None,
    problem: InvalidInput | CollectionNotFound | RuleExists | None = None,
) -> HttpResponse:
    context = {
        "rule": saved,
        "values": {name: ", ".join(v) if isinstance(v, list) else v for name, v in values.items()},
        "collections": Collection.objects.select_related("owner").order_by("name"),
        "trial": trial,
        "max_shown": SHOWN,
        "problem": getattr(problem, "detail", "") or problem,
        "wrong_field": getattr(problem, "field", ""),
    }
    return render(request, "web/rule.html", context, status=problem.status if problem else 200)


@endpoint(POST=Endpoint(scope=Scope.ADMIN))
@require_POST
def delete(request: HttpRequest, rule_id: UUID) -> HttpResponse:
    """Delete a rule; the tags it added stay."""
    delete_rule(rule_id)
    return redirect("web:rules")
