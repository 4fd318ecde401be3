from typing import Any

from django.apps import AppConfig


class EvaluationConfig(AppConfig):
    name = "evaluation"

    def ready(self) -> None:
        from corpus.erasure import documents_deleted  # noqa: PLC0415
        from corpus.jobs.kinds import KINDS  # noqa: PLC0415
        from corpus.models import Job  # noqa: PLC0415
        from evaluation.collection_benchmark import BenchmarkKind  # noqa: PLC0415

        KINDS[Job.Kind.BENCHMARK] = BenchmarkKind()
        documents_deleted.connect(_forget_questions)


def _forget_questions(sender: Any, *, documents: Any, **_: Any) -> None:
    from corpus.access.principal import SYSTEM, acting_as  # noqa: PLC0415
    from corpus.erasure import blank_admin_log  # noqa: PLC0415
    from evaluation.models import CollectionBenchmark, Question  # noqa: PLC0415

    keys = Question.objects.filter(document__in=documents).order_by().values_list("pk", flat=True)
    blank_admin_log(Question, keys)
    # A document may have been moved since, to where others may delete it.
    with acting_as(SYSTEM):
        CollectionBenchmark.objects.filter(documents__overlap=documents).delete()
