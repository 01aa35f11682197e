"""Tools for the text in files. A text ends with a newline, as POSIX defines a line."""

from __future__ import annotations

import difflib
import hashlib
from itertools import pairwise
from string import ascii_lowercase
from typing import Annotated, Literal

from msgspec import Struct

from provegym.servers.filesystem import samples
from provegym.servers.filesystem.edits import add, as_text, lines_of, rewrite
from provegym.servers.filesystem.paths import (
    EXECUTE,
    READ,
    WRITE,
    exists,
    joined,
    need,
    parent_of,
    path_of,
    resolve_file,
    resolve_text,
    vacant,
)
from provegym.servers.filesystem.state import Disk, Inode, NewPath, Path
from provegym.world.fields import Range, Text
from provegym.world.tool import refuse, tool

Lines = Annotated[int, Range(1, 50)]

_LOST = ("no_such_file", "not_a_directory", "permission_denied", "is_a_directory")
_READ = (*_LOST, "binary_file")
_WRITE = (*_READ, "quota_exceeded", "no_change")


class Content(Struct, frozen=True):
    """Text of a file."""

    path: Path
    content: str
    lines: int
    """How many the whole file has."""


class Written(Struct, frozen=True):
    """A file after a change."""

    path: Path
    lines: int
    size: int


class Replaced(Struct, frozen=True):
    """A file after a replacement."""

    path: Path
    replacements: int
    size: int


class Counts(Struct, frozen=True):
    """What `wc` counts."""

    path: Path
    lines: int
    words: int
    size: int


class Difference(Struct, frozen=True):
    """How two texts differ."""

    first: Path
    second: Path
    identical: bool
    added: int
    removed: int
    diff: str


class Checksum(Struct, frozen=True):
    """A digest of a file's bytes."""

    path: Path
    algorithm: str
    checksum: str


class Parts(Struct, frozen=True):
    """The pieces of a split file."""

    path: Path
    parts: list[Path]


def _written(disk: Disk, node: Inode) -> Written:
    return Written(path_of(disk, node), node.content.count("\n"), node.size)


def _content(disk: Disk, node: Inode, lines: list[str]) -> Content:
    return Content(path_of(disk, node), "".join(lines), node.content.count("\n"))


@tool(
    "write",
    phrases=(
        'Create the file {path}[ with the text "{content}"]',
        'Make a new file {path}[ that says "{content}"]',
    ),
    refuses=(
        *("file_exists", "no_such_file", "not_a_directory", "permission_denied"),
        "quota_exceeded",
    ),
    sample=samples.new_file,
)
def create_file(disk: Disk, path: NewPath, content: str = "") -> Written:
    """Create a new file; its directory must exist and the file must not.

    Args:
        path: Where the file is to be.
        content: Its text; empty if not given.
    """
    directory, name = vacant(disk, path)
    return _written(disk, add(disk, directory, name, "file", as_text(content)))


@tool(
    "read",
    phrases=("Read the file {path}", "Show me the whole text of {path}"),
    refuses=_READ,
    sample=samples.readable,
)
def read_file(disk: Disk, path: Path) -> Content:
    """Show the whole text of a file (cat).

    Args:
        path: File to read.
    """
    node = resolve_text(disk, path, READ)
    return _content(disk, node, [node.content])


@tool(
    "write",
    phrases=(
        'Replace the whole content of {path} with "{content}"',
        'Overwrite the file {path} so that it only says "{content}"',
    ),
    refuses=_WRITE,
    sample=samples.new_content,
)
def write_file(disk: Disk, path: Path, content: str) -> Written:
    """Replace the whole text of an existing file; the old text is kept as a version.

    Args:
        path: File to overwrite.
        content: Its new text.
    """
    node = resolve_text(disk, path, WRITE)
    return _written(disk, rewrite(disk, node, as_text(content), path))


@tool(
    "write",
    phrases=('Append "{text}" to {path}', 'Add the line "{text}" at the end of {path}'),
    refuses=(*_READ, "quota_exceeded"),
    sample=samples.new_text,
)
def append_file(disk: Disk, path: Path, text: Text) -> Written:
    """Add lines at the end of an existing file; the old text is kept as a version.

    Args:
        path: File to extend.
        text: What to add.
    """
    node = resolve_text(disk, path, WRITE)
    return _written(disk, rewrite(disk, node, node.content + as_text(text), path))


@tool(
    "read",
    phrases=(
        "Show the first [{lines} ]lines of {path}",
        "Show me how {path} begins[, {lines} lines]",
    ),
    refuses=_READ,
    sample=samples.some_lines,
)
def head_file(disk: Disk, path: Path, lines: Lines = 3) -> Content:
    """Show the first lines of a file.

    Args:
        path: File to read.
        lines: How many lines.
    """
    node = resolve_text(disk, path, READ)
    return _content(disk, node, lines_of(node.content)[:lines])


@tool(
    "read",
    phrases=("Show the last [{lines} ]lines of {path}", "Show me how {path} ends[, {lines} lines]"),
    refuses=_READ,
    sample=samples.some_lines,
)
def tail_file(disk: Disk, path: Path, lines: Lines = 3) -> Content:
    """Show the last lines of a file.

    Args:
        path: File to read.
        lines: How many lines.
    """
    node = resolve_text(disk, path, READ)
    return _content(disk, node, lines_of(node.content)[-lines:])


@tool(
    "read",
    phrases=("Count the words in {path}", "Tell me how many lines and words {path} has"),
    refuses=_READ,
    sample=samples.readable,
)
def count_words(disk: Disk, path: Path) -> Counts:
    """Count the lines, words and bytes of a file (wc).

    Args:
        path: File to count.
    """
    node = resolve_text(disk, path, READ)
    lines, words = node.content.count("\n"), len(node.content.split())
    return Counts(path_of(disk, node), lines, words, node.size)


@tool(
    "write",
    phrases=(
        "Sort the lines of {path}[ in {order} order][ by {key}][ and {duplicates} duplicates]",
        "Put the lines of {path} in order[, {order}][, by {key}][, and {duplicates} duplicates]",
    ),
    refuses=(*_READ, "no_change"),
    sample=samples.sorting,
)
def sort_lines(
    disk: Disk,
    path: Path,
    order: Literal["ascending", "descending"] = "ascending",
    key: Literal["text", "number"] = "text",
    duplicates: Literal["keep", "drop"] = "keep",
) -> Written:
    """Sort the lines of a file in place (sort -o), in the byte order of the C locale.

    Args:
        path: File to sort.
        order: Direction.
        key: Whole line, or the number that it starts with.
        duplicates: What to do with equal lines.
    """
    node = resolve_text(disk, path, READ | WRITE)
    lines = lines_of(node.content)
    if duplicates == "drop":
        lines = list(dict.fromkeys(lines))
    lines.sort(key=lambda line: line.encode())
    if key == "number":
        lines.sort(key=_leading_number)
    if order == "descending":
        lines.reverse()
    return _written(disk, rewrite(disk, node, "".join(lines), path))


def _leading_number(line: str) -> float:
    """The number at the start of a line, 0 if there is none (sort -n)."""
    text = line.lstrip()
    sign, text = (-1, text[1:]) if text.startswith("-") else (1, text)
    whole, dot, rest = text.partition(".")
    digits = _digits(whole)
    fraction = _digits(rest) if dot and digits == whole else ""
    return sign * float(f"{digits or '0'}.{fraction or '0'}")


def _digits(text: str) -> str:
    return text[: len(text) - len(text.lstrip("0123456789"))]


@tool(
    "write",
    phrases=(
        'Replace "{old}" with "{new}" in the file {path}',
        'Change every "{old}" to "{new}" in {path}',
    ),
    refuses=(*_WRITE, "text_not_found"),
    sample=samples.replacement,
)
def replace_text(disk: Disk, path: Path, old: Text, new: str) -> Replaced:
    """Replace every occurrence of a text in a file; the old text is kept as a version.

    Args:
        path: File to change.
        old: Text to replace, taken literally.
        new: Text to put there.
    """
    node = resolve_text(disk, path, READ | WRITE)
    count = node.content.count(old)
    if not count:
        refuse("text_not_found", f"{path}: does not contain {old[:80]!r}")
    node = rewrite(disk, node, as_text(node.content.replace(old, new)), path)
    return Replaced(path_of(disk, node), count, node.size)


@tool(
    "read",
    phrases=(
        "Compare {first} with {second}",
        "Show the differences between {first} and {second}",
    ),
    refuses=_READ,
    sample=samples.two_files,
)
def diff_files(disk: Disk, first: Path, second: Path) -> Difference:
    """Compare two files line by line, as a unified diff (diff -U 0).

    Args:
        first: The old file.
        second: The new file.
    """
    old, new = resolve_text(disk, first, READ), resolve_text(disk, second, READ)
    lines = difflib.unified_diff(lines_of(old.content), lines_of(new.content), n=0)
    body = [line.removesuffix("\n") for line in list(lines)[2:]]
    added, removed = (sum(line.startswith(sign) for line in body) for sign in "+-")
    same = old.content == new.content
    return Difference(path_of(disk, old), path_of(disk, new), same, added, removed, "\n".join(body))


@tool(
    "read",
    phrases=(
        "Compute the [{algorithm} ]checksum of {path}",
        "Give me the [{algorithm} ]checksum of the file {path}",
    ),
    refuses=_LOST,
    sample=samples.digest,
)
def checksum_file(
    disk: Disk, path: Path, algorithm: Literal["md5", "sha1", "sha256"] = "sha256"
) -> Checksum:
    """Compute the checksum of a file: MD5 (RFC 1321), SHA-1 or SHA-256 (FIPS 180-4).

    Args:
        path: File to digest.
        algorithm: Which checksum.
    """
    node = resolve_file(disk, path, READ)
    digest = hashlib.new(algorithm, node.content.encode(), usedforsecurity=False)
    return Checksum(path_of(disk, node), algorithm, digest.hexdigest())


@tool(
    "write",
    phrases=(
        "Split {path} into parts of {lines} lines",
        "Cut the file {path} into pieces of {lines} lines each",
    ),
    refuses=(*_READ, "quota_exceeded", "file_exists", "too_short"),
    sample=samples.splitting,
)
def split_file(disk: Disk, path: Path, lines: Lines) -> Parts:
    """Split a file into parts beside it, named like it with .aa, .ab, ...; the file stays.

    Args:
        path: File to split.
        lines: How many lines a part has.
    """
    node = resolve_text(disk, path, READ)
    directory = parent_of(disk, node)
    need(disk, directory, WRITE | EXECUTE, path)
    texts = lines_of(node.content)
    if len(texts) <= lines:
        refuse("too_short", f"{path}: has {len(texts)} lines; a part must have fewer")
    bounds = [*range(0, len(texts), lines), len(texts)]
    if len(bounds) - 1 > 26 * 26:
        refuse("invalid_value", f"{path}: {len(bounds) - 1} parts; there are 676 names for parts")
    top, parts = path_of(disk, directory), []
    for i, (start, end) in enumerate(pairwise(bounds)):
        name = f"{node.name}.{ascii_lowercase[i // 26]}{ascii_lowercase[i % 26]}"
        if disk.child(directory, name):
            exists(joined(top, name))
        add(disk, directory, name, "file", "".join(texts[start:end]))
        parts.append(joined(top, name))
    return Parts(path_of(disk, node), parts)


@tool(
    "write",
    phrases=(
        "Join the files {paths} into the new file {destination}",
        "Concatenate {paths} and save the result as {destination}",
    ),
    refuses=(*_READ, "quota_exceeded", "file_exists", "too_few_files"),
    sample=samples.joining,
)
def join_files(disk: Disk, paths: list[Path], destination: NewPath) -> Written:
    """Join two or more files, in the order given, into a new file; they stay as they are.

    Args:
        paths: Files to join.
        destination: The new file.
    """
    if len(paths) < 2:
        refuse("too_few_files", f"{len(paths)} file given; at least two can be joined")
    texts = [resolve_text(disk, path, READ).content for path in paths]
    directory, name = vacant(disk, destination)
    return _written(disk, add(disk, directory, name, "file", "".join(texts)))
