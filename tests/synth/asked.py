"""A scripted model that classifies pairs, as an endpoint on loopback."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from typing import Any

from provegym.llm.scripted import Json, Response, says

Asked = list[tuple[str, str]]
"""The pairs of one request, in the order of their numbers."""
Relate = Callable[[str, str], tuple[str, str]]
"""From the tools A and B to what B needs of A and A of B."""


def pairs_of(request: Json) -> Asked:
    text = request["messages"][1]["content"]
    return re.findall(r"^\d+\. A = (\w+), B = (\w+)$", text, re.MULTILINE)


def verdict(number: int, b_needs_a: str, a_needs_b: str = "none", why: str = "so") -> Json:
    return {"pair": number, "b_needs_a": b_needs_a, "a_needs_b": a_needs_b, "why": why}


def verdicts(asked: Asked, relate: Relate) -> list[Json]:
    return [verdict(i, *relate(a, b)) for i, (a, b) in enumerate(asked, 1)]


def answer(found: Iterable[Any]) -> Response:
    return says(json.dumps({"pairs": list(found)}))


def model(relate: Relate) -> Callable[[Json], Response]:
    """A script that gives every pair a valid answer."""
    return lambda request: answer(verdicts(pairs_of(request), relate))


def all_explicit(a: str, b: str) -> tuple[str, str]:
    return "explicit", "explicit"
