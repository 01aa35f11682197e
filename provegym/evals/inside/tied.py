"""Become another program, one that ends with whoever started it, also where that was killed.

Run by any interpreter: PROGRAM and its arguments. Otherwise a benchmark's program would outlive a
kill of ours, find its endpoint gone, and write that down as the model's answers. The kernel sends
the signal on Linux alone; elsewhere such answers are known by their text.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

SET_PARENT_DEATH_SIGNAL = 1
"""`PR_SET_PDEATHSIG` of prctl(2); it stays over an exec."""

if __name__ == "__main__":
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    os.execv(sys.argv[1], sys.argv[1:])
