"""Calendars, events, invitations and meeting rooms."""

from provegym.servers.calendar import tools_events, tools_lookup, tools_people
from provegym.servers.calendar.seed import seed
from provegym.servers.calendar.state import Agenda, violations
from provegym.world.server import Server, collect

_TOOLS = {**collect(tools_lookup), **collect(tools_events), **collect(tools_people)}

SERVER = Server("calendar", "Office calendar", Agenda, _TOOLS, seed, violations)
