"""Which moments are stored: those that can be read again in every zone."""

from datetime import UTC, datetime, timedelta

# Python knows the years 1 to 9999, and no zone is further from UTC than a day. Whole seconds: a
# float holds no microseconds that far off.
EARLIEST = datetime.min.replace(tzinfo=UTC) + timedelta(days=1)
LATEST = datetime.max.replace(microsecond=0, tzinfo=UTC) - timedelta(days=1)


def is_storable_time(moment: datetime) -> bool:
    """Return whether a moment, given with its zone, is within the bounds."""
    return EARLIEST <= moment <= LATEST
