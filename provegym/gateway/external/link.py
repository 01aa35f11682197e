"""How one external server is reached, a process or a URL, and what is known of it when it fails."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from asyncio import SubprocessTransport
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import IO

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from provegym.errors import InputError
from provegym.gateway.external import files, folders, leash
from provegym.gateway.external.loop import started_here
from provegym.gateway.external.settings import FOLDER, HOME, External

SAID = 300
"""Characters of what a lost server last said."""
SEED = "PROVEGYM_SEED"
"""The environment variable that tells a process the seed of its world."""


class Link:
    """A process in a folder of its own, or a server at a URL."""

    def __init__(self, name: str, told: External, home: Path, seed: int) -> None:
        """`home` is the folder that the settings' paths are relative to."""
        self.name, self.told, self._home, self._seed = name, told, home, seed
        self.folder = Path()
        self._log: IO[bytes] | None = None
        self._said = ""
        self._started: list[SubprocessTransport] = []
        """The process, once there is one."""

    def lay_out(self) -> None:
        """Make the folder, with the files that the server starts with. Raises `InputError` where
        they cannot be copied.
        """
        self.folder = folders.private()
        try:
            if self.told.files:
                files.copy(self._home / self.told.files, self.folder)
        except BaseException as error:
            shutil.rmtree(self.folder, ignore_errors=True)
            if isinstance(error, OSError):
                what = f"cannot copy {error.filename}: {error.strerror}"
                raise InputError(f"server {self.name}: {what}") from error
            raise

    @asynccontextmanager
    async def client(self) -> AsyncIterator[Client]:
        """The SDK's client of it, which starts the process and ends it."""
        if self.told.url:
            headers = {"Authorization": f"Bearer {_secret(self.told.token)}"}
            async with httpx2.AsyncClient(
                headers=headers if self.told.token else {}, timeout=self.told.seconds
            ) as http:
                transport = streamable_http_client(self.told.url, http_client=http)
                async with Client(transport, cache=None) as client:
                    yield client
        else:
            started_here.set(self._started)
            self._log = tempfile.TemporaryFile()  # noqa: SIM115  # until `clear_away`
            pipes = stdio_client(self._process(), errlog=self._log)  # type: ignore[arg-type]
            async with Client(pipes, cache=None) as client:
                yield client

    def clear_away(self) -> None:
        """Remove the folder; what the process last said is kept."""
        self._said = self.last_words()
        if self._log is not None:
            self._log.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _process(self) -> StdioServerParameters:
        words = [self._placed(word) for word in self.told.words]
        env = {key: self._placed(value) for key, value in self.told.env.items()}
        env |= {key: _secret(key) for key in self.told.forward}
        return StdioServerParameters(
            command=sys.executable,
            args=["-IS", leash.__file__, str(os.getpid()), *words],
            env={SEED: str(self._seed), **env},
            cwd=self.folder,
        )

    def _placed(self, text: str) -> str:
        return text.replace(FOLDER, str(self.folder)).replace(HOME, str(self._home))

    # -- what is known of it ---------------------------------------------------------------

    def exit_code(self) -> int | None:
        """Of the process, if it ended; negative for a signal, which may be that of `close`."""
        return self._started[0].get_returncode() if self._started else None

    def secrets(self) -> dict[str, str]:
        """What no message and no result may hold, by what it is called."""
        names = filter(None, (*self.told.forward, self.told.token))
        return {name: value for name in names if (value := os.environ.get(name))}

    def last_words(self) -> str:
        """Of the latest that the process wrote to its standard error, the last line that tells of
        an error, else the last one.
        """
        if self._log is None:
            return self._said
        try:
            number = self._log.fileno()
        except ValueError:  # it was closed
            return self._said
        size = os.fstat(number).st_size
        text = os.pread(number, 4096, max(0, size - 4096)).decode(errors="replace")
        lines = [line.strip()[-SAID:] for line in reversed(text.split("\n")) if line.strip()]
        return next((line for line in lines if "rror" in line), lines[0] if lines else "")

    def misplaced(self) -> str:
        """What is wrong with a command that names a file beside provegym.toml alone; else ""."""
        words = [word for word in self.told.words if not Path(word).is_absolute()]
        there = (word for word in words if (self._home / word).is_file())
        word = next((word for word in there if not (self.folder / word).exists()), "")
        return word and (
            f"server {self.name} does not start: it runs in a folder of its own, and {word!r} "
            f"is one of {self._home}; write it as {HOME}/{word}"
        )


def _secret(name: str) -> str:
    """A variable of ours that the user named."""
    if name and name not in os.environ:
        raise InputError(f"the environment variable {name} is not set; a server needs it")
    return os.environ.get(name, "")
