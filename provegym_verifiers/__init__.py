"""What verifiers finds by the id `provegym-verifiers`; an id of it names a module of the top."""

from __future__ import annotations

from provegym.train.verifiers import ProvegymEnv, ProvegymTaskset

__all__ = ["ProvegymEnv", "ProvegymTaskset"]
