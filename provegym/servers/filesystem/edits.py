"""The only places where inodes are made, changed and removed: quota and versions are kept here."""

from __future__ import annotations

from collections.abc import Iterable

from provegym.servers.filesystem.paths import subtree
from provegym.servers.filesystem.state import Disk, Inode, Kind, Version, size_of
from provegym.world.tool import refuse


def as_text(content: str) -> str:
    """A POSIX text: every line, the last too, ends with a newline."""
    return content if not content or content.endswith("\n") else content + "\n"


def lines_of(text: str) -> list[str]:
    """The lines of a text, each with its newline, and with nothing else taken for one."""
    return [line + "\n" for line in text.split("\n")[:-1]]


def charge(disk: Disk, owner: str, size: int) -> None:
    """Add bytes to what an account uses; more than its quota is refused."""
    user = disk.users[owner]
    used = user.used + size
    if size > 0 and used > user.quota:
        refuse(
            "quota_exceeded",
            f"{size} more bytes do not fit: {owner} uses {user.used} of {user.quota}",
            needed=size,
            free=user.quota - user.used,
        )
    if size:
        disk.users.update(user, used=used)


def add(
    disk: Disk, directory: Inode, name: str, kind: Kind, content: str = "", mode: str = ""
) -> Inode:
    """A new inode of the user's; `mode` is cut by the umask if it is not given."""
    me = disk.me
    size = size_of(kind, content)
    charge(disk, me.id, size)
    full = 0o777 if kind == "directory" else 0o666
    mode = mode or f"{full & ~int(disk.shell.umask, 8):03o}"
    node = Inode(
        id=disk.inodes.new_id(),
        parent=directory.id,
        name=name,
        kind=kind,
        mode=mode,
        owner=me.id,
        group=me.groups[0],
        content=content,
        size=size,
        tag="none",
        modified=disk.stamp,
    )
    return disk.inodes.put(node)


def rewrite(disk: Disk, node: Inode, content: str, path: str, kind: Kind = "file") -> Inode:
    """Replace the content of a file; a text's old content becomes a version."""
    if content == node.content and kind == node.kind:
        refuse("no_change", f"{path}: already has exactly this content")
    if node.kind == "file":
        number = 1 + max((v.number for v in disk.versions.where(inode=node.id)), default=0)
        version = Version(disk.versions.new_id(), node.id, number, node.content, disk.stamp)
        disk.versions.put(version)
    size = size_of(kind, content)
    charge(disk, node.owner, size - node.size)
    return disk.inodes.update(node, content=content, size=size, kind=kind, modified=disk.stamp)


def purge(disk: Disk, nodes: Iterable[Inode]) -> int:
    """Remove subtrees for good, with their versions; gives the bytes freed."""
    freed: dict[str, int] = {}
    for top in nodes:
        for node in list(subtree(disk, top)):
            freed[node.owner] = freed.get(node.owner, 0) + node.size
            for version in disk.versions.where(inode=node.id):
                disk.versions.delete(version.id)
            disk.inodes.delete(node.id)
    for owner, size in freed.items():
        charge(disk, owner, -size)
    return sum(freed.values())
