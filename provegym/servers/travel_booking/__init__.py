"""A travel agency: flights with fares and seats, hotels, itineraries, payments, cancellations."""

from provegym.servers.travel_booking import tools_flights, tools_hotels, tools_trips
from provegym.servers.travel_booking.invariants import violations
from provegym.servers.travel_booking.seed import seed
from provegym.servers.travel_booking.state import Travel
from provegym.world.server import Server, collect

TOOLS = {**collect(tools_flights), **collect(tools_hotels), **collect(tools_trips)}

SERVER = Server("travel_booking", "Travel agency", Travel, TOOLS, seed, violations)
