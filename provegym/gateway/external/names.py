"""Names of tools that every provider takes, and no two alike."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Sequence

LONGEST = 64
"""Characters of a tool's name that providers take."""
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")

READERS = frozenset(
    [
        *("get", "list", "read", "search", "find", "show", "describe", "open", "query", "fetch"),
        *("count", "check", "view", "lookup", "status", "log", "diff", "convert", "calculate"),
    ]
)
"""Words in the names of tools that only read."""
MAKERS = frozenset(
    [*("create", "add", "insert", "new", "register", "make", "write", "append", "open", "start")]
)
"""Words in the names of tools that make something."""
CHANGERS = frozenset(
    [
        *("update", "delete", "remove", "close", "set", "edit", "move", "rename", "cancel", "mark"),
        *("assign", "complete", "archive", "save", "put", "change", "clear", "reset", "all", "by"),
    ]
)
"""Other words in the names of tools that are no things."""


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


def noun(tool: str) -> tuple[str, ...]:
    """The word for what a tool is about: `shop.tickets.close` and `get_ticket` are about a ticket.

    Of several parts it is the last that names a thing; what things are found by names none.
    """
    for part in reversed(parts(tool)):
        words = tokens(part)
        words = words[: words.index("by")] if "by" in words[1:] else words
        if things := [word for word in words if word not in READERS | MAKERS | CHANGERS]:
            return (things[-1],)
    return tokens(tool)[-1:]


def parts(tool: str) -> list[str]:
    """What stands between the dots and slashes of a name, `shop.items.list`."""
    return [part for part in re.split(r"[./]", tool) if part]


def called_reader(tool: str) -> bool:
    """Whether its name says that it reads: by a verb in front or, if no other verb is there, one
    at the end, as in `list_items`, `git_list_branches` and `shop.items.list`.
    """
    words = tokens(tool)
    changes = (MAKERS | CHANGERS) - READERS - {"all", "by", "new"}
    behind = words[-1:] if not changes.intersection(words) else ()
    return bool(READERS.intersection({*words[:2], *behind}))


def singular(word: str) -> str:
    """`entities` is entity, `boxes` box, `status` stays."""
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "xes", "ches", "shes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 3:
        return word[:-1]
    return word


def plural(word: str) -> str:
    """The other way round: `ticket_entity` is ticket_entities."""
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return f"{word[:-1]}ies"
    return word + ("es" if word.endswith(("s", "x", "ch", "sh")) else "s")
