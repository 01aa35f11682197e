"""The judges that npm has: the conformance suite, the Inspector, the TypeScript client.

They lie, with the Node they need, in `.cache/node`, put there by the first test that wants them.
Where there is no npm such tests are skipped; where npm fails they fail.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest

WANTED = Path(__file__).parent / "node"
CACHE = Path(__file__).parents[2] / ".cache" / "node"
FILES = ("package.json", "package-lock.json")
INSTALL = ("npm", "install", "--no-audit", "--no-fund", "--loglevel=error")


def folder() -> Path:
    """Where `node_modules` lies, with the very versions of the lock file."""
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed; it brings the judges that this test asks")
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as lock:  # the workers of one run share the folder
        fcntl.flock(lock, fcntl.LOCK_EX)
        stamp = CACHE / "installed"
        version = hashlib.sha256(b"".join((WANTED / name).read_bytes() for name in FILES))
        if not stamp.exists() or stamp.read_text() != version.hexdigest():
            for name in FILES:
                shutil.copy(WANTED / name, CACHE)
            subprocess.run(INSTALL, cwd=CACHE, check=True, stdin=subprocess.DEVNULL)
            stamp.write_text(version.hexdigest())
    return CACHE


def run(
    command: str, *arguments: str, stdin: str = "", seconds: float = 300
) -> subprocess.CompletedProcess[str]:
    """Run a command that npm installed, with the Node that npm installed, in its folder."""
    at = folder()
    commands = at / "node_modules" / ".bin"
    path = os.pathsep.join([str(commands), os.environ.get("PATH", "")])
    return subprocess.run(
        [str(commands / command), *arguments],
        cwd=at,
        env={**os.environ, "PATH": path, "NO_COLOR": "1", "HOME": str(at)},
        input=stdin,
        capture_output=True,
        text=True,
        timeout=seconds,
    )
