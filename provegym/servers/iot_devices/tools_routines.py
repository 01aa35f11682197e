"""Sensors, and what runs by itself: scenes, automations and schedules."""

from __future__ import annotations

from typing import Literal

from provegym.servers.iot_devices import samples
from provegym.servers.iot_devices.actions import (
    Effects,
    pass_minute,
    require_capability,
    run_scene,
    the_device,
    the_home,
    the_room,
    the_scene,
    the_sensor,
)
from provegym.servers.iot_devices.sensing import conditions, spoken
from provegym.servers.iot_devices.state import (
    ACTIONS,
    DEVICE_EVENTS,
    Action,
    Automation,
    AutomationId,
    Days,
    Device,
    DeviceId,
    Event,
    HomeId,
    House,
    RoomId,
    Scene,
    SceneId,
    Schedule,
    ScheduleId,
    SensorId,
    SensorKind,
    Setting,
    matching,
)
from provegym.servers.iot_devices.views import (
    Activated,
    AutomationItem,
    AutomationPage,
    ReadingItem,
    ReadingPage,
    SceneItem,
    ScenePage,
    ScheduleItem,
    SensorPage,
    automation_item,
    scene_item,
    schedule_item,
    sensor_item,
)
from provegym.world.fields import Clock, Date, Limit, Text
from provegym.world.page import page
from provegym.world.period import period
from provegym.world.tool import refuse, tool

# -- sensors -------------------------------------------------------------------------------


@tool(
    "read",
    phrases=(
        'What do the sensors report[ in {room_id}][ about {kind}][ at "{query}"]',
        "List the sensors[ in {room_id}][ of kind {kind}][ named {query}] with their readings",
        "Show the current sensor readings[ of {room_id}][ for {kind}][ from {query}]",
    ),
    refuses=("not_found",),
    sample=samples.sensors,
)
def list_sensors(
    house: House,
    query: str = "",
    room_id: RoomId | None = None,
    kind: SensorKind | None = None,
    limit: Limit = 5,
    cursor: str = "",
) -> SensorPage:
    """List sensors with what each reported last; they report every quarter of an hour.

    Args:
        query: Part of the sensor's name.
        room_id: Only sensors in this room.
        kind: Only sensors of this kind.
        limit: Sensors per page.
        cursor: next_cursor of the page before.
    """
    rows = (
        house.sensors
        if room_id is None
        else house.sensors.where(room_id=the_room(house, room_id).id)
    )
    words = query.casefold()
    found = [s for s in rows if kind in (None, s.kind) and words in s.name.casefold()]
    shown, total, after = page(found, limit, cursor)
    return SensorPage([sensor_item(house, s) for s in shown], total, after)


@tool(
    "read",
    phrases=(
        "Show the history of {sensor_id}[ since {since}][ until {until}]",
        "What has {sensor_id} logged[ from {since} on][ up to {until}]",
        "Give me the past readings of {sensor_id}[ from {since}][ to {until}]",
    ),
    refuses=("not_found",),
    sample=samples.history,
)
def get_sensor_history(
    house: House,
    sensor_id: SensorId,
    since: Date | None = None,
    until: Date | None = None,
    limit: Limit = 5,
    cursor: str = "",
) -> ReadingPage:
    """Show what a sensor logged, newest first, with the least and greatest value.

    Args:
        sensor_id: The sensor.
        since: First day.
        until: Last day.
        limit: Readings per page.
        cursor: next_cursor of the page before.
    """
    sensor = the_sensor(house, sensor_id)
    first, last = period(since, until)
    found = [r for r in house.readings.where(sensor_id=sensor.id) if first <= r.at < last]
    found.sort(key=lambda r: r.at, reverse=True)
    values = [r.value for r in found]
    low, high = (spoken(sensor.kind, f(values)) if values else "" for f in (min, max))
    items = [ReadingItem(r.at, spoken(sensor.kind, r.value)) for r in found]
    shown, total, after = page(items, limit, cursor)
    return ReadingPage(sensor.id, sensor.name, shown, low, high, total, after)


# -- scenes --------------------------------------------------------------------------------


@tool(
    "read",
    phrases=(
        'List the scenes[ of {home_id}][ called "{query}"]',
        "Show which scenes I have[ in {home_id}][ named {query}]",
        "What scenes are there[ for {home_id}][ with {query} in the name], and what do they set",
    ),
    refuses=("not_found",),
    sample=samples.scenes,
)
def list_scenes(
    house: House,
    query: str = "",
    home_id: HomeId | None = None,
    limit: Limit = 3,
    cursor: str = "",
) -> ScenePage:
    """List scenes with what they set on which device.

    Args:
        query: Part of the scene's name.
        home_id: Only scenes of this home.
        limit: Scenes per page.
        cursor: next_cursor of the page before.
    """
    rows = (
        house.scenes if home_id is None else house.scenes.where(home_id=the_home(house, home_id).id)
    )
    words = query.casefold()
    found = [s for s in rows if words in s.name.casefold()]
    shown, total, after = page(found, limit, cursor)
    return ScenePage([scene_item(house, s) for s in shown], total, after)


@tool(
    "write",
    phrases=(
        'Save how {device_ids} are set now as a scene called "{name}"',
        'Create the scene "{name}" from the present state of {device_ids}',
        'Make a new scene "{name}" out of {device_ids} as they are now',
    ),
    refuses=("not_found", "unsupported", "offline", "different_home", "name_taken"),
    sample=samples.new_scene,
)
def create_scene(house: House, name: Text, device_ids: list[DeviceId]) -> SceneItem:
    """Save the present state of devices of one home as a scene.

    Args:
        name: Name of the scene.
        device_ids: Lamps, plugs, thermostats, blinds, fans, speakers or locked locks.
    """
    if not device_ids:
        refuse("no_devices", "name at least one device")
    devices = [the_device(house, d) for d in dict.fromkeys(device_ids)]
    settings = tuple(s for d in devices for s in _snapshot(d))
    homes = {house.home_of(d) for d in devices}
    if len(homes) > 1:
        refuse("different_home", "a scene's devices must be in one home; make one for each home")
    home_id = homes.pop()
    _require_free(name, [s.name for s in house.scenes.where(home_id=home_id)], "scene")
    row = Scene(house.scenes.new_id(), home_id, name, settings)
    house.scenes.put(row)
    pass_minute(house, Effects())
    return scene_item(house, row)


def _require_free(name: str, names: list[str], what: str) -> None:
    if name.casefold() in (n.casefold() for n in names):
        refuse("name_taken", f"there is a {what} called {name!r} in that home; choose another name")


def _snapshot(device: Device) -> list[Setting]:
    """The settings that bring a device back to its present state."""
    if not device.online:
        refuse("offline", f"the {device.name} is offline, so its state is not known")
    can = device.of.capabilities
    if "program" in can or ("lock" in can and not device.locked):
        text = f"a scene cannot hold the {device.name}: programs and unlocking are left out"
        refuse("unsupported", text)
    if "power" in can and not device.on:
        return [Setting(device.id, "power", 0)]
    found: list[Setting] = []
    if "brightness" not in can and "power" in can:
        found.append(Setting(device.id, "power", 1))
    if "brightness" in can:
        found.append(Setting(device.id, "brightness", device.brightness))
    if device.color_temperature:
        found.append(Setting(device.id, "color_temperature", device.color_temperature))
    if "level" in can and (device.level or device.kind != "fan"):
        found.append(Setting(device.id, "level", device.level))
    if "target_temperature" in can:
        found.append(Setting(device.id, "target_temperature", device.target_temperature))
    if "lock" in can:
        found.append(Setting(device.id, "lock", 1))
    return found


@tool(
    "write",
    phrases=(
        "Activate {scene_id}",
        "Start {scene_id} now",
        "Set everything as in {scene_id}",
    ),
    refuses=("not_found", "no_change", "unreachable"),
    sample=samples.scene,
)
def activate_scene(house: House, scene_id: SceneId) -> Activated:
    """Make all settings of a scene; devices that cannot obey are skipped and named.

    Args:
        scene_id: The scene.
    """
    scene, effects = the_scene(house, scene_id), Effects()
    changed, skipped = run_scene(house, scene, effects)
    if not changed and skipped:
        text = f"none of {', '.join(skipped)} obeys: offline, child-locked, weak or a door open"
        refuse("unreachable", text, skipped=skipped)
    if not changed:
        refuse("no_change", f"everything is as in the scene {scene.name!r} already")
    pass_minute(house, effects)
    return Activated(scene.id, scene.name, tuple(changed), tuple(skipped), effects.names)


# -- automations ---------------------------------------------------------------------------


@tool(
    "read",
    phrases=(
        'List my[ {status}] automations[ of {home_id}][ called "{query}"]',
        "Show the[ {status}] automations[ in {home_id}][ named {query}]",
        "Which[ {status}] automations have I set up[ for {home_id}][ under {query}]",
    ),
    refuses=("not_found",),
    sample=samples.automations,
)
def list_automations(
    house: House,
    query: str = "",
    home_id: HomeId | None = None,
    status: Literal["enabled", "disabled"] | None = None,
    limit: Limit = 5,
    cursor: str = "",
) -> AutomationPage:
    """List automations: when each runs which scene.

    Args:
        query: Part of the automation's name.
        home_id: Only automations of this home.
        status: Only enabled or only disabled ones.
        limit: Automations per page.
        cursor: next_cursor of the page before.
    """
    if home_id is not None:
        the_home(house, home_id)
    words = query.casefold()
    found = [
        a
        for a in house.automations
        if home_id in (None, a.home_id)
        and words in a.name.casefold()
        and (status is None or a.enabled == (status == "enabled"))
    ]
    shown, total, after = page(found, limit, cursor)
    return AutomationPage([automation_item(house, a) for a in shown], total, after)


@tool(
    "write",
    phrases=(
        'Create an automation "{name}" that runs {scene_id} when[ {sensor_id}][ {device_id}] '
        "goes {event}[ {threshold}]",
        'Automate "{name}": as soon as[ {sensor_id}][ {device_id}] goes {event}[ {threshold}], '
        "activate {scene_id}",
        'Set up an automation called "{name}" so that {scene_id} starts whenever[ {sensor_id}]'
        "[ {device_id}] goes {event}[ {threshold}]",
    ),
    refuses=("not_found", "unsupported", "different_home", "name_taken"),
    sample=samples.new_automation,
)
def create_automation(
    house: House,
    name: Text,
    event: Event,
    scene_id: SceneId,
    sensor_id: SensorId | None = None,
    device_id: DeviceId | None = None,
    threshold: float | None = None,
) -> AutomationItem:
    """Run a scene whenever a sensor or a device comes to a state. Give one of the two.

    Args:
        name: Name of the automation.
        event: What to wait for; above and below need a threshold.
        scene_id: The scene to run.
        sensor_id: The sensor to watch.
        device_id: The device to watch: on, off, locked or unlocked.
        threshold: Limit in the sensor's unit.
    """
    if (sensor_id is None) == (device_id is None):
        refuse("one_trigger", "give either a sensor_id or a device_id to watch")
    if (event in ("above", "below")) != (threshold is not None):
        refuse("bad_threshold", "give a threshold with above or below, and only then")
    scene = the_scene(house, scene_id)
    home_id = _watched_home(house, sensor_id, device_id, event)
    if home_id != scene.home_id:
        text = f"the scene {scene.name!r} belongs to the {house.homes[scene.home_id].name}"
        refuse("different_home", f"{text}; watch something in that home")
    taken = [a.name for a in house.automations.where(home_id=home_id)]
    _require_free(name, taken, "automation")
    row = Automation(
        id=house.automations.new_id(),
        home_id=home_id,
        name=name,
        trigger="device" if sensor_id is None else "sensor",
        event=event,
        scene_id=scene.id,
        sensor_id=sensor_id or "",
        device_id=device_id or "",
        threshold=threshold or 0.0,
    )
    house.automations.put(row)
    pass_minute(house, Effects())
    return automation_item(house, row)


def _watched_home(house: House, sensor_id: str | None, device_id: str | None, event: str) -> str:
    """The home of what is watched; `unsupported` where it never comes to that state."""
    if sensor_id is not None:
        sensor = the_sensor(house, sensor_id)
        if event not in conditions(sensor.kind):
            text = f"the {sensor.name} never goes {event}; it goes "
            refuse("unsupported", text + " or ".join(conditions(sensor.kind)))
        return house.home_of(sensor)
    device = the_device(house, device_id or "")
    if event not in DEVICE_EVENTS:
        text = f"a device never goes {event}; it goes {', '.join(DEVICE_EVENTS)}"
        refuse("unsupported", text, events=list(DEVICE_EVENTS))
    require_capability(device, DEVICE_EVENTS[event][0])
    return house.home_of(device)


@tool(
    "write",
    phrases=(
        "Please {action} {automation_id}",
        "I want you to {action} {automation_id}",
        "Go ahead and {action} {automation_id}",
    ),
    refuses=("not_found", "no_change"),
    sample=samples.toggle,
)
def toggle_automation(
    house: House, automation_id: AutomationId, action: Literal["enable", "disable"]
) -> AutomationItem:
    """Enable or disable an automation; a disabled one never runs.

    Args:
        automation_id: The automation.
        action: What to do.
    """
    row = house.automations.get(automation_id)
    if row is None:
        text = f"there is no automation {automation_id[:40]!r}; list_automations shows them"
        refuse("not_found", text)
    if row.enabled == (action == "enable"):
        refuse("no_change", f"the automation {row.name!r} is {action}d already")
    row = house.automations.update(row, enabled=action == "enable")
    pass_minute(house, Effects())
    return automation_item(house, row)


# -- schedules -----------------------------------------------------------------------------


@tool(
    "write",
    phrases=(
        "Schedule {device_id} to go {action} at {at} on these days: {days}",
        "Have {device_id} do this {days} at {at}: {action}",
        "Add a {days} schedule at {at} for {device_id}: {action}",
    ),
    refuses=("not_found", "unsupported", "schedule_conflict"),
    sample=samples.new_schedule,
)
def schedule_device(
    house: House, device_id: DeviceId, action: Action, at: Clock, days: Days
) -> ScheduleItem:
    """Let a device act at a time of day (UTC).

    Args:
        device_id: The device.
        action: On or off with power, open or close a blind, lock a lock.
        at: When.
        days: On which days.
    """
    device = the_device(house, device_id)
    require_capability(device, ACTIONS[action][0])
    if action in ("open", "close") and device.kind != "blind":
        refuse("unsupported", f"only blinds open and close; the {device.name} is a {device.kind}")
    for other in house.schedules.where(device_id=device.id, at=at):
        if matching(other.days, days):
            text = f"the {device.name} has a {other.days} schedule at {at} already: {other.action}"
            refuse("schedule_conflict", f"{text}; choose another time or cancel that one")
    row = Schedule(house.schedules.new_id(), device.id, at, days, action)
    house.schedules.put(row)
    pass_minute(house, Effects())
    return schedule_item(house, row)


@tool(
    "write",
    phrases=(
        "Cancel {schedule_id}",
        "Delete {schedule_id}",
        "Remove {schedule_id}, I no longer need it",
    ),
    refuses=("not_found",),
    sample=samples.old_schedule,
)
def cancel_device_schedule(house: House, schedule_id: ScheduleId) -> ScheduleItem:
    """Cancel a schedule of a device for good; get_device shows its schedules.

    Args:
        schedule_id: The schedule.
    """
    row = house.schedules.get(schedule_id)
    if row is None:
        text = f"there is no schedule {schedule_id[:40]!r}; get_device shows a device's schedules"
        refuse("not_found", text)
    gone = schedule_item(house, row)
    house.schedules.delete(row.id)
    pass_minute(house, Effects())
    return gone
