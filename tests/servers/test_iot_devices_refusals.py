"""Each refusal of the smart home comes about as it should; broken rows are noticed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from provegym.servers.iot_devices import SERVER
from provegym.servers.iot_devices.rules import violations
from provegym.servers.iot_devices.state import Setting
from tests.servers.iot_devices_home import Hub, calm
from tests.servers.talk import declared

Scenario = Callable[[Hub], dict[str, Any]]

COMMANDS: dict[str, tuple[str, dict[str, Any]]] = {
    "switch_device": ("Kitchen oven", {"power": "off"}),
    "set_light": ("Living Room ceiling light", {"brightness": 40}),
    "set_thermostat": ("Bedroom radiator", {"temperature": 21}),
    "set_device_level": ("Kids Room speaker", {"percent": 30}),
    "operate_door_lock": ("Garage door lock", {"action": "lock"}),
    "start_appliance": ("Kitchen oven", {"program": "grill"}),
    "set_child_lock": ("Kitchen oven", {"state": "on"}),
}
"""A device that each command is for, and what to say to it."""


def _command(
    tool: str, name: str = "", said: dict[str, Any] | None = None, **state: Any
) -> Scenario:
    """The command to its device, or the one named, in that state."""
    device, usual = COMMANDS[tool]

    def make(h: Hub) -> dict[str, Any]:
        row = h.device(name or device, **state)
        return {"device_id": row.id, **(said or usual)}

    return make


UNABLE = {
    "switch_device": "Bedroom blind",
    "set_light": "Garage light",
    "set_thermostat": "Garage light",
    "set_device_level": "Garage light",
    "operate_door_lock": "Garage light",
    "start_appliance": "Garage light",
    "set_child_lock": "Garage light",
}
_NO = {
    "home_id": "home_none",
    "room_id": "room_none",
    "device_id": "dev_none",
    "sensor_id": "sen_none",
    "scene_id": "scn_none",
    "automation_id": "aut_none",
    "schedule_id": "sch_none",
}


def _code(h: Hub, *, new: bool) -> str:
    return next(d.setup_code for d in h.house.devices if bool(d.room_id) != new)


def _pairing(h: Hub, **given: Any) -> dict[str, Any]:
    usual = {"setup_code": _code(h, new=True), "room_id": h.room("Office").id, "name": "Spot"}
    return {**usual, **given}


def _automation(h: Hub, **given: Any) -> dict[str, Any]:
    usual = {"name": "New", "event": "on", "device_id": h.device("Garage light").id}
    return {**usual, "scene_id": h.scene("Dinner").id, **given}


def _schedule(h: Hub, **given: Any) -> dict[str, Any]:
    usual = {"device_id": h.device("Garage light").id, "action": "on"}
    return {**usual, "at": "12:00", "days": "daily", **given}


def _scene_of(h: Hub, name: str, **state: Any) -> dict[str, Any]:
    return {"name": "New", "device_ids": [h.device(name, **state).id]}


def _far_device(h: Hub) -> str:
    far = list(h.house.homes)[1].id
    return next(
        d.id for d in h.house.devices if d.room_id and d.online and h.house.home_of(d) == far
    )


def _unchanged_scene(h: Hub) -> dict[str, Any]:
    h.device("Patio string lights", on=True)
    h.device("Garage light", on=True)
    return {"scene_id": h.scene("Garden evening").id}


def _unreachable_scene(h: Hub) -> dict[str, Any]:
    h.device("Patio string lights", on=False, online=False)
    h.device("Garage light", on=True)
    return {"scene_id": h.scene("Garden evening").id}


def _conflict(h: Hub) -> dict[str, Any]:
    h.ok("schedule_device", **_schedule(h, days="weekends", action="off"))
    return _schedule(h)


def _open_zone(h: Hub) -> dict[str, Any]:
    h.sensor("Kitchen window sensor", base=1.0, offline_since="")
    home = h.house.homes.update(next(iter(h.house.homes)), mode="home")
    return {"home_id": home.id, "mode": "away"}


def _same_mode(h: Hub) -> dict[str, Any]:
    home = next(iter(h.house.homes))
    return {"home_id": home.id, "mode": home.mode}


def _open_door(h: Hub) -> dict[str, Any]:
    h.sensor("Garage door sensor", base=1.0, offline_since="")
    return {"device_id": h.device("Garage door lock", locked=False).id, "action": "lock"}


SCENARIOS: dict[tuple[str, str], Scenario] = {
    ("set_home_mode", "zone_open"): _open_zone,
    ("set_home_mode", "no_change"): _same_mode,
    ("pair_device", "unknown_setup_code"): lambda h: _pairing(h, setup_code="999-99-999"),
    ("pair_device", "already_paired"): lambda h: _pairing(h, setup_code=_code(h, new=False)),
    ("pair_device", "not_found"): lambda h: _pairing(h, room_id="room_none"),
    ("pair_device", "name_taken"): lambda h: _pairing(h, name="kitchen OVEN"),
    ("update_device", "no_change"): lambda h: {"device_id": h.device("Office fan").id},
    ("update_device", "different_home"): lambda h: {
        "device_id": h.device("Office fan").id,
        "room_id": h.house.devices[_far_device(h)].room_id,
    },
    ("update_device", "name_taken"): lambda h: {
        "device_id": h.device("Office fan").id,
        "name": "Bedroom fan",
    },
    ("get_energy_usage", "not_metered"): lambda h: {"device_id": h.device("Garage light").id},
    ("switch_device", "no_change"): _command("switch_device", on=False),
    ("set_light", "no_change"): _command("set_light", on=True, brightness=40),
    ("set_light", "out_of_range"): _command("set_light", said={"color_temperature": 2199}),
    ("set_thermostat", "no_change"): _command("set_thermostat", target_temperature=21.0),
    ("set_thermostat", "out_of_range"): _command("set_thermostat", said={"temperature": 4.5}),
    ("set_device_level", "no_change"): _command("set_device_level", level=30),
    ("set_device_level", "out_of_range"): _command("set_device_level", said={"percent": 61}),
    ("set_device_level", "low_battery"): _command("set_device_level", "Office blind", battery=15),
    ("operate_door_lock", "no_change"): _command("operate_door_lock", locked=True),
    ("operate_door_lock", "door_open"): _open_door,
    ("operate_door_lock", "wrong_pin"): _command(
        "operate_door_lock", said={"action": "unlock", "pin": "0001"}, locked=True, pin="0002"
    ),
    ("start_appliance", "already_running"): _command(
        "start_appliance", program="bake", ends_at="2030-01-01T00:00:00+00:00"
    ),
    ("start_appliance", "low_battery"): _command(
        "start_appliance", "Living Room robot vacuum", {"program": "spot"}, battery=3
    ),
    ("set_child_lock", "no_change"): _command("set_child_lock", child_lock=True),
    ("create_scene", "not_found"): lambda h: {"name": "New", "device_ids": ["dev_none"]},
    ("create_scene", "unsupported"): lambda h: _scene_of(h, "Kitchen oven"),
    ("create_scene", "offline"): lambda h: _scene_of(h, "Garage light", online=False),
    ("create_scene", "different_home"): lambda h: {
        "name": "New",
        "device_ids": [h.device("Garage light").id, h.device(_far_lamp(h)).id],
    },
    ("create_scene", "name_taken"): lambda h: {
        **_scene_of(h, "Garage light"),
        "name": "movie NIGHT",
    },
    ("activate_scene", "no_change"): _unchanged_scene,
    ("activate_scene", "unreachable"): _unreachable_scene,
    ("create_automation", "not_found"): lambda h: _automation(h, scene_id="scn_none"),
    ("create_automation", "unsupported"): lambda h: _automation(h, event="locked"),
    ("create_automation", "different_home"): lambda h: _automation(
        h, scene_id=h.scene("Warm arrival").id
    ),
    ("create_automation", "name_taken"): lambda h: _automation(h, name="Film time"),
    ("toggle_automation", "no_change"): lambda h: {
        "automation_id": next(iter(h.house.automations)).id,
        "action": "disable",
    },
    ("schedule_device", "not_found"): lambda h: _schedule(h, device_id="dev_none"),
    ("schedule_device", "unsupported"): lambda h: _schedule(h, action="open"),
    ("schedule_device", "schedule_conflict"): _conflict,
    **{(tool, "unsupported"): _command(tool, name) for tool, name in UNABLE.items()},
    **{(tool, "offline"): _command(tool, online=False) for tool in COMMANDS},
    **{(tool, "child_locked"): _command(tool, child_lock=True) for tool in COMMANDS},
    ("set_thermostat", "low_battery"): _command("set_thermostat", battery=15),
    ("operate_door_lock", "low_battery"): _command("operate_door_lock", battery=15),
}


def _far_lamp(h: Hub) -> str:
    far = list(h.house.homes)[1].id
    return next(
        d.name for d in h.house.devices.where(model="Lumo Dim") if h.house.home_of(d) == far
    )  # fmt: skip


def _unknown(tool: str) -> Scenario:
    """The first parameter that refers to a row names none; the rest is made up."""
    t = SERVER.tools[tool]
    ref = next(p.name for p in t.parameters if p.name in _NO)
    rest = {
        **{p.name: p.choices[0] for p in t.parameters if p.choices and p.name in t.required},
    }
    usual: dict[str, Any] = {"percent": 10} if tool == "set_device_level" else {}
    return lambda h: {**rest, **usual, ref: _NO[ref]}


@pytest.mark.parametrize(("tool", "code"), declared(SERVER))
def test_each_declared_refusal_comes_about(tool: str, code: str) -> None:
    h = calm()
    make = SCENARIOS.get((tool, code)) or (_unknown(tool) if code == "not_found" else None)
    assert make is not None, "no scenario"
    assert h.refused(tool, **make(h))["code"] == code


@pytest.mark.parametrize(
    ("tool", "given", "code"),
    [
        ("set_light", {}, "nothing_to_set"),
        ("set_thermostat", {}, "nothing_to_set"),
    ],
)
def test_a_command_that_sets_nothing_is_refused(
    tool: str, given: dict[str, Any], code: str
) -> None:
    h = calm()
    row = h.device(COMMANDS[tool][0])
    assert h.refused(tool, device_id=row.id, **given)["code"] == code


def test_an_automation_watches_one_thing_and_a_limit_needs_a_number() -> None:
    h = calm()
    both = _automation(h, sensor_id=h.sensor("Office thermometer").id)
    assert h.refused("create_automation", **both)["code"] == "one_trigger"
    limit = {**both, "event": "above"}
    del limit["device_id"]
    assert h.refused("create_automation", **limit)["code"] == "bad_threshold"
    assert h.ok("create_automation", **limit, threshold=25)["when"].endswith("goes above 25")
    assert h.refused("create_scene", name="Empty", device_ids=[])["code"] == "no_devices"


def test_a_weak_battery_still_takes_what_moves_nothing() -> None:
    h = calm()
    valve = h.device("Bedroom radiator", battery=2)
    assert h.ok("set_child_lock", device_id=valve.id, state="on")["child_lock"] == "on"


# -- the invariants themselves -----------------------------------------------------------------


def _no_such_ability(h: Hub) -> None:
    h.device("Garage light", brightness=50)


def _too_hot(h: Hub) -> None:
    h.device("Bedroom radiator", target_temperature=35.0)


def _twin_names(h: Hub) -> None:
    h.house.devices.update(h.device("Garage light"), name="kitchen oven")


def _wrong_reading(h: Hub) -> None:
    row = next(iter(h.house.readings))
    h.house.readings.update(row, value=row.value + 1)


def _foreign_scene(h: Hub) -> None:
    scene = h.scene("Dinner")
    setting = Setting(h.house.devices.where(name=_far_lamp(h))[0].id, "power", 1)
    h.house.scenes.update(scene, settings=(setting,))


def _impossible_setting(h: Hub) -> None:
    setting = Setting(h.device("Garage light").id, "level", 10)
    h.house.scenes.update(h.scene("Dinner"), settings=(setting,))


def _lost_trigger(h: Hub) -> None:
    row = h.house.automations.where(trigger="device")[0]
    h.house.automations.update(row, device_id="")


def _double_schedule(h: Hub) -> None:
    made = h.ok("schedule_device", **_schedule(h))
    row = h.house.schedules[made["id"]]
    h.house.schedules.put(type(row)("sch_twin", row.device_id, row.at, "weekends", "off"))


def _energy_of_today(h: Hub) -> None:
    h.house.energy.update(next(iter(h.house.energy)), day=h.house.today)


def _endless_program(h: Hub) -> None:
    h.device("Kitchen oven", program="bake", ends_at="")


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (_no_such_ability, "which Lumo Switch cannot"),
        (_too_hot, "which Heatwise Valve cannot"),
        (_twin_names, "share a name"),
        (_wrong_reading, "not what its sensor read"),
        (_foreign_scene, "reaches into another home"),
        (_impossible_setting, "sets level to 10"),
        (_lost_trigger, "has not just its device"),
        (_double_schedule, "meets another one"),
        (_energy_of_today, "which is not over"),
        (_endless_program, "runs 'bake' until ''"),
    ],
)
def test_broken_rows_are_noticed(harm: Callable[[Hub], None], said: str) -> None:
    h = calm()
    assert list(violations(h.house)) == []
    harm(h)
    assert any(said in line for line in violations(h.house))
