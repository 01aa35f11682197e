"""Tables of the file server and what must hold of them after every call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from operator import attrgetter
from typing import Annotated, ClassVar, Literal

import msgspec
from msgspec import Struct

from provegym.world.fields import Format, Ref, Stamp
from provegym.world.server import State
from provegym.world.table import Row, table

NAME_MAX = 255
"""Longest name of a directory entry, in characters (POSIX `NAME_MAX`)."""
ROOT = "ino_root"
SHELL = "shl_user"
BLOCK = 512
"""Bytes of a block of a ustar archive (POSIX pax)."""


def _is_path(text: str) -> bool:
    if not (0 < len(text) <= 1024 and text.isprintable()):
        return False
    return len(text) <= NAME_MAX or all(len(name) <= NAME_MAX for name in text.split("/"))


PATH = Format("path", "", _is_path)
InodeId = Annotated[str, Ref("filesystem.inodes")]
Path = Annotated[str, Ref("filesystem.inodes"), PATH]
"""Where an inode is: absolute in results; absolute, relative or `~/...` in arguments."""
NewPath = Annotated[str, PATH]
"""Where something is to be: nothing of that name needs to exist."""
UserName = Annotated[str, Ref("filesystem.users")]
GroupName = Annotated[str, Ref("filesystem.groups")]
TrashId = Annotated[str, Ref("filesystem.trash")]

Kind = Literal["file", "directory", "symlink", "archive"]
TagName = Literal["urgent", "review", "final", "personal", "none"]


class Inode(Row, frozen=True):
    """A node of the tree. People and tools name it by its path, never by its id."""

    id: InodeId
    parent: InodeId
    """Empty for the root and for the top of what lies in a trash."""
    name: str
    kind: Kind
    mode: str
    """Permission bits in octal, as `chmod` takes them: "644", "1777"."""
    owner: UserName
    group: GroupName
    content: str
    """Text of a file, target of a symlink, members of an archive as JSON."""
    size: int
    """Bytes; see `size_of`."""
    tag: TagName
    modified: Stamp


class User(Row, frozen=True):
    """An account; its id is the login name."""

    id: UserName
    full_name: str
    home: str
    groups: tuple[GroupName, ...]
    """The first is the group of what the user makes."""
    quota: int
    """Most bytes that the files owned may hold, those in the trash included."""
    used: int


class Group(Row, frozen=True):
    """A group of users; its id is its name."""

    id: GroupName
    purpose: str


class Shell(Row, frozen=True):
    """Who is working, and where."""

    user: UserName
    cwd: InodeId
    umask: str


class Trash(Row, frozen=True):
    """Something thrown away that can still be had back (freedesktop.org Trash specification)."""

    label: ClassVar[str] = "{original_path}"

    id: TrashId
    inode: InodeId
    original_path: str
    deleted_by: UserName
    deleted_at: Stamp


class Version(Row, frozen=True):
    """The content of a file before one of its changes; the oldest has number 1."""

    inode: InodeId
    number: int
    content: str
    saved: Stamp


class Member(Struct, frozen=True):
    """One entry of an archive; `name` is relative to where it is extracted."""

    name: str
    kind: Kind
    mode: str
    content: str


class Disk(State):
    """One user's view of a multi-user file system."""

    server = "filesystem"
    inodes = table(Inode, "ino")
    users = table(User, "usr")
    groups = table(Group, "grp")
    shells = table(Shell, "shl")
    trash = table(Trash, "trs")
    versions = table(Version, "ver")

    @property
    def shell(self) -> Shell:
        """The working session's row."""
        return self.shells[SHELL]

    @property
    def me(self) -> User:
        """The account that the tools act for."""
        return self.users[self.shells[SHELL].user]

    @property
    def root(self) -> Inode:
        """The top of the tree."""
        return self.inodes[ROOT]

    def child(self, directory: Inode, name: str) -> Inode | None:
        """The entry of that name, or None."""
        for node in self.inodes.where(name=name):
            if node.parent == directory.id:
                return node
        return None

    def children(self, directory: Inode) -> list[Inode]:
        """All entries, by name."""
        return sorted(self.inodes.where(parent=directory.id), key=_name_of)


_name_of = attrgetter("name")
_members = msgspec.json.Decoder(list[Member])


def members_of(archive: str) -> list[Member]:
    """The entries of an archive's content."""
    return _members.decode(archive)


def size_of(kind: Kind, content: str) -> int:
    """Bytes: of the text, of a link's target, of the ustar archive; 0 for a directory.

    A ustar archive (POSIX pax) has a header block for each member, its data in whole blocks,
    and two empty blocks at its end.
    """
    if kind == "directory":
        return 0
    if kind != "archive":
        return len(content.encode())
    sizes = [size_of(m.kind, m.content) if m.kind != "symlink" else 0 for m in members_of(content)]
    return sum(BLOCK + -(-size // BLOCK) * BLOCK for size in sizes) + 2 * BLOCK


def violations(disk: Disk) -> Iterator[str]:
    """Every broken rule: tree, names, sizes, usage, trash, versions, working directory."""
    nodes = {node.id: node for node in disk.inodes}
    yield from _tree(nodes, {item.inode for item in disk.trash})
    yield from _contents(disk, nodes)
    yield from _usage(disk, nodes.values())
    yield from _references(disk, nodes)


def _tree(nodes: dict[str, Inode], thrown: set[str]) -> Iterator[str]:
    tops = {node.id for node in nodes.values() if not node.parent}
    if tops != thrown | {ROOT}:
        yield f"tops of trees {sorted(tops)} are not the root and the trash {sorted(thrown)}"
    reached = set(tops)
    below: dict[str, list[Inode]] = {}
    for node in nodes.values():
        below.setdefault(node.parent, []).append(node)
    todo = list(tops)
    while todo:
        top = todo.pop()
        entries = below.get(top, [])
        if entries and nodes[top].kind != "directory":
            yield f"{top} has entries but is no directory"
        if len({node.name for node in entries}) < len(entries):
            yield f"{top} has two entries of one name"
        reached.update(node.id for node in entries)
        todo += [node.id for node in entries]
    if len(reached) < len(nodes):
        yield f"in a cycle or without parent: {sorted(set(nodes) - reached)}"


def _contents(disk: Disk, nodes: dict[str, Inode]) -> Iterator[str]:
    for node in nodes.values():
        if node.size != size_of(node.kind, node.content):
            yield f"{node.id}: size {node.size} is not that of its content"
        if node.id != ROOT and ("/" in node.name or node.name in ("", ".", "..")):
            yield f"{node.id}: bad name {node.name!r}"
        if not 0 <= int(node.mode, 8) <= 0o7777:
            yield f"{node.id}: bad mode {node.mode!r}"
        if node.owner not in disk.users or node.group not in disk.groups:
            yield f"{node.id}: unknown owner {node.owner} or group {node.group}"


def _usage(disk: Disk, nodes: Iterable[Inode]) -> Iterator[str]:
    used: dict[str, int] = {}
    for node in nodes:
        used[node.owner] = used.get(node.owner, 0) + node.size
    for user in disk.users:
        if user.used != used.get(user.id, 0):
            yield f"{user.id}: {user.used} bytes used, but the files hold {used.get(user.id, 0)}"
        if user.used > user.quota:
            yield f"{user.id}: {user.used} bytes are over the quota of {user.quota}"


def _references(disk: Disk, nodes: dict[str, Inode]) -> Iterator[str]:
    cwd = nodes.get(disk.shell.cwd)
    while cwd is not None and cwd.parent:
        cwd = nodes.get(cwd.parent)
    if cwd is None or cwd.id != ROOT or nodes[disk.shell.cwd].kind != "directory":
        yield f"working directory {disk.shell.cwd} is not in the tree"
    seen: set[tuple[str, int]] = set()
    for version in disk.versions:
        key = (version.inode, version.number)
        if version.inode not in nodes or key in seen:
            yield f"{version.id}: version {key} of no file, or twice"
        seen.add(key)
