"""Every exception provegym raises on purpose.

    ProvegymError
    |-- InputError            the user's file, config, flag or name is wrong: one line, exit code 2
    |   |-- UnknownName       a server, tool, preset, policy or table that does not exist
    |   |-- LimitReached      there are as many of something as were allowed
    |   |-- BrokenRecord      a line of a JSONL file that cannot be read (file, line number, reason)
    |   `-- ManifestMismatch  a file was made by another config, seed or world content
    |-- SessionError          a session that cannot be used
    |   |-- SessionUnknown    no session of that id was ever opened here
    |   |-- SessionClosed     it was closed
    |   `-- SessionExpired    it was idle longer than its time to live
    |-- InfrastructureError   our failure: the episode is masked and counted, never scored 0
    |   |-- ServerFault       a tool's body raised something other than a refusal
    |   |-- WorkerLost        the process that held the session is gone
    |   `-- ModelFault        the model endpoint failed or timed out
    |       |-- EndpointDown  for as long as it is waited for, so that going on is in vain
    |       `-- Unrenderable  its chat template refuses the conversation
    `-- BudgetSpent           a stated limit of tokens or money does not allow the next request

What the *policy* does wrong is never an exception: it is a `Result` with an outcome
(see `provegym.types.Outcome`).
"""

from __future__ import annotations


def seen(value: object, most: int = 80) -> str:
    """A value as a message repeats it: its `repr`, of a long one the beginning."""
    text = repr(value[: most + 1] if isinstance(value, str) else value)
    if len(text) <= most:
        return text
    quote = text[-1] if text[0] in "'\"" else ""
    return f"{text[: most - 4]}...{quote}"


class ProvegymError(Exception):
    """Base of the tree; the message says what went wrong, the value seen, what to do."""


class InputError(ProvegymError):
    """The user's input is wrong. The command line prints the message and exits with 2."""


class UnknownName(InputError):
    """A name that is not in a closed list; the message lists the valid ones, of many the likest."""

    def __init__(self, what: str, name: str, known: list[str]) -> None:
        self.what, self.name, self.known = what, name, known
        super().__init__(f"unknown {what} {seen(name)}; {_listed(name, known)}")

    def __reduce__(self) -> tuple[type[UnknownName], tuple[str, str, list[str]]]:
        return UnknownName, (self.what, self.name, self.known)


MOST_NAMES = 24
"""So many valid names are listed."""


def _listed(name: str, known: list[str]) -> str:
    if not known:
        return "there is none"
    if len(known) <= MOST_NAMES:
        return f"known: {', '.join(known)}"
    from difflib import get_close_matches  # every start of a command imports this module

    likest = get_close_matches(name[:80], known, MOST_NAMES, cutoff=0)
    return f"known: {', '.join(likest)} and {len(known) - MOST_NAMES} more"


class LimitReached(InputError):
    """There are as many of something as were allowed; the message says how to get room."""


class BrokenRecord(InputError):
    """A line of a record file that cannot be read; the rest of the file is untouched."""

    def __init__(self, path: str, line: int, reason: str) -> None:
        self.path, self.line, self.reason = path, line, reason
        super().__init__(f"{path}:{line}: {reason}")

    def __reduce__(self) -> tuple[type[BrokenRecord], tuple[str, int, str]]:
        return BrokenRecord, (self.path, self.line, self.reason)


class ManifestMismatch(InputError):
    """An existing file was made by something else than what is asked for now."""


class SessionError(ProvegymError):
    """A session that cannot be used."""


class SessionUnknown(SessionError):
    """No session of that id was ever opened here."""


class SessionClosed(SessionError):
    """The session was closed; closed sessions stay closed."""


class SessionExpired(SessionError):
    """The session was idle longer than its time to live."""


class InfrastructureError(ProvegymError):
    """Our failure. The episode it hits is masked and counted, never scored."""


class ServerFault(InfrastructureError):
    """A tool's body raised something other than a refusal; its writes were undone."""


class WorkerLost(InfrastructureError):
    """The process that held the session is gone, and the session with it."""


class ModelFault(InfrastructureError):
    """The model endpoint failed, timed out, or answered outside its protocol."""


class EndpointDown(ModelFault):
    """The endpoint turned requests away for as long as it is waited for; what was written stays."""


class Unrenderable(ModelFault):
    """The model's chat template refuses the conversation, or fails over it."""


class BudgetSpent(ProvegymError):
    """A stated limit of tokens or money does not allow the next request; what was written stays."""
