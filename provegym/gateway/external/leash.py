"""Runs a command that the kernel kills when our process dies, however it dies.

A server that hangs would otherwise outlive us. On systems other than Linux it is only told that
its input has ended.
"""

import ctypes
import os
import signal
import sys

CANNOT_RUN = (126, 127)
"""Exit codes for a command that may not be run, and for one that is not there, as shells have."""
SET_PARENT_DEATH_SIGNAL = 1
"""`PR_SET_PDEATHSIG` of prctl(2)."""

if __name__ == "__main__":
    parent, *command = sys.argv[1:]
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
        if os.getppid() != int(parent):  # it died before the line above
            sys.exit(1)
    try:
        os.execvp(command[0], command)
    except OSError as error:
        sys.stderr.write(f"{command[0]}: {error.strerror}\n")
        sys.exit(CANNOT_RUN[isinstance(error, FileNotFoundError)])
