"""A marketplace of private sellers: auctions, fixed prices with offers, purchases, disputes."""

from __future__ import annotations

from provegym.servers.marketplace import tools
from provegym.servers.marketplace.checks import violations
from provegym.servers.marketplace.seed import seed
from provegym.servers.marketplace.state import Market
from provegym.world.server import Server, collect

SERVER = Server("marketplace", "Online marketplace", Market, collect(tools), seed, violations)
