"""A retail bank: accounts, transfers, payees, cards, standing orders and loans."""

from provegym.servers.banking import tools, tools_cards, tools_orders
from provegym.servers.banking.seed import seed
from provegym.servers.banking.state import Bank, violations
from provegym.world.server import Server, collect

TOOLS = {**collect(tools), **collect(tools_cards), **collect(tools_orders)}

SERVER = Server("banking", "Retail bank", Bank, TOOLS, seed, violations)
