"""Connected vehicles: engine and gears, doors, climate, lights, tires, trips, fuel and charge."""

from provegym.servers.vehicle import tools_body, tools_driving, tools_energy
from provegym.servers.vehicle.rules import violations
from provegym.servers.vehicle.seed import seed
from provegym.servers.vehicle.state import Fleet
from provegym.world.server import Server, collect

TOOLS = {**collect(tools_driving), **collect(tools_body), **collect(tools_energy)}

SERVER = Server("vehicle", "Connected vehicles", Fleet, TOOLS, seed, violations)
