"""The content of a folder, taken up and put back."""

from __future__ import annotations

import hashlib
import shutil
import stat
from pathlib import Path

Tree = dict[str, tuple[int, bytes | None]]
"""By relative path: the mode, and the bytes of a file or None for a folder."""


def take(folder: Path) -> Tree:
    """All files and folders; links and what is no plain file are left out."""
    found: Tree = {}
    for path in sorted(folder.rglob("*")):
        mode = path.lstat().st_mode
        name = path.relative_to(folder).as_posix()
        if stat.S_ISDIR(mode):
            found[name] = (mode, None)
        elif stat.S_ISREG(mode):
            found[name] = (mode, path.read_bytes())
    return found


def put_back(folder: Path, tree: Tree) -> None:
    """Make the folder hold the tree and nothing else; what is so already is not touched."""
    now = take(folder)
    for name in sorted(now.keys() - tree.keys(), reverse=True):
        path = folder / name
        shutil.rmtree(path, ignore_errors=True) if now[name][1] is None else path.unlink()
    for name, (mode, content) in tree.items():
        if now.get(name) == (mode, content):
            continue
        path = folder / name
        if content is None:
            path.mkdir(exist_ok=True)
        else:
            path.write_bytes(content)
        path.chmod(stat.S_IMODE(mode))


def size(tree: Tree) -> int:
    """Bytes of all files."""
    return sum(len(content or b"") for _, content in tree.values())


def digest(tree: Tree) -> str:
    """SHA-256, in hex, of names and contents."""
    found = hashlib.sha256()
    for name, (_, content) in sorted(tree.items()):
        found.update(f"{name}\0{-1 if content is None else len(content)}\0".encode())
        found.update(content or b"")
    return found.hexdigest()
