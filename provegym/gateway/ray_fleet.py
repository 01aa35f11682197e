"""Workers as actors of a Ray cluster, so that one port serves the sessions of several machines.

Each actor is a worker that listens on its machine's address in the cluster. Actors belong to the
front's job: they end with it, however it ends. Ray restarts none of them.
"""

from __future__ import annotations

import asyncio
import logging
import os
from typing import Any

from msgspec.structs import replace

from provegym.errors import InfrastructureError, InputError
from provegym.gateway.fleet import Launch, Plan
from provegym.gateway.settings import Settings

START_SECONDS = 300.0
"""A cluster may have to make room first."""
CPUS = 1
"""Cores that a worker asks the cluster for."""


class Host:
    """What runs in an actor: a worker, in a thread of its own."""

    def __init__(self, name: str, settings: Settings) -> None:
        import threading

        import ray

        from provegym.gateway.listening import settle
        from provegym.gateway.worker import Serving

        util: Any = ray.util  # untyped
        self.host: str = util.get_node_ip_address()
        self._serving = Serving(Plan(name, replace(settings, host=self.host, port=0)))
        settle()
        self._thread = threading.Thread(target=self._serving.run, daemon=True)
        self._thread.start()

    def address(self) -> tuple[str, int, int]:
        """Where it listens, and its process."""
        return self.host, self._serving.port, os.getpid()

    def ended(self) -> str:
        """Wait until it serves no more."""
        self._thread.join()
        return "its server ended"

    def stop(self) -> None:
        """Serve no more, soon."""
        self._serving.stop()


class Actor:
    """A worker in the cluster."""

    def __init__(self, actor: Any, host: str, port: int, pid: int) -> None:
        self._actor, self.host, self.port, self.pid = actor, host, port, pid

    async def ended(self) -> str:
        """Wait until the actor is gone; what Ray says of it."""
        from ray.exceptions import RayError

        try:
            return str(await self._actor.ended.remote())
        except RayError as error:
            return type(error).__name__

    async def stop(self) -> None:
        """End it with what it is doing."""
        import ray

        ray.kill(self._actor)


def launcher(settings: Settings) -> Launch:
    """Starts workers in the cluster that RAY_ADDRESS names, else in a new one on this machine.

    Raises InputError without a token, since workers listen where other machines reach them.
    """
    import ray

    if not settings.token:
        raise InputError(
            "workers on several machines listen on the network: give a token (--token)"
        )
    ray.init(include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
    kind: Any = ray.remote(num_cpus=CPUS, max_restarts=0, scheduling_strategy="SPREAD")(Host)

    async def launch(name: str) -> Actor:
        actor = kind.options(max_concurrency=4).remote(name, settings)
        try:
            address = await asyncio.wait_for(actor.address.remote(), START_SECONDS)
        except (ray.exceptions.RayError, TimeoutError) as error:
            ray.kill(actor)
            told = str(error).strip() or f"no room for it within {START_SECONDS:.0f} s"
            raise InfrastructureError(
                f"worker {name} did not start: {told.splitlines()[-1]}"
            ) from error
        return Actor(actor, *address)

    return launch
