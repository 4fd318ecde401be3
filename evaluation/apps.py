from typing import Any

from django.apps import AppConfig


class EvaluationConfig(AppConfig):
    name = "evaluation"

    def ready(self) -> None:
        from corpus.erasure import documents_deleted  # noqa: PLC0415

        documents_deleted.connect(_forget_questions)


def _forget_questions(sender: Any, *, documents: Any, **_: Any) -> None:
    from corpus.erasure import blank_admin_log  # noqa: PLC0415
    from evaluation.models import Question  # noqa: PLC0415

    keys = Question.objects.filter(document__in=documents).order_by().values_list("pk", flat=True)
    blank_admin_log(Question, keys)
