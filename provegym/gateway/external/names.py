"""Names of tools that every provider takes, and no two alike."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Sequence

LONGEST = 64
"""Characters of a tool's name that providers take."""
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def tool_names(server: str, given: Sequence[str], taken: Collection[str]) -> dict[str, str]:
    """A name for each of a server's tools; those that another server has get its name in front."""
    found: dict[str, str] = {}
    for name in given:
        plain = _fitting(name)
        if plain in taken:
            plain = _fitting(f"{server}_{name}")
        chosen, number = plain, 2
        while chosen in found.values() or chosen in taken:
            chosen, number = _fitting(f"{plain}_{number}"), number + 1
        found[name] = chosen
    return found


def _fitting(name: str) -> str:
    """The name in letters, digits, `_` and `-`; what is too long ends in a hash of the whole."""
    plain = re.sub(r"[^a-zA-Z0-9_-]", "_", name) or "_"
    if len(plain) <= LONGEST:
        return plain
    return f"{plain[: LONGEST - 9]}_{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def tokens(name: str) -> tuple[str, ...]:
    """The words of a name in the singular: `entityNames` is ("entity", "name")."""
    return tuple(singular(word.lower()) for word in WORD.findall(name))


def singular(word: str) -> str:
    """`entities` is entity, `boxes` box, `status` stays."""
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "xes", "ches", "shes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 3:
        return word[:-1]
    return word
