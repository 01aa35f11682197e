"""What is wrong with an answer of a server that breaks the protocol, in words of ours."""

from __future__ import annotations

from pydantic import ValidationError

from provegym.errors import seen


def mistake(error: BaseException) -> str:
    """The first value that MCP has no place for, and where it stands; empty for another error."""
    if not isinstance(error, ValidationError):
        return ""
    found = error.errors(include_url=False)
    first, place = found[0], found[0]["loc"]
    if len(found) > 1 and {e["loc"][:-1] for e in found} == {place[:-1]}:
        place = place[:-1]  # the last step names one of several types that were tried
    at = ".".join(map(str, place)) or "the answer"
    return f"{at} is missing" if first["type"] == "missing" else f"{at} is {seen(first['input'])}"
