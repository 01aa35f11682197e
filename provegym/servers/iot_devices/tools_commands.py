"""Commands to devices. Each needs a capability that the device has."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Literal

from provegym.servers.iot_devices import samples
from provegym.servers.iot_devices.actions import (
    Effects,
    change,
    commandable,
    differs,
    door_open,
    fields_for,
    pass_minute,
    require_capability,
)
from provegym.servers.iot_devices.models import (
    COLDEST_WHITE,
    WARMEST_WHITE,
    Climate,
    Program,
)
from provegym.servers.iot_devices.state import Device, DeviceId, House, Pin, running
from provegym.servers.iot_devices.views import Commanded, Started, commanded, doing
from provegym.world.fields import Range
from provegym.world.tool import refuse, tool

Percent = Annotated[int, Range(0, 100)]
Brightness = Annotated[int, Range(1, 100)]
Kelvin = Annotated[int, Range(WARMEST_WHITE, COLDEST_WHITE)]
Celsius = Annotated[float, Range(-20, 60)]


def _set(house: House, device: Device, fields: dict[str, object]) -> Commanded:
    """Write the fields unless the device is so already (`no_change`)."""
    if not differs(device, fields):
        text = f"the {device.name} is {doing(device, house.now)} already"
        refuse("no_change", text, state=doing(device, house.now))
    effects = Effects()
    change(house, device, fields, effects)
    pass_minute(house, effects)
    return commanded(house, device, effects)


def _require_within(device: Device, value: float, low: float, high: float, unit: str) -> None:
    if not low <= value <= high:
        text = f"{value:g} {unit} is out of range; the {device.name} takes {low:g} to {high:g}"
        refuse("out_of_range", text, minimum=low, maximum=high)


@tool(
    "write",
    phrases=(
        "Switch {device_id} {power}",
        "Turn {power} {device_id}",
        "Please turn {device_id} {power}",
    ),
    refuses=("not_found", "unsupported", "offline", "child_locked", "no_change"),
    sample=samples.switch,
)
def switch_device(house: House, device_id: DeviceId, power: Literal["on", "off"]) -> Commanded:
    """Switch a device on or off. Off ends a running program.

    Args:
        device_id: A device with power.
        power: On or off.
    """
    device = commandable(house, device_id, "power")
    return _set(house, device, fields_for(device, "power", power == "on"))


@tool(
    "write",
    phrases=(
        "Set the light of {device_id}[ to {brightness} percent][ to {color_temperature} kelvin]",
        "Adjust {device_id}[ to {brightness} % brightness][ with a white of {color_temperature} K]",
        "Light {device_id}[ at {brightness} percent brightness]"
        "[ in a {color_temperature} K tone of white]",
    ),
    refuses=("not_found", "unsupported", "offline", "out_of_range", "no_change"),
    sample=samples.light,
)
def set_light(
    house: House,
    device_id: DeviceId,
    brightness: Brightness | None = None,
    color_temperature: Kelvin | None = None,
) -> Commanded:
    """Set a lamp's brightness or shade of white; it comes on if it is off.

    Args:
        device_id: A lamp that can be dimmed or toned.
        brightness: Percent.
        color_temperature: Kelvin; low is warm, high is cold.
    """
    device = commandable(house, device_id, "brightness")
    fields: dict[str, object] = {}
    if brightness is not None:
        fields |= fields_for(device, "brightness", brightness)
    if color_temperature is not None:
        require_capability(device, "color_temperature")
        _require_within(device, color_temperature, *device.of.range, "K")
        fields |= fields_for(device, "color_temperature", color_temperature)
    if not fields:
        refuse("nothing_to_set", "give a brightness or a color_temperature")
    return _set(house, device, fields)


@tool(
    "write",
    phrases=(
        "Set {device_id}[ to {temperature} degrees][ in {mode} mode]",
        "Change {device_id}[ to a target of {temperature} °C][ and the mode {mode}]",
        "Let {device_id} aim[ for {temperature} degrees Celsius][ with its mode on {mode}]",
    ),
    refuses=(
        *("not_found", "unsupported", "offline", "child_locked", "low_battery"),
        *("out_of_range", "no_change"),
    ),
    sample=samples.thermostat,
)
def set_thermostat(
    house: House,
    device_id: DeviceId,
    temperature: Celsius | None = None,
    mode: Climate | None = None,
) -> Commanded:
    """Set a thermostat's target temperature or its mode.

    Args:
        device_id: A thermostat or radiator valve.
        temperature: Target in degrees Celsius.
        mode: Heat, cool, auto or off, as far as the model has it.
    """
    device = commandable(house, device_id, "target_temperature")
    fields: dict[str, object] = {}
    if temperature is not None:
        _require_within(device, temperature, *device.of.range, "°C")
        fields |= fields_for(device, "target_temperature", temperature)
    if mode is not None:
        modes = device.of.modes
        if mode not in modes:
            text = f"the {device.name} has no mode {mode}; it has {', '.join(modes)}"
            refuse("unsupported", text, modes=list(modes))
        fields["climate"] = mode
    if not fields:
        refuse("nothing_to_set", "give a temperature or a mode")
    return _set(house, device, fields)


@tool(
    "write",
    phrases=(
        "Set the level of {device_id} to {percent} percent",
        "Bring {device_id} to {percent} %",
        "I want {device_id} at {percent} percent",
    ),
    refuses=(
        *("not_found", "unsupported", "offline", "child_locked", "low_battery"),
        *("out_of_range", "no_change"),
    ),
    sample=samples.level,
)
def set_device_level(house: House, device_id: DeviceId, percent: Percent) -> Commanded:
    """Set how far a blind is open, how fast a fan turns or how loud a speaker plays.

    Args:
        device_id: A blind, fan or speaker.
        percent: 0 closes a blind, stops a fan, mutes a speaker.
    """
    device = commandable(house, device_id, "level")
    _require_within(device, percent, 0, device.of.max_level, "%")
    return _set(house, device, fields_for(device, "level", percent))


@tool(
    "write",
    phrases=(
        "Please {action} {device_id}[ with PIN {pin}]",
        "I need you to {action} {device_id}[; the PIN is {pin}]",
        "Go and {action} {device_id} for me[, PIN {pin}]",
    ),
    refuses=(
        *("not_found", "unsupported", "offline", "low_battery"),
        *("no_change", "wrong_pin", "door_open"),
    ),
    sample=samples.lock,
)
def operate_door_lock(
    house: House, device_id: DeviceId, action: Literal["lock", "unlock"], pin: Pin | None = None
) -> Commanded:
    """Lock or unlock a door. Locking needs the door closed, unlocking its PIN.

    Args:
        device_id: A door lock.
        action: Lock or unlock.
        pin: The lock's PIN, as the user gave it; needed to unlock.
    """
    device = commandable(house, device_id, "lock")
    fields = fields_for(device, "lock", action == "lock")
    if action == "lock" and door_open(house, device):
        refuse("door_open", f"the door of the {device.name} stands open; close it first")
    if action == "unlock" and device.locked:
        if pin is None:
            refuse("pin_required", f"unlocking the {device.name} needs its PIN; ask for it")
        if pin != device.pin:
            refuse("wrong_pin", f"that is not the PIN of the {device.name}")
    return _set(house, device, fields)


@tool(
    "write",
    phrases=(
        "Start the {program} program on {device_id}",
        "Run {device_id} on {program}",
        "Let {device_id} do its {program} program now",
    ),
    refuses=(
        *("not_found", "unsupported", "offline", "child_locked", "low_battery"),
        "already_running",
    ),
    sample=samples.appliance,
)
def start_appliance(house: House, device_id: DeviceId, program: Program) -> Started:
    """Start a program of a washing machine, dishwasher, oven or robot vacuum.

    Args:
        device_id: The appliance.
        program: One of the appliance's programs.
    """
    device = commandable(house, device_id, "program")
    minutes = device.of.minutes
    if program not in minutes:
        text = f"the {device.name} has no program {program}; it has {', '.join(minutes)}"
        refuse("unsupported", text, programs=list(minutes))
    if running(device, house.now):
        text = f"the {device.name} runs {device.program} until {device.ends_at}"
        refuse("already_running", text, ends_at=device.ends_at)
    ends = (house.now + timedelta(minutes=minutes[program])).isoformat()
    effects = Effects()
    change(house, device, {"on": True, "program": program, "ends_at": ends}, effects)
    pass_minute(house, effects)
    d = house.devices[device.id]
    return Started(d.id, d.name, doing(d, house.now), ends, effects.names)


@tool(
    "write",
    phrases=(
        "Switch the child lock of {device_id} {state}",
        "Turn {state} the child lock on {device_id}",
        "Set the child lock of {device_id} to {state}",
    ),
    refuses=("not_found", "unsupported", "offline", "no_change"),
    sample=samples.child_lock,
)
def set_child_lock(house: House, device_id: DeviceId, state: Literal["on", "off"]) -> Commanded:
    """Switch a device's child lock, under which it takes no other command.

    Args:
        device_id: A device with a child lock.
        state: On or off.
    """
    device = commandable(house, device_id, "child_lock")
    wanted = state == "on"
    if device.child_lock == wanted:
        refuse("no_change", f"the child lock of the {device.name} is {state} already")
    return _set(house, device, {"child_lock": wanted})
