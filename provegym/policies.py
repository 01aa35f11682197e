"""Policies by the names that commands and configs give them."""

from __future__ import annotations

from provegym.errors import UnknownName
from provegym.rollout.policies import POLICIES
from provegym.rollout.reply import PolicyFactory


def factory(name: str) -> PolicyFactory:
    """The policy called `name`. Raises `UnknownName`, which lists the valid ones."""
    if name not in POLICIES:
        raise UnknownName("policy", name, sorted(POLICIES))
    return POLICIES[name]
