"""Homes, rooms and the devices in them: finding, setting up, renaming; energy."""

from __future__ import annotations

from provegym.servers.iot_devices import samples
from provegym.servers.iot_devices.actions import (
    Effects,
    fire,
    pass_minute,
    the_device,
    the_home,
    the_room,
)
from provegym.servers.iot_devices.models import Kind
from provegym.servers.iot_devices.state import (
    Device,
    DeviceId,
    EnergyDay,
    Floor,
    HomeId,
    House,
    Mode,
    RoomId,
    SetupCode,
)
from provegym.servers.iot_devices.views import (
    DeviceDetail,
    DeviceItem,
    DevicePage,
    Health,
    HomeItem,
    HomePage,
    RoomItem,
    RoomPage,
    UsageItem,
    UsageReport,
    device_detail,
    device_item,
    health,
    home_item,
    open_contacts,
    watts,
)
from provegym.world.fields import Date, Limit, Text, money
from provegym.world.page import page
from provegym.world.period import period
from provegym.world.tool import refuse, tool

SAFE_MODES = ("away", "vacation")
"""Modes in which no door or window may stand open."""

# -- homes and rooms -----------------------------------------------------------------------


@tool(
    "read",
    phrases=(
        "List my homes[ that are in {mode} mode] with what stands open",
        "Which of my homes[ are set to {mode}]; is any door or window open there",
        "Give me an overview of my smart homes[ in {mode} mode]",
    ),
    sample=samples.homes,
)
def list_homes(
    house: House, mode: Mode | None = None, limit: Limit = 5, cursor: str = ""
) -> HomePage:
    """List your homes with their mode and the doors and windows that stand open.

    Args:
        mode: Only homes in this mode.
        limit: Homes per page.
        cursor: next_cursor of the page before.
    """
    found = [h for h in house.homes if mode is None or h.mode == mode]
    rows, total, after = page(found, limit, cursor)
    return HomePage([home_item(house, h) for h in rows], total, after)


@tool(
    "read",
    phrases=(
        'List the rooms[ of {home_id}][ on the {floor} floor][ called "{query}"]',
        "Show me which rooms there are[ in {home_id}][ on the {floor} level][ named {query}]",
        "Go through the rooms of my smart home[; only {home_id}][; only {floor}][; only {query}]",
    ),
    refuses=("not_found",),
    sample=samples.rooms,
)
def list_home_rooms(
    house: House,
    home_id: HomeId | None = None,
    floor: Floor | None = None,
    query: str = "",
    limit: Limit = 5,
    cursor: str = "",
) -> RoomPage:
    """List rooms and places of your homes with the number of devices in each.

    Args:
        home_id: Only rooms of this home.
        floor: Only rooms on this floor.
        query: Part of the room's name.
        limit: Rooms per page.
        cursor: next_cursor of the page before.
    """
    rooms = (
        house.rooms if home_id is None else house.rooms.where(home_id=the_home(house, home_id).id)
    )
    words = query.casefold()
    found = [
        RoomItem(
            r.id,
            r.name,
            house.homes[r.home_id].name,
            r.floor,
            len(house.devices.where(room_id=r.id)),
        )
        for r in rooms
        if (floor is None or r.floor == floor) and words in r.name.casefold()
    ]
    return RoomPage(*page(found, limit, cursor))


@tool(
    "write",
    phrases=(
        "Set {home_id} to {mode} mode",
        "Put {home_id} into {mode} mode",
        "Switch the mode of {home_id} to {mode}",
    ),
    refuses=("not_found", "no_change", "zone_open"),
    sample=samples.home_mode,
)
def set_home_mode(house: House, home_id: HomeId, mode: Mode) -> HomeItem:
    """Set a home's mode and run the automations that wait for it.

    Away and vacation need every watched door and window closed.

    Args:
        home_id: The home.
        mode: The new mode.
    """
    home = the_home(house, home_id)
    if home.mode == mode:
        refuse("no_change", f"the {home.name} is in {mode} mode already")
    opened = [s.name for s in open_contacts(house, home)] if mode in SAFE_MODES else []
    if opened:
        text = f"the {home.name} cannot go {mode}: open at {', '.join(opened)}; close it first"
        refuse("zone_open", text, open=opened)
    home, effects = house.homes.update(home, mode=mode), Effects()
    waiting = house.automations.where(home_id=home.id, trigger="mode", event=mode)
    fire(house, waiting, effects)
    pass_minute(house, effects)
    return home_item(house, home, effects)


# -- devices -------------------------------------------------------------------------------


@tool(
    "read",
    phrases=(
        'List the devices[ in {room_id}][ called "{query}"][ of kind {kind}][ that are {status}]',
        "Show my smart devices[ in {room_id}][ named {query}][ of type {kind}]"
        "[ with status {status}]",
        "Which devices are set up[ in {room_id}][ under the name {query}][ as a {kind}]"
        "[ and are {status}]",
    ),
    refuses=("not_found",),
    sample=samples.devices,
)
def list_devices(
    house: House,
    query: str = "",
    room_id: RoomId | None = None,
    kind: Kind | None = None,
    status: Health | None = None,
    limit: Limit = 5,
    cursor: str = "",
) -> DevicePage:
    """List devices that take commands, with what each does now.

    Args:
        query: Part of the device's name.
        room_id: Only devices in this room.
        kind: Only devices of this kind.
        status: Only devices in this condition.
        limit: Devices per page.
        cursor: next_cursor of the page before.
    """
    rows = house.devices if room_id is None else _in_room(house, room_id)
    words = query.casefold()
    found = [
        d
        for d in rows
        if d.room_id
        and words in d.name.casefold()
        and (kind is None or d.kind == kind)
        and (status is None or health(d) == status)
    ]
    shown, total, after = page(found, limit, cursor)
    return DevicePage([device_item(house, d) for d in shown], total, after)


def _in_room(house: House, room_id: str) -> list[Device]:
    return house.devices.where(room_id=the_room(house, room_id).id)


@tool(
    "read",
    phrases=(
        "Tell me all about {device_id}: what it can do and its schedules",
        "Show the details and schedules of {device_id}",
        "What is {device_id} capable of, and when is it scheduled",
    ),
    refuses=("not_found",),
    sample=samples.device,
)
def get_device(house: House, device_id: DeviceId) -> DeviceDetail:
    """Show one device: model, state, capabilities, limits, battery and schedules.

    Args:
        device_id: The device.
    """
    return device_detail(house, the_device(house, device_id))


@tool(
    "write",
    phrases=(
        'Set up the new device with setup code {setup_code} in {room_id} as "{name}"',
        'Pair the device that has code {setup_code}; call it "{name}" and put it in {room_id}',
        'Add my new device (code {setup_code}) to {room_id} under the name "{name}"',
    ),
    refuses=("unknown_setup_code", "already_paired", "not_found", "name_taken"),
    sample=samples.pair,
)
def pair_device(house: House, setup_code: SetupCode, room_id: RoomId, name: Text) -> DeviceItem:
    """Set up a new device that is switched on nearby.

    Args:
        setup_code: Code printed on the device, as the user gave it.
        room_id: Where it stands.
        name: What to call it.
    """
    found = house.devices.where(setup_code=setup_code)
    if not found:
        refuse("unknown_setup_code", "no device nearby answers to that setup code; check it")
    if found[0].room_id:
        refuse("already_paired", f"that device is set up already, as {found[0].name}")
    room = the_room(house, room_id)
    _require_free_name(house, name)
    device = house.devices.update(found[0], room_id=room.id, name=name)
    pass_minute(house, Effects())
    return device_item(house, house.devices[device.id])


def _require_free_name(house: House, name: str, own: str = "") -> None:
    words = name.casefold()
    for device in house.devices:
        if device.room_id and device.id != own and device.name.casefold() == words:
            refuse("name_taken", f"another device is called {device.name}; choose another name")


@tool(
    "write",
    phrases=(
        'Change {device_id}[: call it "{name}"][: move it to {room_id}]',
        'Update {device_id}[; its new name is "{name}"][; it now stands in {room_id}]',
    ),
    refuses=("not_found", "no_change", "different_home", "name_taken"),
    sample=samples.update,
)
def update_device(
    house: House, device_id: DeviceId, name: Text | None = None, room_id: RoomId | None = None
) -> DeviceItem:
    """Rename a device, or move it to another room of the same home.

    Args:
        device_id: The device.
        name: New name.
        room_id: New room.
    """
    device = the_device(house, device_id)
    room = the_room(house, device.room_id if room_id is None else room_id)
    if room.home_id != house.home_of(device):
        text = f"the {room.name} is in another home than the {device.name}; set it up there anew"
        refuse("different_home", text)
    new = device.name if name is None else name
    if (new, room.id) == (device.name, device.room_id):
        refuse("no_change", f"the {device.name} would stay as it is; give a new name or room")
    _require_free_name(house, new, device.id)
    house.devices.update(device, name=new, room_id=room.id)
    pass_minute(house, Effects())
    return device_item(house, house.devices[device.id])


# -- energy --------------------------------------------------------------------------------


@tool(
    "read",
    phrases=(
        "How much energy was used[ by {device_id}][ in {room_id}][ since {since}][ until {until}]",
        "Show the power consumption[ of {device_id}][ of {room_id}][ from {since} on]"
        "[ up to {until}]",
        "What did electricity cost me[ for {device_id}][ for {room_id}][ since {since}]"
        "[ until {until}]",
    ),
    refuses=("not_found", "not_metered"),
    sample=samples.usage,
)
def get_energy_usage(
    house: House,
    device_id: DeviceId | None = None,
    room_id: RoomId | None = None,
    since: Date | None = None,
    until: Date | None = None,
    limit: Limit = 5,
    cursor: str = "",
) -> UsageReport:
    """Report energy and its cost in US dollars over finished days, by device; two weeks are kept.

    Args:
        device_id: Only this device.
        room_id: Only devices in this room.
        since: First day.
        until: Last day.
        limit: Devices per page.
        cursor: next_cursor of the page before.
    """
    period(since, until)
    rows = _metered(house, device_id, room_id)
    days = [*(e.day for e in rows), *filter(None, (since, until))]
    first, last = since or min(days), until or max(days)
    used: dict[str, int] = {}
    for e in rows:
        used[e.device_id] = used.get(e.device_id, 0) + (e.wh if first <= e.day <= last else 0)
    devices = [house.devices[d] for d in used]
    devices.sort(key=lambda d: -used[d.id])
    items = [UsageItem(d.id, d.name, used[d.id] / 1000, watts(d, house.now)) for d in devices]
    shown, total, after = page(items, limit, cursor)
    price = sum(used[d.id] * house.homes[house.home_of(d)].tariff for d in devices)
    kwh, cost = sum(used.values()) / 1000, money(round(price / 1000))
    return UsageReport(first, last, kwh, cost, shown, total, after)


def _metered(house: House, device_id: str | None, room_id: str | None) -> list[EnergyDay]:
    """The days of the devices asked for; `not_metered` where none has a meter."""
    if device_id is None:
        devices = list(house.devices) if room_id is None else _in_room(house, room_id)
    else:
        devices = [the_device(house, device_id)]
        if room_id is not None and devices[0].room_id != the_room(house, room_id).id:
            devices = []
    found = [e for d in devices for e in house.energy.where(device_id=d.id)]
    if not found:
        refuse("not_metered", "no energy meter there; plugs, heaters and appliances have one")
    return found
