"""The files of archives, and what is refused of them."""

import io
import tarfile
import zipfile

import pytest

from corpus.errors import UnreadableFile
from corpus.loaders import unpack
from corpus.loaders.limits import LoaderLimits

LIMITS = LoaderLimits(max_file_bytes=50, max_unpacked_bytes=9_000, max_ratio=100)
LINK = 0o120777 << 16


def zip_of(**files: str) -> bytes:
    with zipfile.ZipFile(buffer := io.BytesIO(), "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return buffer.getvalue()


def tar_of(*names: str, link: str = "") -> bytes:
    with tarfile.open(fileobj=(buffer := io.BytesIO()), mode="w") as archive:
        folder = tarfile.TarInfo("folder")
        folder.type = tarfile.DIRTYPE
        archive.addfile(folder)
        for name in names:
            info = tarfile.TarInfo(name)
            info.size = 4
            archive.addfile(info, io.BytesIO(b"text"))
        if link:
            info = tarfile.TarInfo(link)
            info.type = tarfile.SYMTYPE
            archive.addfile(info)
    return buffer.getvalue()


def test_files_are_listed_and_read() -> None:
    for content in (zip_of(**{"a.md": "text"}), tar_of("a.md")):
        (member,) = unpack.list_members(content, limits=LIMITS)
        assert (member.name, member.size_bytes, member.refusal) == ("a.md", 4, "")
        read = list(unpack.read_members(content, {"a.md"}, limits=LIMITS))
        assert read == [("a.md", b"text", "")]


def test_what_is_refused_says_why() -> None:
    with zipfile.ZipFile(buffer := io.BytesIO(), "w") as archive:
        archive.mkdir("folder")
        archive.writestr("../up.md", "text")
        archive.writestr("long.md", "x" * 51)
        link = zipfile.ZipInfo("link.md")
        link.external_attr = LINK
        archive.writestr(link, "a.md")
        archive.writestr(".hidden", "text")
        archive.writestr("__MACOSX/a.md", "text")
        archive.writestr("odd.md", "text", compress_type=zipfile.ZIP_LZMA)
    members = unpack.list_members(buffer.getvalue(), limits=LIMITS)
    refusals = {member.name: member.refusal for member in members}
    assert "outside" in refusals["up.md"]
    assert "50 are allowed" in refusals["long.md"]
    assert refusals["link.md"] == "It is a link."
    assert {".hidden", "__MACOSX/a.md"}.isdisjoint(refusals)
    (linked,) = unpack.list_members(tar_of(link="link.md"), limits=LIMITS)
    assert "link" in linked.refusal


def test_equal_names_get_numbers_and_the_rest_is_left_out() -> None:
    first, second = unpack.list_members(tar_of("a.md", "a.md"), limits=LIMITS)
    assert (first.name, second.name) == ("a.md", "a (2).md")
    few = LoaderLimits(max_unpacked_bytes=5)
    _, rest = unpack.list_members(tar_of("a.md", "b.md"), limits=few)
    assert "left out" in rest.refusal


def test_a_file_that_unpacks_to_too_much_is_refused() -> None:
    with zipfile.ZipFile(buffer := io.BytesIO(), "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bomb.md", "x" * 8_000_000)
    large = LoaderLimits(max_ratio=10)
    (member,) = unpack.list_members(buffer.getvalue(), limits=large)
    assert "more than 10 times" in member.refusal


def test_a_damaged_archive_gives_what_is_whole() -> None:
    for content in (b"PK\x03\x04 no archive", b"no archive"):
        with pytest.raises(UnreadableFile, match="damaged"):
            unpack.list_members(content, limits=LIMITS)
    torn = tar_of("a.md", "b.md")[: 4 * 512 + 100]
    names = [member.name for member in unpack.list_members(torn, limits=LIMITS)]
    assert names[0] == "a.md"
    content = zip_of(**{"a.md": "text"}).replace(b"text", b"tent", 1)
    ((name, read, reason),) = unpack.read_members(content, {"a.md"}, limits=LIMITS)
    assert (name, read, "damaged" in reason) == ("a.md", None, True)


def test_an_encrypted_file_is_refused() -> None:
    content = bytearray(zip_of(**{"a.md": "text"}))
    content[content.index(b"PK\x01\x02") + 8] |= 1
    (member,) = unpack.list_members(bytes(content), limits=LIMITS)
    assert "encrypted" in member.refusal
