"""A smart home: devices, sensors, scenes, automations, schedules and energy."""

from provegym.servers.iot_devices import tools, tools_commands, tools_routines
from provegym.servers.iot_devices.rules import violations
from provegym.servers.iot_devices.seed import seed
from provegym.servers.iot_devices.state import House
from provegym.world.server import Server, collect

_TOOLS = {**collect(tools), **collect(tools_commands), **collect(tools_routines)}

SERVER = Server("iot_devices", "Smart home", House, _TOOLS, seed, violations)
