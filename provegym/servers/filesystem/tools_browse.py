"""Tools that look at the tree: where one is, what is there, how big it is."""

from __future__ import annotations

import re
from datetime import datetime
from fnmatch import translate
from typing import Annotated, Literal

from msgspec import Struct

from provegym.servers.filesystem import samples
from provegym.servers.filesystem.paths import (
    EXECUTE,
    READ,
    need,
    path_of,
    reached,
    resolve,
    resolve_directory,
    texts,
    walk,
)
from provegym.servers.filesystem.state import (
    Disk,
    GroupName,
    Inode,
    Kind,
    Path,
    TagName,
    UserName,
)
from provegym.world.fields import Limit, Range, Stamp, Text
from provegym.world.page import page
from provegym.world.tool import refuse, tool

_LOST = ("no_such_file", "not_a_directory", "permission_denied")
TREE_LINES = 30


class Place(Struct, frozen=True):
    """Where the shell is."""

    path: Path


class Entry(Struct, frozen=True):
    """One thing in a listing."""

    path: Path
    kind: Kind
    size: int
    mode: str


class Entries(Struct, frozen=True):
    """A page of a listing."""

    entries: list[Entry]
    total: int
    next_cursor: str


class Tree(Struct, frozen=True):
    """A directory drawn as text."""

    path: Path
    tree: str
    directories: int
    files: int


class Status(Struct, frozen=True):
    """All that is known of a path."""

    path: Path
    kind: Kind
    size: int
    mode: str
    permissions: str
    owner: UserName
    group: GroupName
    tag: TagName
    modified: Stamp


class Match(Struct, frozen=True):
    """A line that holds the text."""

    path: Path
    line: int
    text: str


class Matches(Struct, frozen=True):
    """A page of matching lines."""

    matches: list[Match]
    total: int
    next_cursor: str


class Usage(Struct, frozen=True):
    """Bytes at and below a path."""

    path: Path
    size: int


class DiskUsage(Struct, frozen=True):
    """Bytes below a directory, and its largest entries."""

    path: Path
    total_size: int
    files: int
    largest: list[Usage]


class Quota(Struct, frozen=True):
    """What an account may hold, in bytes."""

    user: UserName
    quota: int
    used: int
    free: int
    in_trash: int


class Target(Struct, frozen=True):
    """Where a symbolic link points."""

    path: Path
    target: str
    resolved: Path
    """Empty if nothing is there."""


def entry_of(path: str, node: Inode) -> Entry:
    """A line of a listing."""
    return Entry(path, node.kind, node.size, node.mode)


@tool(
    "read",
    phrases=("Tell me the current working directory", "Show which directory I am in now"),
)
def print_working_directory(disk: Disk) -> Place:
    """Show the working directory, where relative paths start."""
    return Place(path_of(disk, disk.inodes[disk.shell.cwd]))


@tool(
    "write",
    phrases=("Go to the directory {path}", "Change the working directory to {path}"),
    refuses=(*_LOST, "no_change"),
    sample=samples.other_directory,
)
def change_directory(disk: Disk, path: Path) -> Place:
    """Change the working directory. In every tool, paths are absolute, relative to it, or "~/...".

    Args:
        path: Directory to go to.
    """
    node = resolve_directory(disk, path)
    need(disk, node, EXECUTE, path)
    if node.id == disk.shell.cwd:
        refuse("no_change", f"{path}: is already the working directory")
    disk.shells.update(disk.shell, cwd=node.id)
    return Place(path_of(disk, node))


@tool(
    "read",
    phrases=(
        "List the entries of the directory[ {path}][ by {sort_by}][ and {hidden} hidden files]",
        "Show what is in the directory[ {path}][ sorted by {sort_by}][ and {hidden} hidden files]",
    ),
    refuses=("no_such_file", "permission_denied"),
    sample=samples.listing,
)
def list_directory(
    disk: Disk,
    path: Path = ".",
    sort_by: Literal["name", "size", "modified"] = "name",
    hidden: Literal["skip", "show"] = "skip",
    limit: Limit = 5,
    cursor: str = "",
) -> Entries:
    """List the entries of one directory (ls).

    Args:
        path: Directory to list; a file gives itself.
        sort_by: Order: by name, largest first, or newest first.
        hidden: What to do with names that start with a dot.
        limit: Most entries to return.
        cursor: next_cursor of the page before.
    """
    node = resolve(disk, path)
    if node.kind != "directory":
        return Entries([entry_of(path_of(disk, node), node)], 1, "")
    need(disk, node, READ | EXECUTE, path)
    top = path_of(disk, node).rstrip("/")
    found = [n for n in disk.children(node) if hidden == "show" or not n.name.startswith(".")]
    if sort_by == "size":
        found.sort(key=lambda n: -n.size)
    elif sort_by == "modified":
        found.sort(key=lambda n: datetime.fromisoformat(n.modified), reverse=True)
    shown, total, following = page(found, limit, cursor)
    return Entries([entry_of(f"{top}/{n.name}", n) for n in shown], total, following)


@tool(
    "read",
    phrases=(
        "Draw the directory tree[ of {path}][ down to depth {depth}]",
        "Show the tree[ of {path}][ {depth} levels deep]",
    ),
    refuses=_LOST,
    sample=samples.tree,
)
def show_tree(disk: Disk, path: Path = ".", depth: Annotated[int, Range(1, 5)] = 2) -> Tree:
    """Draw a directory and what lies below it as an indented tree; hidden names are left out.

    Args:
        path: Directory at the top.
        depth: How many levels to show.
    """
    top = resolve_directory(disk, path)
    need(disk, top, READ | EXECUTE, path)
    start = path_of(disk, top)
    base = len([name for name in start.split("/") if name])
    lines, directories, files = [], 0, 0
    for at, node in walk(disk, top, start):
        level = len([name for name in at.split("/") if name]) - base
        if not 0 < level <= depth or "/." in at[len(start.rstrip("/")) :]:
            continue
        is_directory = node.kind == "directory"
        directories, files = directories + is_directory, files + (not is_directory)
        lines.append("  " * (level - 1) + node.name + ("/" if is_directory else ""))
    if len(lines) > TREE_LINES:
        lines[TREE_LINES:] = [f"({len(lines) - TREE_LINES} more)"]
    return Tree(start, "\n".join(lines), directories, files)


@tool(
    "read",
    phrases=(
        "Show the details of {path}",
        "Tell me the owner, the permissions and the modification time of {path}",
    ),
    refuses=_LOST,
    sample=samples.anything,
)
def stat_path(disk: Disk, path: Path) -> Status:
    """Show kind, size, permissions, owner, tag and time of one path; links are not followed.

    Args:
        path: What to look at.
    """
    node = resolve(disk, path, follow=False)
    return Status(
        path_of(disk, node),
        node.kind,
        node.size,
        node.mode,
        _permissions(node),
        node.owner,
        node.group,
        node.tag,
        node.modified,
    )


def _permissions(node: Inode) -> str:
    """The mode as `ls -l` writes it: "rwxr-x---"."""
    bits = int(node.mode, 8)
    text = "".join(c if bits >> (8 - i) & 1 else "-" for i, c in enumerate("rwxrwxrwx"))
    return text[:-1] + ("t" if text[-1] == "x" else "T") if bits & 0o1000 else text


@tool(
    "read",
    phrases=(
        "Find everything[ named {name}][ below {path}][ of kind {kind}][ tagged {tag}]"
        "[ larger than {larger_than} bytes]",
        "List all paths[ below {path}][ that match {name}][ of kind {kind}][ with the tag {tag}]"
        "[ over {larger_than} bytes]",
    ),
    refuses=_LOST,
    sample=samples.search_names,
)
def find_files(
    disk: Disk,
    path: Path = ".",
    name: str = "*",
    kind: Literal["any", "file", "directory", "symlink", "archive"] = "any",
    tag: Literal["any", "urgent", "review", "final", "personal", "none"] = "any",
    larger_than: Annotated[int, Range(0)] = 0,
    limit: Limit = 5,
    cursor: str = "",
) -> Entries:
    """Find paths by name, kind, tag or size at and below a directory (find).

    Args:
        path: Where to start.
        name: Exact name or pattern with * and ?, such as "*.csv".
        kind: Only this kind.
        tag: Only what has this tag.
        larger_than: Only what has more bytes.
        limit: Most entries to return.
        cursor: next_cursor of the page before.
    """
    top = resolve(disk, path)
    fits = re.compile(translate(name)).match  # fnmatchcase keeps 32,768 patterns, 30 MB
    found = [
        (at, node)
        for at, node in walk(disk, top, path_of(disk, top))
        if (kind in ("any", node.kind) and tag in ("any", node.tag))
        and (not larger_than or node.size > larger_than)
        and fits(node.name)
    ]
    shown, total, following = page(found, limit, cursor)
    return Entries([entry_of(at, node) for at, node in shown], total, following)


@tool(
    "read",
    phrases=(
        'Search for the text "{text}"[ in {path}][ and {case} case]',
        'Find the lines that contain "{text}"[ in {path}][ and {case} case]',
    ),
    refuses=_LOST,
    sample=samples.search_lines,
)
def search_text(
    disk: Disk,
    text: Text,
    path: Path = ".",
    case: Literal["match", "ignore"] = "match",
    limit: Limit = 5,
    cursor: str = "",
) -> Matches:
    """Find lines that contain a text, in a file or in all readable files below a directory (grep).

    Args:
        text: Words to look for, taken literally.
        path: File or directory to search.
        case: Whether upper and lower case count.
        limit: Most lines to return.
        cursor: next_cursor of the page before.
    """
    top = resolve(disk, path)
    if top.kind == "file":
        need(disk, top, READ, path)
    fold = str.casefold if case == "ignore" else str
    wanted = fold(text)
    found = [
        Match(at, number, line)
        for at, node in texts(disk, top, path_of(disk, top))
        if wanted in fold(node.content)
        for number, line in enumerate(node.content.split("\n"), 1)
        if wanted in fold(line)
    ]
    shown, total, following = page(found, limit, cursor)
    return Matches(shown, total, following)


@tool(
    "read",
    phrases=(
        "Tell me how many bytes the files[ in {path}] take[, with the {limit} largest entries]",
        "Show the disk usage[ of {path}][ and its {limit} largest entries]",
    ),
    refuses=_LOST,
    sample=samples.usage,
)
def disk_usage(disk: Disk, path: Path = ".", limit: Limit = 5) -> DiskUsage:
    """Add up the bytes of all files at and below a path, and show its largest entries (du).

    Args:
        path: File or directory to measure.
        limit: How many of its entries to show.
    """
    top = resolve(disk, path)
    start = path_of(disk, top)
    if top.kind == "directory":
        need(disk, top, READ | EXECUTE, path)
    sizes: dict[str, int] = {}
    files, depth = 0, len(start.rstrip("/")) + 1
    for at, node in walk(disk, top, start):
        files += node.kind != "directory"
        entry = at[: depth + len(at[depth:].partition("/")[0])]
        sizes[entry] = sizes.get(entry, 0) + node.size
    total = sum(sizes.values())
    sizes.pop(start, None)
    ranked = sorted(sizes.items(), key=lambda pair: (-pair[1], pair[0]))
    return DiskUsage(start, total, files, [Usage(*pair) for pair in ranked[:limit]])


@tool(
    "read",
    phrases=("Show how much of my storage quota is left", "Tell me my quota and what I use of it"),
)
def show_quota(disk: Disk) -> Quota:
    """Show how many bytes the user may hold and uses; what lies in the trash counts."""
    me = disk.me
    thrown = sum(
        node.size
        for item in disk.trash.where(deleted_by=me.id)
        for _, node in walk(disk, disk.inodes[item.inode], "")
    )
    return Quota(me.id, me.quota, me.used, me.quota - me.used, thrown)


@tool(
    "read",
    phrases=("Tell me where the link {path} points", "Show the target of the symbolic link {path}"),
    refuses=(*_LOST, "not_a_symlink"),
    sample=samples.link,
)
def read_link(disk: Disk, path: Path) -> Target:
    """Show the target of a symbolic link, and where it leads in the end.

    Args:
        path: The link.
    """
    node = resolve(disk, path, follow=False)
    if node.kind != "symlink":
        refuse("not_a_symlink", f"{path}: is a {node.kind}, not a symbolic link")
    end = reached(disk, path)
    return Target(path_of(disk, node), node.content, path_of(disk, end) if end else "")
