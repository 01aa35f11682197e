"""A household budget: months, categories, expenses, incomes, recurring items, goals, reports."""

from provegym.servers.budget import tools, tools_money
from provegym.servers.budget.invariants import violations
from provegym.servers.budget.seed import seed
from provegym.servers.budget.state import Household
from provegym.world.server import Server, collect

TOOLS = {**collect(tools), **collect(tools_money)}

SERVER = Server("budget", "Household budget", Household, TOOLS, seed, violations)
