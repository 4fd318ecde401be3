from collections.abc import Callable
from pathlib import PurePath
from uuid import UUID

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString

from corpus.admin.base_admin import ReadOnlyAdmin, link, link_list
from corpus.errors import PkbError
from corpus.jobs.states import cancel_job, retry_job
from corpus.models import Job, JobItem


@admin.register(Job)
class JobAdmin(ReadOnlyAdmin):
    list_display = [
        "kind", "what", "collection", "status", "stage", "progress", "made_by", "created_at",
        "finished_at",
    ]  # fmt: skip
    list_filter = ["status", "kind", "collection", "is_background"]
    date_hierarchy = "created_at"
    search_fields = ["request_id"]
    list_select_related = ["collection", "made_by"]
    actions = ["retry", "cancel"]

    @admin.display
    def what(self, job: Job) -> str:
        """Return the URL or file name; for several, the first and the number of others."""
        names = [PurePath(path).name for path in job.arguments.get("paths", [])]
        first, *more = names or [job.arguments.get("address", "")]
        return f"{first} and {len(more)} more" if more else first

    @admin.display
    def progress(self, job: Job) -> SafeString:
        counts = f"{job.done} + {job.failed} failed of {job.total}"
        return link_list("corpus_jobitem", "job__id__exact", job.pk, counts)

    @admin.action(description="Retry failed and cancelled jobs", permissions=["run"])
    def retry(self, request: HttpRequest, jobs: QuerySet[Job]) -> None:
        self._act(request, jobs, retry_job, "queued again")

    @admin.action(description="Cancel jobs", permissions=["run"])
    def cancel(self, request: HttpRequest, jobs: QuerySet[Job]) -> None:
        self._act(request, jobs, cancel_job, "cancelled")

    def _act(
        self,
        request: HttpRequest,
        jobs: QuerySet[Job],
        act: Callable[[UUID], Job],
        past: str,
    ) -> None:
        done = 0
        for job in jobs:
            try:
                act(job.pk)
                done += 1
            except PkbError as exc:
                self.message_user(request, f"{job}: {exc}", messages.ERROR)
        self.message_user(request, f"{done} jobs {past}.")

    def has_run_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("corpus.change_job")


@admin.register(JobItem)
class JobItemAdmin(ReadOnlyAdmin):
    list_display = ["key", "job_link", "status", "outcome", "attempts", "chunk_count", "ended_at"]
    list_filter = ["status", "outcome", "job__collection"]
    search_fields = ["key", "reason"]
    list_select_related = ["job"]
    show_full_result_count = False

    @admin.display(description="job", ordering="job")
    def job_link(self, item: JobItem) -> SafeString:
        return link(
            "corpus_job_change", item.job_id, f"{item.job.kind} {item.job.created_at:%F %R}"
        )
