"""Limits of reading one file, and of the numbers that a file may state."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LoaderLimits:
    """Limits of a file and of reading it.

    Attributes:
        max_file_bytes: Size of the file; `load_file` rejects larger ones.
        max_chars: Length of its text.
        memory_bytes: Address space of the process that parses it.
        wall_s: Time to parse it, whatever its size.
        base_cpu_s: CPU time for a small file.
        cpu_s_per_mib: CPU time added for each MiB of the file.
        cpu_s_per_unpacked_mib: CPU time added for each MiB that a zip-based format unpacks to.
        max_unpacked_bytes: Sum over the entries of a zip-based format.
        max_ratio: Unpacked to packed size of one entry; small entries are exempt.
        max_entries: Entries of a zip-based format.
        max_attachments: Files in a message, including those of attached messages.
        ocr: Whether OCR reads pages without text.
        max_scanned_pages: Pages that OCR reads; the metadata lists the others as unread.
        all_scans: Reject a file with more scanned pages, because a client is waiting.
    """

    max_file_bytes: int = 50 * 2**20
    max_chars: int = 20_000_000
    memory_bytes: int = 2 * 2**30
    wall_s: float = 60.0
    base_cpu_s: float = 4.0
    cpu_s_per_mib: float = 3.0
    cpu_s_per_unpacked_mib: float = 0.3
    max_unpacked_bytes: int = 200 * 2**20
    max_ratio: int = 100
    max_entries: int = 10_000
    max_attachments: int = 100
    ocr: bool = True
    max_scanned_pages: int = 1_000
    all_scans: bool = False


# Longer than any limit; converting long numbers takes time.
_MAX_DIGITS = 12


def bounded_number(value: str | None, *, default: int, maximum: int) -> int:
    """Return a whole number from 0 to ``maximum``, or the default if there is none.

    Files may contain anything: a cell that spans a billion columns, a number of 5,000 digits.
    """
    if not value or not value.isdecimal():
        return default
    return min(int(value[:_MAX_DIGITS]), maximum)
