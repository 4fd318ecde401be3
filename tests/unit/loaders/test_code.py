"""Passages of source code are labelled with the definitions around them."""

import pytest

from tests.unit.loaders.sample_files import loaded

pytestmark = pytest.mark.usefixtures("in_process")

PYTHON = '''\
import os

# Opens doors.
@dataclass(frozen=True)
class Door(
    Base,
):
    """A door.

    class of things: nothing
    """

    async def open(
        self,
    ) -> None:
        turn()

        push()

    width = 3

def main() -> None:
    class Local:
        pass

    run()

DONE = True
def at_once(): ...

# A comment alone.
'''


def test_a_definition_labels_its_paragraphs() -> None:
    labels = [(block.text.split()[0], block.labels) for block in loaded(PYTHON, "door.py").blocks]
    assert labels == [
        ("import", ()),
        ("#", ("Door",)),
        ("class", ("Door",)),
        ("async", ("Door", "open")),
        ("push()", ("Door", "open")),
        ("width", ("Door",)),
        ("def", ("main",)),
        ("run()", ("main",)),
        ("DONE", ()),
        ("#", ()),
    ]


@pytest.mark.parametrize(
    ("filename", "line", "name"),
    [
        ("a.js", "export default async function load(url) {", "load"),
        ("a.ts", "export interface Shape {", "Shape"),
        ("a.go", "func (s *Server) Serve(port int) error {", "Serve"),
        ("a.rs", "pub(crate) fn parse<T>(text: &str) -> T {", "parse"),
        ("A.java", "public final class Account extends Base {", "Account"),
        ("a.kt", "internal fun close() {", "close"),
        ("a.php", "private static function find($id)", "find"),
        ("a.rb", "def save", "save"),
        ("a.c", "struct point {", "point"),
    ],
)
def test_definitions_of_many_languages_are_known(filename: str, line: str, name: str) -> None:
    document = loaded(f"{line}\n    first\n\n    second\n}}\n\nlast", filename)
    assert [block.labels for block in document.blocks] == [(name,), (name,), ()]
