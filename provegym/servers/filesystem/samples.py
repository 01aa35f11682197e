"""Plausible arguments in the present state: paths that are there, words that occur, room left."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, get_args

from provegym.servers.filesystem import words
from provegym.servers.filesystem.paths import (
    EXECUTE,
    READ,
    WRITE,
    allowed,
    is_within,
    joined,
    path_of,
    reached,
    subtree,
    walk,
)
from provegym.servers.filesystem.state import ROOT, Disk, Inode, TagName, members_of

Arguments = dict[str, Any]
Test = Callable[[str, Inode], bool]

_HOME_RATE = 0.8
_OPTIONAL_RATE = 0.3
_RELATIVE_RATE = 0.2
_RARE_RATE = 0.04
_DRAWS = 40
"""Nodes drawn before the whole tree is searched for one that passes."""


def _some(disk: Disk, rnd: Random, test: Test) -> tuple[str, Inode]:
    """A node that the user sees and that passes; mostly below the user's home."""
    home = disk.me.home
    below = home if rnd.random() < _HOME_RATE else "/"
    for _ in range(_DRAWS):
        node = disk.inodes[disk.inodes.any_id(rnd) or ROOT]
        path = path_of(disk, node)
        if _is_below(path, below) and test(path, node) and _sees(disk, node):
            return path, node
    everything = list(walk(disk, disk.root, "/"))
    passing = [pair for pair in everything if test(*pair)]
    at_home = [pair for pair in passing if _is_below(pair[0], below)]
    return rnd.choice(at_home or passing or everything)


def _is_below(path: str, top: str) -> bool:
    """Whether a path is `top` or lies below it."""
    return top == "/" or path == top or path.startswith(top + "/")


def _sees(disk: Disk, node: Inode) -> bool:
    """Whether the node is in the tree and the user may list every directory above it."""
    while node.parent:
        node = disk.inodes[node.parent]
        if not allowed(disk, node, READ | EXECUTE):
            return False
    return node.id == ROOT


def _said(disk: Disk, rnd: Random, path: str) -> str:
    """A path as a person says it: sometimes relative to the working directory."""
    here = path_of(disk, disk.inodes[disk.shell.cwd]).rstrip("/") + "/"
    if path.startswith(here) and rnd.random() < _RELATIVE_RATE:
        return path[len(here) :] or path
    return path


def _maybe(rnd: Random, **values: Any) -> Arguments:
    """Each of some optional arguments, or not."""
    return {name: value for name, value in values.items() if rnd.random() < _OPTIONAL_RATE}


def _is_text(disk: Disk, bits: int = READ) -> Test:
    return lambda _, node: node.kind == "file" and allowed(disk, node, bits)


def _is_directory(disk: Disk, bits: int = READ | EXECUTE) -> Test:
    return lambda _, node: node.kind == "directory" and allowed(disk, node, bits)


def _writable(disk: Disk, rnd: Random) -> str:
    return _some(disk, rnd, _is_directory(disk, WRITE | EXECUTE))[0]


def _free_name(disk: Disk, rnd: Random, directory: str, names: tuple[str, ...], end: str) -> str:
    for name in rnd.sample(names, len(names)):
        path = joined(directory, name + end)
        if reached(disk, path) is None:
            return path
    return joined(directory, rnd.choice(names) + end)


def _may_go(disk: Disk, node: Inode) -> bool:
    """Whether the user may take a node out of its directory."""
    above = disk.inodes.get(node.parent)
    return (
        above is not None
        and allowed(disk, above, WRITE | EXECUTE)
        and (above.mode != "1777" or node.owner == disk.me.id)
        and not is_within(disk, disk.inodes[disk.shell.cwd], node)
    )


# -- looking ------------------------------------------------------------------------------------


def anything(disk: Disk, rnd: Random) -> Arguments:
    """Any path in sight."""
    return {"path": _said(disk, rnd, _some(disk, rnd, lambda *_: True)[0])}


def other_directory(disk: Disk, rnd: Random) -> Arguments:
    """A directory that is not the working directory."""
    here, enter = disk.shell.cwd, _is_directory(disk)
    path, _ = _some(disk, rnd, lambda path, node: node.id != here and enter(path, node))
    return {"path": _said(disk, rnd, path)}


def _directory(disk: Disk, rnd: Random) -> str:
    return _said(disk, rnd, _some(disk, rnd, _is_directory(disk))[0])


def listing(disk: Disk, rnd: Random) -> Arguments:
    """A directory, sometimes in another order."""
    options = _maybe(rnd, sort_by=rnd.choice(("size", "modified")), hidden="show")
    return {"path": _directory(disk, rnd), **options}


def tree(disk: Disk, rnd: Random) -> Arguments:
    """A directory and sometimes a depth."""
    return {"path": _directory(disk, rnd), **_maybe(rnd, depth=rnd.choice((1, 3)))}


def usage(disk: Disk, rnd: Random) -> Arguments:
    """A directory and sometimes how many entries."""
    return {"path": _directory(disk, rnd), **_maybe(rnd, limit=rnd.randint(2, 4))}


def search_names(disk: Disk, rnd: Random) -> Arguments:
    """A pattern that some entry below the directory matches."""
    path, node = _some(disk, rnd, lambda _, node: node.kind != "directory" and bool(node.parent))
    stem, dot, extension = node.name.rpartition(".")
    patterns = [node.name, f"{(stem or node.name)[:4]}*", f"*{dot}{extension}"]
    options = _maybe(rnd, kind=node.kind)
    if node.tag != "none":
        options |= _maybe(rnd, tag=node.tag)
    if node.size > 20:
        options |= _maybe(rnd, larger_than=node.size // 20 * 10)
    return {"path": _around(disk, rnd, path), "name": rnd.choice(patterns), **options}


def _around(disk: Disk, rnd: Random, path: str) -> str:
    """The directory of a path, or the one above it."""
    above = path.rpartition("/")[0]
    higher = above.rpartition("/")[0]
    return _said(disk, rnd, rnd.choice((above, higher or above)) or "/")


def _word(rnd: Random, text: str) -> str:
    found = [word.strip(",.;:<>'\"()") for word in text.split()]
    return rnd.choice([word for word in found if len(word) > 3] or ["draft"])


def search_lines(disk: Disk, rnd: Random) -> Arguments:
    """A word that a file there contains."""
    path, node = _some(disk, rnd, _is_text(disk))
    where = _said(disk, rnd, path) if rnd.random() < _OPTIONAL_RATE else _around(disk, rnd, path)
    return {"text": _word(rnd, node.content), "path": where, **_maybe(rnd, case="ignore")}


def link(disk: Disk, rnd: Random) -> Arguments:
    """A symbolic link; rarely what lies where the user may not look."""
    if rnd.random() < _RARE_RATE:
        return {"path": "/var/backups/etc.txt"}
    return {"path": _said(disk, rnd, _some(disk, rnd, lambda _, n: n.kind == "symlink")[0])}


# -- text ---------------------------------------------------------------------------------------


def readable(disk: Disk, rnd: Random) -> Arguments:
    """A text file that may be read."""
    return {"path": _said(disk, rnd, _some(disk, rnd, _is_text(disk))[0])}


def _changeable(disk: Disk, rnd: Random) -> Arguments:
    """A file of plain words that may be changed."""
    is_text = _is_text(disk, READ | WRITE)
    path, _ = _some(disk, rnd, lambda at, n: n.name.endswith((".txt", ".md")) and is_text(at, n))
    return {"path": _said(disk, rnd, path)}


def new_file(disk: Disk, rnd: Random) -> Arguments:
    """A free name in a writable directory."""
    end = rnd.choice((".txt", ".md"))
    path = _free_name(disk, rnd, _writable(disk, rnd), words.NEW_NAMES, end)
    content = {"content": rnd.choice(words.NEW_TEXTS)} if rnd.random() < 0.6 else {}
    return {"path": _said(disk, rnd, path), **content}


def new_content(disk: Disk, rnd: Random) -> Arguments:
    """A new text for a file."""
    return {**_changeable(disk, rnd), "content": rnd.choice(words.NEW_TEXTS)}


def new_text(disk: Disk, rnd: Random) -> Arguments:
    """A line for a file."""
    return {**_changeable(disk, rnd), "text": rnd.choice(words.NEW_TEXTS)}


def some_lines(disk: Disk, rnd: Random) -> Arguments:
    """A file and sometimes how many lines."""
    return {**readable(disk, rnd), **_maybe(rnd, lines=rnd.choice((2, 4, 5)))}


def sorting(disk: Disk, rnd: Random) -> Arguments:
    """A file whose lines are not in order yet."""

    def unsorted(path: str, node: Inode) -> bool:
        lines = node.content.splitlines()
        is_list = node.content[:2] == "- " or node.content[:1].isdecimal() or " = " in node.content
        ordered = sorted(lines)
        return is_list and may_change(path, node) and lines not in (ordered, ordered[::-1])

    may_change = _is_text(disk, READ | WRITE)
    path, node = _some(disk, rnd, unsorted)
    options = _maybe(rnd, order=rnd.choice(("ascending", "descending")), duplicates="drop")
    if node.content[:1].isdecimal():
        options["key"] = "number"
    return {"path": _said(disk, rnd, path), **options}


def replacement(disk: Disk, rnd: Random) -> Arguments:
    """Words of a file and others for them."""
    may_change = _is_text(disk, READ | WRITE)

    def fits(path: str, node: Inode) -> bool:
        return may_change(path, node) and any(old in node.content for old in words.REPLACEMENTS)

    path, node = _some(disk, rnd, fits)
    found = [old for old in words.REPLACEMENTS if old in node.content]
    old = rnd.choice(found or ["draft"])
    new = words.REPLACEMENTS.get(old, "final text")
    return {"path": _said(disk, rnd, path), "old": old, "new": new}


def _siblings(disk: Disk, rnd: Random, count: int) -> list[str]:
    """Readable texts of one directory."""

    def enough(path: str, node: Inode) -> bool:
        return is_directory(path, node) and len(_readable_in(disk, node)) >= count

    is_directory = _is_directory(disk)
    path, directory = _some(disk, rnd, enough)
    names = [node.name for node in _readable_in(disk, directory)]
    return [joined(path, name) for name in rnd.sample(names, min(count, len(names)))]


def _readable_in(disk: Disk, directory: Inode) -> list[Inode]:
    return [n for n in disk.children(directory) if n.kind == "file" and allowed(disk, n, READ)]


def two_files(disk: Disk, rnd: Random) -> Arguments:
    """Two files of one directory."""
    first, second = (*_siblings(disk, rnd, 2), disk.me.home, disk.me.home)[:2]
    return {"first": _said(disk, rnd, first), "second": _said(disk, rnd, second)}


def digest(disk: Disk, rnd: Random) -> Arguments:
    """A file and sometimes an algorithm."""
    return {**readable(disk, rnd), **_maybe(rnd, algorithm=rnd.choice(("md5", "sha1")))}


def splitting(disk: Disk, rnd: Random) -> Arguments:
    """A file of three or more lines in a writable directory."""

    def long(path: str, node: Inode) -> bool:
        return is_text(path, node) and node.content.count("\n") > 2 and _may_go(disk, node)

    is_text = _is_text(disk)
    path, node = _some(disk, rnd, long)
    return {"path": _said(disk, rnd, path), "lines": max(1, (node.content.count("\n") + 1) // 2)}


def joining(disk: Disk, rnd: Random) -> Arguments:
    """Two or three files of one directory and a new one."""
    paths = _siblings(disk, rnd, rnd.choice((2, 2, 3)))
    destination = _free_name(disk, rnd, _writable(disk, rnd), words.NEW_NAMES, ".txt")
    return {"paths": paths, "destination": _said(disk, rnd, destination)}


# -- the tree -----------------------------------------------------------------------------------


def new_directory(disk: Disk, rnd: Random) -> Arguments:
    """A free name, sometimes below a directory that is to be made as well."""
    path = _free_name(disk, rnd, _writable(disk, rnd), words.NEW_DIRECTORIES, "")
    if rnd.random() < _OPTIONAL_RATE:
        below = rnd.choice(words.PROJECTS)
        return {"path": _said(disk, rnd, f"{path}/{below}"), "parents": "create"}
    return {"path": _said(disk, rnd, path)}


def removable_directory(disk: Disk, rnd: Random) -> Arguments:
    """An empty directory of the user's, or a small one with its contents."""
    most = rnd.choice((0, 6))
    mine = disk.me.id

    def fits(_: str, node: Inode) -> bool:
        if node.kind != "directory" or node.owner != mine or not _may_go(disk, node):
            return False
        inside = list(subtree(disk, node))[1:]
        return len(inside) <= most and all(n.kind != "directory" for n in inside)

    path, node = _some(disk, rnd, fits)
    contents = {"contents": "delete"} if disk.children(node) else {}
    return {"path": _said(disk, rnd, path), **contents}


def removable_file(disk: Disk, rnd: Random) -> Arguments:
    """A file that may be deleted."""
    path, _ = _some(disk, rnd, lambda _, node: node.kind != "directory" and _may_go(disk, node))
    return {"path": _said(disk, rnd, path)}


def removable(disk: Disk, rnd: Random) -> Arguments:
    """Anything that may be taken away."""
    home = disk.me.home
    path, _ = _some(disk, rnd, lambda path, node: path != home and _may_go(disk, node))
    return {"path": _said(disk, rnd, path)}


def moving(disk: Disk, rnd: Random) -> Arguments:
    """Something that may go, and a directory or a new name for it; rarely onto a directory."""
    if rnd.random() < _RARE_RATE:
        return {**_onto_a_directory(disk, rnd), "if_exists": "overwrite"}
    path, node = _some(disk, rnd, lambda path, n: path != disk.me.home and _may_go(disk, n))
    return {"source": _said(disk, rnd, path), **_destination(disk, rnd, path, node)}


def _onto_a_directory(disk: Disk, rnd: Random) -> Arguments:
    """A file where a directory has its name, or a directory where a full one has."""
    docs = [path_of(disk, node) for node in disk.inodes.where(name="docs", owner=disk.me.id)]
    if len(docs) > 1 and rnd.random() < 0.5:
        source, other = rnd.sample(docs, 2)
        return {"source": source, "destination": other.removesuffix("/docs")}
    return {"source": f"{disk.me.home}/documents/photos", "destination": disk.me.home}


def _destination(disk: Disk, rnd: Random, path: str, node: Inode) -> Arguments:
    """Mostly a directory; sometimes a new name, or a file to overwrite."""
    drawn = rnd.random()
    if drawn < 0.15 and node.kind == "file":
        over = _some(disk, rnd, lambda at, n: _may_lose(disk, n) and at != path)[0]
        return {"destination": over, "if_exists": "overwrite"}
    is_open = _is_directory(disk, WRITE | EXECUTE)

    def fits(_: str, n: Inode) -> bool:
        return is_open(_, n) and not is_within(disk, n, node) and not disk.child(n, node.name)

    directory = _some(disk, rnd, fits)[0]
    if drawn < 0.7 and node.parent:
        return {"destination": _said(disk, rnd, directory)}
    dot, extension = node.name.rpartition(".")[1:] if node.kind != "directory" else ("", "")
    end = f".{extension}" if dot else ""
    return {"destination": _said(disk, rnd, _free_name(disk, rnd, directory, words.NEW_NAMES, end))}


def _may_lose(disk: Disk, node: Inode) -> bool:
    return node.kind == "file" and _may_go(disk, node) and allowed(disk, node, READ | WRITE)


def copying(disk: Disk, rnd: Random) -> Arguments:
    """Something readable that fits, and a place for it."""
    path, node = _some(disk, rnd, lambda _, node: _fits(disk, node))
    return {"source": _said(disk, rnd, path), **_destination(disk, rnd, path, node)}


def _fits(disk: Disk, node: Inode) -> bool:
    """Whether a node can be read whole and copied within the quota."""
    free = disk.me.quota - disk.me.used
    if node.kind == "directory":
        inside = list(subtree(disk, node))
        readable = all(n.kind == "symlink" or allowed(disk, n, READ) for n in inside)
        return readable and len(inside) < 12 and sum(n.size for n in inside) <= free
    return node.kind != "symlink" and allowed(disk, node, READ) and node.size <= free


def linking(disk: Disk, rnd: Random) -> Arguments:
    """Something in sight and a free name for its link."""
    target, _ = _some(disk, rnd, lambda _, node: node.kind in ("file", "directory"))
    path = _free_name(disk, rnd, _writable(disk, rnd), words.NEW_NAMES, "_link")
    return {"target": target, "path": _said(disk, rnd, path)}


def packing(disk: Disk, rnd: Random) -> Arguments:
    """A file or a small directory whose archive fits the quota."""
    free = disk.me.quota - disk.me.used

    def fits(_: str, node: Inode) -> bool:
        size = 1024 + sum(1024 for _ in subtree(disk, node)) if _fits(disk, node) else free + 1
        return node.kind in ("file", "directory") and size <= free

    path, node = _some(disk, rnd, fits)
    end = f"_{node.name.partition('.')[0]}.tar"
    archive = _free_name(disk, rnd, _writable(disk, rnd), ("backup", "copy", "export"), end)
    return {"path": _said(disk, rnd, path), "archive": _said(disk, rnd, archive)}


def extracting(disk: Disk, rnd: Random) -> Arguments:
    """An archive and a directory where its top is free."""
    path, archive = _some(
        disk, rnd, lambda _, node: node.kind == "archive" and allowed(disk, node, READ)
    )
    tops = [m.name for m in members_of(archive.content)[:1]] if archive.kind == "archive" else []
    is_open = _is_directory(disk, WRITE | EXECUTE)
    directory, _ = _some(
        disk, rnd, lambda at, n: is_open(at, n) and not any(disk.child(n, top) for top in tops)
    )
    return {"path": _said(disk, rnd, path), "destination": _said(disk, rnd, directory)}


def permissions(disk: Disk, rnd: Random) -> Arguments:
    """Something of the user's and a mode that it does not have."""
    mine = disk.me.id
    path, node = _some(disk, rnd, lambda _, n: n.owner == mine and n.kind != "symlink")
    if node.kind == "directory":
        mode = rnd.choice([m for m in ("700", "755", "775", "750") if m != node.mode])
        return {"path": _said(disk, rnd, path), "mode": mode}
    modes = [m for m in ("600", "640", "644", "444", "664") if m != node.mode]
    symbolic = "u-w" if int(node.mode, 8) & 0o200 else "u+w"
    return {"path": _said(disk, rnd, path), "mode": rnd.choice([*modes, symbolic])}


def giving(disk: Disk, rnd: Random) -> Arguments:
    """A file of the user's and another user who has room for it."""
    me = disk.me
    path, node = _some(disk, rnd, lambda _, n: n.owner == me.id and n.kind == "file")
    others = [u.id for u in disk.users if u.id != me.id and u.quota - u.used >= node.size]
    groups = [group for group in me.groups if group != node.group]
    options = _maybe(rnd, group=rnd.choice(groups)) if groups else {}
    return {"path": _said(disk, rnd, path), "owner": rnd.choice(others or [me.id]), **options}


def tagging(disk: Disk, rnd: Random) -> Arguments:
    """Something writable and a tag that it does not have."""
    path, node = _some(disk, rnd, lambda _, n: n.kind != "symlink" and allowed(disk, n, WRITE))
    tag = rnd.choice([name for name in get_args(TagName) if name != node.tag])
    return {"path": _said(disk, rnd, path), "tag": tag}


# -- the trash and versions -----------------------------------------------------------------------


def trash_query(disk: Disk, rnd: Random) -> Arguments:
    """Sometimes a part of a path in the trash."""
    paths = [item.original_path for item in disk.trash.where(deleted_by=disk.me.id)]
    if not paths:
        return {}
    return _maybe(rnd, query=rnd.choice(paths).rpartition("/")[2].partition(".")[0])


def restoring(disk: Disk, rnd: Random) -> Arguments:
    """An item whose place is mostly free; sometimes another place."""
    mine = disk.trash.where(deleted_by=disk.me.id)
    if not mine:
        return {"trash_id": "trs_none00"}
    free = [item for item in mine if reached(disk, item.original_path) is None]
    item = rnd.choice(free or mine)
    name = disk.inodes[item.inode].name
    elsewhere = joined(_writable(disk, rnd), f"restored_{name}")
    return {"trash_id": item.id, **_maybe(rnd, destination=elsewhere)}


def emptying(disk: Disk, rnd: Random) -> Arguments:
    """Sometimes only what is old."""
    return _maybe(rnd, older_than_days=rnd.choice((7, 14, 30)))


def _has_versions(disk: Disk, bits: int) -> Test:
    kept = {version.inode for version in disk.versions}
    may = _is_text(disk, bits)
    return lambda path, node: node.id in kept and may(path, node)


def versioned(disk: Disk, rnd: Random) -> Arguments:
    """A file that has versions."""
    return {"path": _said(disk, rnd, _some(disk, rnd, _has_versions(disk, READ))[0])}


def reverting(disk: Disk, rnd: Random) -> Arguments:
    """A file and one of its versions."""
    path, node = _some(disk, rnd, _has_versions(disk, READ | WRITE))
    numbers = [version.number for version in disk.versions.where(inode=node.id)]
    return {"path": _said(disk, rnd, path), "version": rnd.choice(numbers or [1])}
