"""Calendars, events, invitations and meeting rooms."""

from provegym.servers.calendar import tools
from provegym.servers.calendar.seed import seed
from provegym.servers.calendar.state import Agenda, violations
from provegym.world.server import Server, collect

SERVER = Server("calendar", "Office calendar", Agenda, collect(tools), seed, violations)
