"""Tools that change the tree: make, move, copy, remove, link and pack."""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import Struct

from provegym.servers.filesystem import samples
from provegym.servers.filesystem.edits import add, purge, rewrite
from provegym.servers.filesystem.paths import (
    EXECUTE,
    READ,
    WRITE,
    exists,
    is_within,
    joined,
    may_unlink,
    need,
    not_in_use,
    path_of,
    reached,
    resolve,
    resolve_directory,
    resolve_file,
    resolve_new,
    subtree,
    vacant,
    walk,
)
from provegym.servers.filesystem.state import (
    Disk,
    Inode,
    Kind,
    Member,
    NewPath,
    Path,
    members_of,
)
from provegym.world.tool import refuse, tool

IfExists = Literal["refuse", "overwrite"]

_LOST = ("no_such_file", "not_a_directory", "permission_denied")
_PLACE = (*_LOST, "file_exists", "is_a_directory", "into_itself", "no_change")
SHOWN = 5


class Node(Struct, frozen=True):
    """Something that was made or changed."""

    path: Path
    kind: Kind
    size: int


class Moved(Struct, frozen=True):
    """Something at its new path."""

    path: Path
    moved_from: str


class Copied(Struct, frozen=True):
    """A copy."""

    path: Path
    copied_from: Path
    entries: int
    size: int


class Removed(Struct, frozen=True):
    """What is gone for good."""

    removed: str
    entries: int
    freed: int


class Linked(Struct, frozen=True):
    """A new symbolic link."""

    path: Path
    target: str


class Packed(Struct, frozen=True):
    """A new archive."""

    path: Path
    members: int
    size: int


class Unpacked(Struct, frozen=True):
    """What came out of an archive: the first few paths and how many there are."""

    destination: Path
    paths: list[Path]
    total: int


@tool(
    "write",
    phrases=(
        "Make the directory {path}[ and {parents} missing parent directories]",
        "Create a new folder {path}[, and {parents} missing parents]",
    ),
    refuses=(*_LOST, "file_exists"),
    sample=samples.new_directory,
)
def make_directory(
    disk: Disk, path: NewPath, parents: Literal["refuse", "create"] = "refuse"
) -> Node:
    """Make a directory (mkdir).

    Args:
        path: The new directory.
        parents: What to do where directories above it are missing.
    """
    if parents == "create":
        _make_parents(disk, path.rstrip("/"))
    directory, name = vacant(disk, path)
    node = add(disk, directory, name, "directory")
    return Node(path_of(disk, node), node.kind, node.size)


def _make_parents(disk: Disk, path: str) -> None:
    names = path.split("/")
    for depth in range(1, len(names)):
        above = "/".join(names[:depth])
        if above and above != "~" and reached(disk, above) is None:
            directory, name = vacant(disk, above)
            add(disk, directory, name, "directory")


@tool(
    "write",
    phrases=(
        "Remove the directory {path}[ and {contents} its contents]",
        "Delete the folder {path}[, and {contents} what is in it]",
    ),
    refuses=(*_LOST, "not_empty", "directory_busy"),
    sample=samples.removable_directory,
)
def remove_directory(
    disk: Disk, path: Path, contents: Literal["keep", "delete"] = "keep"
) -> Removed:
    """Remove a directory for good: an empty one (rmdir), or with all it holds (rm -r).

    Args:
        path: The directory.
        contents: With "keep" a directory that is not empty is refused.
    """
    node = resolve(disk, path, follow=False)
    if node.kind != "directory":
        refuse("not_a_directory", f"{path}: is a {node.kind}; use delete_file")
    not_in_use(disk, node, path)
    may_unlink(disk, node, path)
    entries = len(disk.children(node))
    if entries and contents == "keep":
        refuse("not_empty", f"{path}: holds {entries} entries", entries=entries)
    return _remove(disk, node, path)


def _remove(disk: Disk, node: Inode, path: str) -> Removed:
    gone, nodes = path_of(disk, node), list(subtree(disk, node))
    for inner in nodes:
        if inner.kind == "directory" and disk.children(inner):
            need(disk, inner, READ | WRITE | EXECUTE, path)
        if inner is not node:
            may_unlink(disk, inner, path)
    return Removed(gone, len(nodes), purge(disk, [node]))


@tool(
    "write",
    phrases=("Delete the file {path} for good", "Permanently delete {path}"),
    refuses=(*_LOST, "is_a_directory"),
    sample=samples.removable_file,
)
def delete_file(disk: Disk, path: Path) -> Removed:
    """Delete a file, archive or link for good, with its versions (rm); see move_to_trash.

    Args:
        path: File to delete.
    """
    node = resolve(disk, path, follow=False)
    if node.kind == "directory":
        refuse("is_a_directory", f"{path}: is a directory; use remove_directory")
    may_unlink(disk, node, path)
    return _remove(disk, node, path)


@tool(
    "write",
    phrases=(
        "Move {source} to {destination}[ and {if_exists} what is there]",
        "Move or rename {source} to {destination}[, and {if_exists} any file there]",
    ),
    refuses=(*_PLACE, "not_empty", "directory_busy"),
    sample=samples.moving,
)
def move_path(
    disk: Disk, source: Path, destination: NewPath, if_exists: IfExists = "refuse"
) -> Moved:
    """Move or rename a file or directory (mv). A link is moved itself.

    Args:
        source: What to move.
        destination: New path, or an existing directory to put it into.
        if_exists: What to do if the new path is taken.
    """
    node = resolve(disk, source, follow=False)
    may_unlink(disk, node, source)
    directory, name, there = _place(disk, node, destination)
    if there:
        if there.id == node.id:
            refuse("no_change", f"{source}: is already at {destination}")
        _may_overwrite(disk, there, destination, if_exists)
        _same_kind(disk, node, there, destination)
        not_in_use(disk, there, destination)
        may_unlink(disk, there, destination)
        purge(disk, [there])
    need(disk, directory, WRITE | EXECUTE, destination)
    before = path_of(disk, node)
    moved = disk.inodes.update(node, parent=directory.id, name=name)
    return Moved(path_of(disk, moved), before)


def _place(disk: Disk, node: Inode, destination: str) -> tuple[Inode, str, Inode | None]:
    """Where `node` is to go: the directory, the name, and what is there now."""
    end = reached(disk, destination)
    if end is not None and end.kind == "directory":
        directory, name = end, node.name
    else:
        directory, name = resolve_new(disk, destination)
    if is_within(disk, directory, node):
        where = path_of(disk, node)
        refuse("into_itself", f"{destination}: lies inside {where}, which cannot hold itself")
    need(disk, directory, EXECUTE, destination)
    return directory, name, disk.child(directory, name)


def _may_overwrite(disk: Disk, there: Inode, destination: str, if_exists: IfExists) -> None:
    if if_exists == "refuse":
        where = path_of(disk, there)
        refuse("file_exists", f"{destination}: {where} already exists", path=where)


def _same_kind(disk: Disk, node: Inode, there: Inode, destination: str) -> None:
    """POSIX rename(): only a directory replaces a directory, and only an empty one."""
    if there.kind != "directory" and node.kind == "directory":
        refuse("not_a_directory", f"{destination}: a directory cannot replace a {there.kind}")
    if there.kind == "directory" and node.kind != "directory":
        refuse("is_a_directory", f"{destination}: a {node.kind} cannot replace a directory")
    if there.kind == "directory" and (entries := len(disk.children(there))):
        refuse("not_empty", f"{destination}: the directory there holds {entries} entries")


@tool(
    "write",
    phrases=(
        "Copy {source} to {destination}[ and {if_exists} what is there]",
        "Make a copy of {source} at {destination}[, and {if_exists} any file there]",
    ),
    refuses=(*_PLACE, "quota_exceeded"),
    sample=samples.copying,
)
def copy_path(
    disk: Disk, source: Path, destination: NewPath, if_exists: IfExists = "refuse"
) -> Copied:
    """Copy a file, or a directory with all it holds (cp -R). The copy belongs to the user.

    Args:
        source: What to copy.
        destination: New path, or an existing directory to put the copy into.
        if_exists: What to do if the new path is taken; directories are never merged.
    """
    node = resolve(disk, source)
    directory, name, there = _place(disk, node, destination)
    if there is None:
        need(disk, directory, WRITE, destination)
        copy, entries, size = _copy(disk, node, directory, name, source)
        return Copied(path_of(disk, copy), path_of(disk, node), entries, size)
    if there.id == node.id:
        refuse("no_change", f"{source}: is already at {destination}")
    _may_overwrite(disk, there, destination, if_exists)
    if "directory" in (there.kind, node.kind):
        refuse("is_a_directory", f"{destination}: only a file can overwrite a file")
    need(disk, node, READ, source)
    there = resolve_file(disk, path_of(disk, there), WRITE)
    copy = rewrite(disk, there, node.content, destination, node.kind)
    return Copied(path_of(disk, copy), path_of(disk, node), 1, copy.size)


def _copy(
    disk: Disk, node: Inode, directory: Inode, name: str, source: str
) -> tuple[Inode, int, int]:
    """Copy a subtree: the new top, how many entries, their bytes."""
    is_directory = node.kind == "directory"
    if node.kind != "symlink":
        need(disk, node, READ | EXECUTE if is_directory else READ, source)
    inside = disk.children(node) if is_directory else []
    mode = "777" if node.kind == "symlink" else _cut(disk, node.mode)
    copy = add(disk, directory, name, node.kind, node.content, mode)
    entries, size = 1, copy.size
    for entry in inside:
        _, more, bytes_more = _copy(disk, entry, copy, entry.name, source)
        entries, size = entries + more, size + bytes_more
    return copy, entries, size


def _cut(disk: Disk, mode: str) -> str:
    """A copied mode: without what the umask forbids, without the sticky bit."""
    return f"{int(mode, 8) & 0o777 & ~int(disk.shell.umask, 8):03o}"


@tool(
    "write",
    phrases=(
        "Make a symbolic link {path} that points to {target}",
        "Link {path} to {target}",
    ),
    refuses=(*_LOST, "file_exists", "quota_exceeded"),
    sample=samples.linking,
)
def make_symlink(disk: Disk, target: Path, path: NewPath) -> Linked:
    """Make a symbolic link (ln -s). A relative target counts from the directory of the link.

    Args:
        target: What it points to; kept as written, and need not exist.
        path: The new link.
    """
    directory, name = vacant(disk, path)
    node = add(disk, directory, name, "symlink", target, "777")
    return Linked(path_of(disk, node), target)


@tool(
    "write",
    phrases=(
        "Pack {path} into the archive {archive}",
        "Create the tar archive {archive} from {path}",
    ),
    refuses=(*_LOST, "file_exists", "quota_exceeded", "invalid_name"),
    sample=samples.packing,
)
def create_archive(disk: Disk, path: Path, archive: NewPath) -> Packed:
    """Pack a file or a directory with all it holds into a new ustar archive (tar -c).

    Args:
        path: What to pack; it stays.
        archive: The new archive; its name ends with ".tar".
    """
    top = resolve(disk, path)
    if not archive.endswith(".tar"):
        refuse("invalid_name", f"{archive}: the name of an archive ends with .tar")
    members = []
    for at, node in walk(disk, top, top.name):
        if node.kind != "symlink":
            need(disk, node, READ | EXECUTE if node.kind == "directory" else READ, path)
        members.append(Member(at, node.kind, node.mode, node.content))
    directory, name = vacant(disk, archive)
    content = msgspec.json.encode(members).decode()
    node = add(disk, directory, name, "archive", content)
    return Packed(path_of(disk, node), len(members), node.size)


@tool(
    "write",
    phrases=(
        "Extract the archive {path}[ into {destination}]",
        "Unpack {path}[ into the directory {destination}]",
    ),
    refuses=(*_LOST, "is_a_directory", "file_exists", "quota_exceeded", "not_an_archive"),
    sample=samples.extracting,
)
def extract_archive(disk: Disk, path: Path, destination: Path = ".") -> Unpacked:
    """Unpack an archive into a directory (tar -x). Directories are merged, files never replaced.

    Args:
        path: The archive; it stays.
        destination: Existing directory.
    """
    archive = resolve_file(disk, path, READ)
    if archive.kind != "archive":
        refuse("not_an_archive", f"{path}: is a text file, not an archive")
    top = resolve_directory(disk, destination)
    need(disk, top, WRITE | EXECUTE, destination)
    start, paths = path_of(disk, top), []
    for member in members_of(archive.content):
        at = joined(start, member.name)
        directory, name = resolve_new(disk, at)
        there = disk.child(directory, name)
        if there is None:
            need(disk, directory, WRITE | EXECUTE, at)
            mode = "777" if member.kind == "symlink" else _cut(disk, member.mode)
            add(disk, directory, name, member.kind, member.content, mode)
            paths.append(at)
        elif "directory" not in (there.kind, member.kind) or there.kind != member.kind:
            exists(at)
    if not paths:
        exists(start)
    return Unpacked(start, paths[:SHOWN], len(paths))
