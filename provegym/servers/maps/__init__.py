"""A city map: places, a real road graph with closures, directions, saved places and routes."""

from provegym.servers.maps import tools_places, tools_routes
from provegym.servers.maps.rules import violations
from provegym.servers.maps.seed import seed
from provegym.servers.maps.state import Atlas
from provegym.world.server import Server, collect

TOOLS = {**collect(tools_places), **collect(tools_routes)}

SERVER = Server("maps", "City map", Atlas, TOOLS, seed, violations)
