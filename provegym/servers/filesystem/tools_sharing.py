"""Tools that say who may do what, and mark what matters."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from msgspec import Struct

from provegym.servers.filesystem import samples
from provegym.servers.filesystem.edits import charge
from provegym.servers.filesystem.paths import WRITE, denied, need, path_of, resolve, subtree
from provegym.servers.filesystem.state import Disk, GroupName, Inode, Path, TagName, UserName
from provegym.world.fields import Format
from provegym.world.tool import refuse, tool

_LOST = ("no_such_file", "not_a_directory", "permission_denied")
_CLAUSE = r"[ugoa]*[-+=][rwxt]*"
MODE = Format(
    "mode",
    'Octal or symbolic: "640", "g+w".',
    lambda text: re.fullmatch(rf"[0-7]{{3,4}}|{_CLAUSE}(,{_CLAUSE})*", text) is not None,
)
Mode = Annotated[str, MODE]


class Permissions(Struct, frozen=True):
    """Who may do what."""

    path: Path
    mode: str
    owner: UserName
    group: GroupName
    changed: int
    """How many entries."""


class Tagged(Struct, frozen=True):
    """A path and its tag."""

    path: Path
    tag: TagName


@tool(
    "write",
    phrases=(
        "Change the permissions of {path} to {mode}[ and {contents} its contents too]",
        "Set the mode {mode} on {path}[ and {contents} all that is in it too]",
    ),
    refuses=(*_LOST, "no_change"),
    sample=samples.permissions,
)
def change_mode(
    disk: Disk, path: Path, mode: Mode, contents: Literal["leave", "change"] = "leave"
) -> Permissions:
    """Change the permission bits of something that the user owns (chmod).

    Args:
        path: File or directory.
        mode: The new bits.
        contents: What to do with all that is in a directory.
    """
    top = resolve(disk, path)
    nodes = list(subtree(disk, top)) if contents == "change" else [top]
    changed = 0
    for node in nodes:
        if node.kind == "symlink":
            continue
        if node.owner != disk.me.id:
            denied(disk, node, path, "ownership")
        new = _new_mode(int(node.mode, 8), mode, int(disk.shell.umask, 8))
        if new != node.mode:
            changed += 1
            disk.inodes.update(node, mode=new)
    if not changed:
        refuse("no_change", f"{path}: already has the mode {top.mode}", mode=top.mode)
    return _permissions(disk, disk.inodes[top.id], changed)


def _permissions(disk: Disk, node: Inode, changed: int) -> Permissions:
    return Permissions(path_of(disk, node), node.mode, node.owner, node.group, changed)


def _new_mode(bits: int, mode: str, umask: int) -> str:
    """The bits after an octal mode or the clauses of a symbolic one (POSIX chmod)."""
    if mode.isdecimal():
        return f"{int(mode, 8):03o}"
    for clause in mode.split(","):
        who, sign, permissions = re.split(r"([-+=])", clause, maxsplit=1)
        reach = _reach(who)
        given = sum({"r": 0o444, "w": 0o222, "x": 0o111, "t": 0o1000}[p] for p in set(permissions))
        given &= reach if who else reach & ~umask
        bits = bits & ~given if sign == "-" else (bits & ~reach if sign == "=" else bits) | given
    return f"{bits:03o}"


def _reach(who: str) -> int:
    """The bits that a clause for these classes may touch."""
    masks = {"u": 0o700, "g": 0o070, "o": 0o007, "a": 0o1777}
    reach = 0
    for letter in who or "a":
        reach |= masks[letter]
    return reach


@tool(
    "write",
    phrases=(
        "Make {owner} the owner of {path}[ and {group} its group]",
        "Give {path} to the user {owner}[ and the group {group}]",
    ),
    refuses=(*_LOST, "unknown_user", "unknown_group", "quota_exceeded", "no_change"),
    sample=samples.giving,
)
def change_owner(
    disk: Disk, path: Path, owner: UserName, group: GroupName | None = None
) -> Permissions:
    """Give something that the user owns to another user, whose quota it then counts for (chown).

    Args:
        path: File or directory; what is in it stays.
        owner: Login name of the new owner.
        group: New group: one that the user belongs to.
    """
    node, me = resolve(disk, path), disk.me
    if owner not in disk.users:
        known = ", ".join(sorted(user.id for user in disk.users))
        refuse("unknown_user", f"no user {owner[:80]!r}; there are {known}")
    if group is not None and group not in disk.groups:
        known = ", ".join(sorted(row.id for row in disk.groups))
        refuse("unknown_group", f"no group {group[:80]!r}; there are {known}")
    if node.owner != me.id:  # POSIX without _POSIX_CHOWN_RESTRICTED: owners may give away
        denied(disk, node, path, "ownership")
    if group is not None and group not in (*me.groups, node.group):
        denied(disk, node, path, f"membership of {group}")
    if (owner, group or node.group) == (node.owner, node.group):
        refuse("no_change", f"{path}: already belongs to {node.owner}:{node.group}")
    charge(disk, node.owner, -node.size)
    charge(disk, owner, node.size)
    node = disk.inodes.update(node, owner=owner, group=group or node.group)
    return _permissions(disk, node, 1)


@tool(
    "write",
    phrases=("Set the tag of {path} to {tag}", "Mark {path} with the tag {tag}"),
    refuses=(*_LOST, "no_change"),
    sample=samples.tagging,
)
def tag_path(disk: Disk, path: Path, tag: TagName) -> Tagged:
    """Set the one tag of a file or directory; "none" takes it off.

    Args:
        path: What to tag.
        tag: The tag.
    """
    node = resolve(disk, path)
    need(disk, node, WRITE, path)
    if node.tag == tag:
        refuse("no_change", f"{path}: already has the tag {tag}")
    return Tagged(path_of(disk, disk.inodes.update(node, tag=tag)), tag)
