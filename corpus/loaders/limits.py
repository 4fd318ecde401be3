"""What a single file may cost, and which numbers of its own it is believed."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LoaderLimits:
    """Bounds on a file and on reading it.

    Attributes:
        max_file_bytes: The file as it comes.
        max_chars: The text it yields.
        memory_bytes: Address space of the process that parses it.
        wall_s: Time from the start of parsing to the end, whatever the size.
        base_cpu_s: Processor time for a small file. What takes longer is hostile.
        cpu_s_per_mib: Processor time added for each MiB of the file.
        cpu_s_per_unpacked_mib: The same for each MiB a zip-based format unpacks to.
        max_unpacked_bytes: Sum over the entries of a zip-based format.
        max_ratio: Unpacked to packed size of one entry; small entries are exempt.
        max_entries: Entries of a zip-based format.
        max_attachments: Files inside a message, those of attached messages included.
        ocr: Pages without text are read by OCR.
        max_scanned_pages: Pages that are read so; the others stay unread, and that is said.
        all_scans: A file that has more is refused instead: somebody waits for it.
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


# More than any bound has; turning long numbers into integers takes time.
_MAX_DIGITS = 12


def bounded_number(stated: str | None, *, default: int, most: int) -> int:
    """A whole number from 0 to ``most``; the default where none is stated.

    Files may state anything: a cell that spans a billion columns, a number of 5,000 digits.
    """
    if not stated or not stated.isdecimal():
        return default
    return min(int(stated[:_MAX_DIGITS]), most)
