"""The range of timestamps that can be stored and read in every time zone."""

from datetime import UTC, datetime, timedelta

# Python supports the years 1 to 9999, and no zone is further from UTC than a day. Whole seconds: a
# float holds no microseconds that far off.
EARLIEST = datetime.min.replace(tzinfo=UTC) + timedelta(days=1)
LATEST = datetime.max.replace(microsecond=0, tzinfo=UTC) - timedelta(days=1)


def is_storable_time(moment: datetime) -> bool:
    """Return whether a time with a zone can be stored."""
    return EARLIEST <= moment <= LATEST
