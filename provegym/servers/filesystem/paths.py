"""From a path to an inode and back, with POSIX's permission checks on the way.

Resolution follows POSIX.1 section 4.16: each directory on the way must be searchable, symbolic
links are followed (at most `MAX_LINKS`), `..` of the root is the root.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NoReturn

from provegym.servers.filesystem.state import NAME_MAX, Disk, Inode, User
from provegym.world.tool import Refused, refuse

READ, WRITE, EXECUTE = 4, 2, 1
MAX_LINKS = 8
_STICKY = 0o1000
_NEEDS = {READ: "read", WRITE: "write", EXECUTE: "search"}


def allowed(disk: Disk, node: Inode, bits: int) -> bool:
    """Whether the user has all of `bits` (READ | WRITE | EXECUTE) on a node.

    Exactly one class of the mode applies: owner, else group, else others.
    """
    return _has(disk.me, node, bits)


def _has(me: User, node: Inode, bits: int) -> bool:
    mode = int(node.mode, 8)
    shift = 6 if me.id == node.owner else 3 if node.group in me.groups else 0
    return (mode >> shift) & bits == bits


def need(disk: Disk, node: Inode, bits: int, path: str) -> None:
    """Refuse with `permission_denied` unless the user has the bits."""
    if not allowed(disk, node, bits):
        needed = " and ".join(word for bit, word in _NEEDS.items() if bits & bit)
        denied(disk, node, path, f"{needed} permission")


def denied(disk: Disk, node: Inode, path: str, needed: str) -> NoReturn:
    """Refuse: the user lacks what is needed on `node`."""
    refuse(
        "permission_denied",
        f"{path}: {needed} on {path_of(disk, node)} is needed; it belongs to "
        f"{node.owner}:{node.group} with mode {node.mode} and you are {disk.me.id}",
        owner=node.owner,
        mode=node.mode,
    )


def missing(path: str) -> NoReturn:
    """Refuse: nothing has that path."""
    refuse("no_such_file", f"{path}: no such file or directory", path=path)


def exists(path: str) -> NoReturn:
    """Refuse: the path is taken."""
    refuse("file_exists", f"{path}: already exists; choose another path", path=path)


def resolve(disk: Disk, path: str, *, follow: bool = True) -> Inode:
    """The inode at a path; `follow` says whether a link at its end is followed."""
    node, todo = _start(disk, path)
    links, me = 0, disk.me
    while todo:
        name = todo.pop()
        if node.kind != "directory":
            refuse("not_a_directory", f"{path}: {path_of(disk, node)} is not a directory")
        if name in ("", "."):
            continue
        if not _has(me, node, EXECUTE):
            need(disk, node, EXECUTE, path)
        entry = parent_of(disk, node) if name == ".." else disk.child(node, name)
        if entry is None:
            missing(path)
        if entry.kind != "symlink" or not (follow or todo):
            node = entry
            continue
        links += 1
        if links > MAX_LINKS:
            refuse("symlink_loop", f"{path}: more than {MAX_LINKS} symbolic links on the way")
        node = disk.root if entry.content.startswith("/") else node
        todo += entry.content.split("/")[::-1]
    return node


def _start(disk: Disk, path: str) -> tuple[Inode, list[str]]:
    if path == "~" or path.startswith("~/"):
        path = disk.me.home + path[1:]
    start = disk.root if path.startswith("/") else disk.inodes[disk.shell.cwd]
    return start, path.split("/")[::-1]


def parent_of(disk: Disk, node: Inode) -> Inode:
    """The directory that holds a node; the root's is the root."""
    return disk.inodes[node.parent] if node.parent else node


def resolve_directory(disk: Disk, path: str) -> Inode:
    """The directory at a path."""
    node = resolve(disk, path)
    if node.kind != "directory":
        refuse("not_a_directory", f"{path}: is a {node.kind}, not a directory")
    return node


def resolve_file(disk: Disk, path: str, bits: int) -> Inode:
    """The file or archive at a path, on which the user has `bits`."""
    node = resolve(disk, path)
    if node.kind == "directory":
        refuse("is_a_directory", f"{path}: is a directory; give a file")
    need(disk, node, bits, path)
    return node


def resolve_text(disk: Disk, path: str, bits: int) -> Inode:
    """The text file at a path, on which the user has `bits`."""
    node = resolve_file(disk, path, bits)
    if node.kind == "archive":
        refuse("binary_file", f"{path}: is an archive, not text; extract it first")
    return node


def resolve_new(disk: Disk, path: str) -> tuple[Inode, str]:
    """The directory and the name that a new entry at `path` would have; the name may be taken."""
    head, slash, name = path.rstrip("/").rpartition("/")
    if name in ("", ".", ".."):
        exists(path)
    if len(name) > NAME_MAX:
        refuse("invalid_name", f"{path}: a name has at most {NAME_MAX} characters")
    if name == "~" and not slash:
        exists(path)
    return resolve_directory(disk, head or ("/" if slash else ".")), name


def vacant(disk: Disk, path: str) -> tuple[Inode, str]:
    """Like `resolve_new`, but the entry must not exist and the user may make it."""
    directory, name = resolve_new(disk, path)
    need(disk, directory, EXECUTE, path)
    if disk.child(directory, name):
        exists(path)
    need(disk, directory, WRITE, path)
    return directory, name


def may_unlink(disk: Disk, node: Inode, path: str) -> None:
    """Refuse unless the user may take the entry out of its directory (sticky bit included)."""
    if not node.parent:
        refuse("directory_busy", f"{path}: the root directory cannot be moved or removed")
    directory = disk.inodes[node.parent]
    need(disk, directory, WRITE | EXECUTE, path)
    if int(directory.mode, 8) & _STICKY and disk.me.id not in (node.owner, directory.owner):
        denied(disk, directory, path, "ownership of the entry (sticky bit)")


def not_in_use(disk: Disk, node: Inode, path: str) -> None:
    """Refuse to remove a directory that the working directory lies in."""
    if is_within(disk, disk.inodes[disk.shell.cwd], node):
        refuse("directory_busy", f"{path}: holds the working directory; leave it first")


def is_within(disk: Disk, node: Inode, top: Inode) -> bool:
    """Whether `node` is `top` or lies below it."""
    while node.id != top.id:
        if not node.parent:
            return False
        node = disk.inodes[node.parent]
    return True


def path_of(disk: Disk, node: Inode) -> str:
    """The absolute path of a node of the tree."""
    names = []
    while node.parent:
        names.append(node.name)
        node = disk.inodes[node.parent]
    return "/" + "/".join(reversed(names))


def joined(directory: str, name: str) -> str:
    """The path of an entry of a directory."""
    return f"{directory.rstrip('/')}/{name}"


def walk(disk: Disk, top: Inode, path: str) -> Iterator[tuple[str, Inode]]:
    """(path, node) of all that the user can see at and below `top`, parents first.

    Directories that may not be read and searched are named but not entered; links not followed.
    """
    todo, me = [(path, top)], disk.me
    while todo:
        path, node = todo.pop()
        yield path, node
        if node.kind == "directory" and _has(me, node, READ | EXECUTE):
            above = path.rstrip("/")
            todo += [(f"{above}/{entry.name}", entry) for entry in disk.children(node)[::-1]]


def subtree(disk: Disk, top: Inode) -> Iterator[Inode]:
    """`top` and all below it, parents first, whatever the permissions."""
    todo = [top]
    while todo:
        node = todo.pop()
        yield node
        if node.kind == "directory":
            todo += disk.children(node)[::-1]


def texts(disk: Disk, top: Inode, path: str) -> Iterator[tuple[str, Inode]]:
    """(path, node) of the text files at and below `top` that the user may read."""
    for at, node in walk(disk, top, path):
        if node.kind == "file" and allowed(disk, node, READ):
            yield at, node


def reached(disk: Disk, path: str) -> Inode | None:
    """The inode at a path, or None where `resolve` refuses."""
    try:
        return resolve(disk, path)
    except Refused:
        return None
