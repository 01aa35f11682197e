"""Tools for what was: the trash, and the earlier versions of files."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated

from msgspec import Struct

from provegym.servers.filesystem import samples
from provegym.servers.filesystem.edits import purge, rewrite
from provegym.servers.filesystem.paths import (
    READ,
    WRITE,
    may_unlink,
    not_in_use,
    path_of,
    resolve,
    resolve_text,
    vacant,
)
from provegym.servers.filesystem.state import Disk, Kind, NewPath, Path, Trash, TrashId
from provegym.world.fields import Limit, Range, Stamp
from provegym.world.page import page
from provegym.world.tool import refuse, tool

_LOST = ("no_such_file", "not_a_directory", "permission_denied")


class Thrown(Struct, frozen=True):
    """Something in the trash."""

    trash_id: TrashId
    original_path: str
    kind: Kind
    deleted_at: Stamp


class ThrownPage(Struct, frozen=True):
    """A page of the trash, the latest first."""

    items: list[Thrown]
    total: int
    next_cursor: str


class Restored(Struct, frozen=True):
    """Something back from the trash."""

    path: Path
    kind: Kind


class Emptied(Struct, frozen=True):
    """What left the trash for good."""

    items: int
    freed: int
    left: int


class VersionItem(Struct, frozen=True):
    """An earlier content of a file."""

    version: int
    size: int
    first_line: str
    saved: Stamp


class VersionPage(Struct, frozen=True):
    """A page of versions, the latest first."""

    path: Path
    versions: list[VersionItem]
    total: int
    next_cursor: str


class Reverted(Struct, frozen=True):
    """A file with an earlier content."""

    path: Path
    version: int
    size: int
    saved_as: int
    """The version that now keeps the content of before."""


def _thrown(disk: Disk, item: Trash) -> Thrown:
    return Thrown(item.id, item.original_path, disk.inodes[item.inode].kind, item.deleted_at)


@tool(
    "write",
    phrases=("Move {path} to the trash", "Throw {path} away so that I can still get it back"),
    refuses=(*_LOST, "directory_busy"),
    sample=samples.removable,
)
def move_to_trash(disk: Disk, path: Path) -> Thrown:
    """Throw away a file or directory with all it holds; restore_from_trash gets it back.

    Args:
        path: What to throw away.
    """
    node = resolve(disk, path, follow=False)
    not_in_use(disk, node, path)
    may_unlink(disk, node, path)
    original, me = path_of(disk, node), disk.me
    disk.inodes.update(node, parent="")
    item = Trash(disk.trash.new_id(), node.id, original, me.id, disk.stamp)
    return _thrown(disk, disk.trash.put(item))


@tool(
    "read",
    phrases=(
        "List what is in my trash[ with {query} in its path]",
        "Show what I have thrown away[ from paths with {query}]",
    ),
    sample=samples.trash_query,
)
def list_trash(disk: Disk, query: str = "", limit: Limit = 5, cursor: str = "") -> ThrownPage:
    """List what the user has thrown away, the latest first.

    Args:
        query: Part of the original path.
        limit: Most items to return.
        cursor: next_cursor of the page before.
    """
    mine = [
        item
        for item in disk.trash.where(deleted_by=disk.me.id)
        if query.casefold() in item.original_path.casefold()
    ]
    mine.sort(key=lambda item: item.original_path)
    mine.sort(key=lambda item: datetime.fromisoformat(item.deleted_at), reverse=True)
    shown, total, following = page(mine, limit, cursor)
    return ThrownPage([_thrown(disk, item) for item in shown], total, following)


@tool(
    "write",
    phrases=(
        "Restore {trash_id} from the trash[ as {destination}]",
        "Get {trash_id} back out of the trash[ and put it at {destination}]",
    ),
    refuses=(*_LOST, "not_in_trash", "file_exists"),
    sample=samples.restoring,
)
def restore_from_trash(
    disk: Disk, trash_id: TrashId, destination: NewPath | None = None
) -> Restored:
    """Put something from the trash back where it was, or at a new path.

    Args:
        trash_id: Item as list_trash gives it.
        destination: New path; the original one if not given.
    """
    item = disk.trash.get(trash_id)
    if item is None or item.deleted_by != disk.me.id:
        refuse("not_in_trash", f"no item {trash_id[:80]!r} in your trash; see list_trash")
    directory, name = vacant(disk, destination or item.original_path)
    disk.trash.delete(item.id)
    node = disk.inodes.update(disk.inodes[item.inode], parent=directory.id, name=name)
    return Restored(path_of(disk, node), node.kind)


@tool(
    "write",
    phrases=(
        "Empty my trash[, but only of what was thrown away more than {older_than_days} days ago]",
        "Delete what is in the trash for good[ if it is older than {older_than_days} days]",
    ),
    refuses=("trash_empty",),
    sample=samples.emptying,
)
def empty_trash(disk: Disk, older_than_days: Annotated[int, Range(0, 365)] = 0) -> Emptied:
    """Delete what the user has thrown away for good; this frees quota.

    Args:
        older_than_days: Only what was thrown away longer ago; 0 is everything.
    """
    until = disk.now - timedelta(days=older_than_days)
    mine = disk.trash.where(deleted_by=disk.me.id)
    old = [item for item in mine if datetime.fromisoformat(item.deleted_at) <= until]
    if not old:
        refuse("trash_empty", f"none of {len(mine)} items is {older_than_days} days old")
    for item in old:
        disk.trash.delete(item.id)
    freed = purge(disk, [disk.inodes[item.inode] for item in old])
    return Emptied(len(old), freed, len(mine) - len(old))


@tool(
    "read",
    phrases=("List the earlier versions of {path}", "Show the version history of the file {path}"),
    refuses=(*_LOST, "is_a_directory", "binary_file"),
    sample=samples.versioned,
)
def list_versions(disk: Disk, path: Path, limit: Limit = 5, cursor: str = "") -> VersionPage:
    """List the texts that a file had before its changes, the latest first.

    Args:
        path: The file.
        limit: Most versions to return.
        cursor: next_cursor of the page before.
    """
    node = resolve_text(disk, path, READ)
    found = sorted(disk.versions.where(inode=node.id), key=lambda v: -v.number)
    shown, total, following = page(found, limit, cursor)
    items = [
        VersionItem(v.number, len(v.content.encode()), v.content.partition("\n")[0], v.saved)
        for v in shown
    ]
    return VersionPage(path_of(disk, node), items, total, following)


@tool(
    "write",
    phrases=(
        "Restore version {version} of {path}",
        "Take the file {path} back to its version {version}",
    ),
    refuses=(
        *(*_LOST, "is_a_directory", "binary_file", "no_such_version"),
        *("quota_exceeded", "no_change"),
    ),
    sample=samples.reverting,
)
def restore_version(disk: Disk, path: Path, version: Annotated[int, Range(1)]) -> Reverted:
    """Give a file the text of one of its versions; the present text becomes a new version.

    Args:
        path: The file.
        version: Number as list_versions gives it.
    """
    node = resolve_text(disk, path, READ | WRITE)
    numbers = {v.number: v for v in disk.versions.where(inode=node.id)}
    if version not in numbers:
        known = ", ".join(map(str, sorted(numbers))) or "none"
        refuse("no_such_version", f"{path}: no version {version}; there are: {known}")
    node = rewrite(disk, node, numbers[version].content, path)
    return Reverted(path_of(disk, node), version, node.size, max(numbers) + 1)
