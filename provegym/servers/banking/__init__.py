"""A retail bank: accounts, transfers, payees, cards, standing orders and loans."""

from provegym.servers.banking import tools
from provegym.servers.banking.seed import seed
from provegym.servers.banking.state import Bank, violations
from provegym.world.server import Server, collect

SERVER = Server("banking", "Retail bank", Bank, collect(tools), seed, violations)
