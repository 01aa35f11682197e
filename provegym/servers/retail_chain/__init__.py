"""The back office of a chain of shops: stock by store, transfers, reservations, price rules."""

from __future__ import annotations

from provegym.servers.retail_chain import tools
from provegym.servers.retail_chain.checks import violations
from provegym.servers.retail_chain.seed import seed
from provegym.servers.retail_chain.state import Chain
from provegym.world.server import Server, collect

SERVER = Server("retail_chain", "Retail chain", Chain, collect(tools), seed, violations)
