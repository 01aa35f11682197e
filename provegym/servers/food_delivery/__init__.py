"""Food delivery: restaurants and dishes, one cart, orders that a courier brings, promos."""

from __future__ import annotations

from provegym.servers.food_delivery import tools
from provegym.servers.food_delivery.checks import violations
from provegym.servers.food_delivery.seed import seed
from provegym.servers.food_delivery.state import FoodApp
from provegym.world.server import Server, collect

SERVER = Server("food_delivery", "Food delivery", FoodApp, collect(tools), seed, violations)
