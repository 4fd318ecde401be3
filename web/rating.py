"""What people said of answers, by day."""

from dataclasses import dataclass

from django.db.models import Count, Q
from django.db.models.functions import TruncDate
from django.utils import timezone

from corpus.models import Collection
from qa.models import Feedback
from web.charts import DayBar, day_bars

DAYS = 30
REASONS_SHOWN = 5


@dataclass(frozen=True, slots=True)
class FeedbackShown:
    """Ratings of the last ``DAYS`` days, and the latest reasons given."""

    bars: list[DayBar]
    reasons: list[Feedback]

    @property
    def up(self) -> int:
        return sum(bar.up for bar in self.bars)

    @property
    def down(self) -> int:
        return sum(bar.down for bar in self.bars)


def read_feedback(collection: Collection) -> FeedbackShown:
    """Return the ratings of a collection's answers."""
    rows = Feedback.objects.filter(answer__collection=collection)
    by_day = rows.order_by().annotate(day=TruncDate("created_at")).values_list("day")
    counts = by_day.annotate(
        up=Count("pk", filter=Q(rating="up")), down=Count("pk", filter=Q(rating="down"))
    )
    reasons = rows.exclude(comment="").select_related("answer").order_by("-created_at")
    return FeedbackShown(
        day_bars(list(counts), last=timezone.now().date(), days=DAYS),
        list(reasons[:REASONS_SHOWN]),
    )
