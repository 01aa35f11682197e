"""A brokerage: quotes, orders that fill or rest, positions, cash and price alerts."""

from provegym.servers.trading import tools, tools_market
from provegym.servers.trading.seed import seed
from provegym.servers.trading.state import Desk, violations
from provegym.world.server import Server, collect

TOOLS = {**collect(tools_market), **collect(tools)}

SERVER = Server("trading", "Stock brokerage", Desk, TOOLS, seed, violations)
