"""What a filter leaves, where that is not much: found once a wording, named to each statement."""

from dataclasses import dataclass
from typing import Any

from django.contrib.postgres.aggregates import ArrayAgg
from django.contrib.postgres.fields import ArrayField
from django.db.models import Count, F, Q, QuerySet, TextField, UUIDField, Value
from django.db.models.functions import Cast

from corpus.lexical import IsAnyOf


@dataclass(frozen=True, slots=True)
class FewChunks:
    """Chunks by their ids.

    Attributes:
        keys: As Postgres writes an array of them: nothing here reads 10,000 ids one by one.
        count: How many they are, or more, since one may be named twice.
    """

    keys: str
    count: int

    def hold(self, column: str) -> Q:
        """Return the condition that the id in a column is one of theirs."""
        return Q(IsAnyOf(F(column), Cast(Value(self.keys), ArrayField(UUIDField()))))


def read_few(rows: QuerySet[Any], column: str, *, most: int) -> FewChunks | None:
    """Return the chunks whose ids are in a column of the rows; None where there are more rows."""
    keys = Cast(ArrayAgg(column, default=Value([])), TextField())
    some = rows.order_by().values(column)[: most + 1]
    found = some.aggregate(count=Count("*"), keys=keys)
    return None if found["count"] > most else FewChunks(**found)
