"""Online shop: search, cart, coupons, orders, returns, reviews and a wishlist of one customer."""

from __future__ import annotations

from provegym.servers.shopping import tools
from provegym.servers.shopping.seed import seed
from provegym.servers.shopping.state import Shop, violations
from provegym.world.server import Server, collect

SERVER = Server("shopping", "Online shop", Shop, collect(tools), seed, violations)
