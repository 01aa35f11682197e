"""Event loops in which Ctrl-C ends what is under way."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def run(main: Coroutine[Any, Any, T]) -> T:
    """`asyncio.run`, in which an interrupt cancels `main`, whoever else handles interrupts outside.

    asyncio takes SIGINT over only from Python's own handler; any other would raise
    `KeyboardInterrupt` in whatever callback is at work, and the loop's end could wait for ever.
    """
    outside = signal.getsignal(signal.SIGINT)
    if not callable(outside) or threading.current_thread() is not threading.main_thread():
        return asyncio.run(main)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return asyncio.run(main)
    finally:
        signal.signal(signal.SIGINT, outside)
