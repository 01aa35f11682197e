"""Workers as processes on this machine.

A worker is told what it is on its first line of input, answers with its port on its first line of
output, and ends when its input ends: so none outlives a front that is killed.
"""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import PIPE, Process
from contextlib import suppress

import msgspec
from msgspec.structs import replace

from provegym.errors import InfrastructureError
from provegym.gateway.fleet import Launch, Plan
from provegym.gateway.settings import Settings

START_SECONDS = 120.0
STOP_SECONDS = 10.0
RUN = (
    "import signal as s; s.signal(s.SIGINT, s.SIG_IGN); "
    "import provegym.gateway.worker as w; w.main()"
)
"""An interrupt is for the front, which ends its workers; one that is still being loaded would tell
of it at length.
"""


class Local:
    """A worker process."""

    host = "127.0.0.1"

    def __init__(self, process: Process, port: int) -> None:
        self._process, self.port = process, port

    @property
    def pid(self) -> int:
        """The process."""
        return self._process.pid

    async def ended(self) -> str:
        """Wait for its end; its exit code in words."""
        code = await self._process.wait()
        return f"signal {-code}" if code < 0 else f"exit code {code}"

    async def stop(self) -> None:
        """Close its input; kill it where it does not end by that."""
        await _stop(self._process)


def launcher(settings: Settings) -> Launch:
    """Starts workers on ports of their own, with these settings otherwise."""
    told = replace(settings, host=Local.host, port=0)
    return lambda name: launch(Plan(name, told))


async def launch(plan: Plan) -> Local:
    """Start a worker and wait for its port. Raises InfrastructureError where there is none."""
    command = (sys.executable, "-c", RUN)
    process = await asyncio.create_subprocess_exec(  # Ctrl-C is for the front, which ends it
        *command, stdin=PIPE, stdout=PIPE, start_new_session=True
    )
    try:
        return Local(process, await asyncio.wait_for(_greet(process, plan), START_SECONDS))
    except BaseException as error:
        with suppress(ProcessLookupError):
            process.kill()  # it holds nothing yet, and may be long in loading
        await _stop(process)
        if isinstance(error, TimeoutError):
            told = f"worker {plan.name} did not listen within {START_SECONDS:.0f} s"
            raise InfrastructureError(told) from error
        raise


async def _greet(process: Process, plan: Plan) -> int:
    assert process.stdin is not None
    assert process.stdout is not None  # both are pipes
    process.stdin.write(msgspec.json.encode(plan) + b"\n")
    line = await process.stdout.readline()
    if not line.strip().isdigit():
        raise InfrastructureError(f"worker {plan.name} ended before it listened; see its error")
    return int(line)


async def _stop(process: Process) -> None:
    if process.stdin is not None:
        process.stdin.close()
    try:
        await asyncio.wait_for(process.wait(), STOP_SECONDS)
    except TimeoutError:
        process.kill()
        await process.wait()
