"""The smart home: commands and what follows from them, sensors, routines, and its worlds."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from provegym.servers.iot_devices.rules import violations
from provegym.servers.iot_devices.sensing import conditions, holds, spoken, value_at
from provegym.servers.iot_devices.state import Sensor
from provegym.servers.iot_devices.views import watts
from tests.servers.iot_devices_home import calm, hub
from tests.servers.talk import agree

# -- commands ------------------------------------------------------------------------------


def test_a_dimmed_lamp_comes_on_and_says_so() -> None:
    h = calm()
    lamp = h.device("Living Room ceiling light", on=False, color_temperature=3000)
    got = h.ok("set_light", device_id=lamp.id, brightness=40)
    assert got == {"id": lamp.id, "name": lamp.name, "state": "on, 40 %, 3000 K"}
    assert (h.now(lamp).on, h.now(lamp).brightness) == (True, 40)


def test_a_fan_at_level_zero_is_off_and_comes_on_with_a_level() -> None:
    h = calm()
    fan = h.device("Office fan", on=True, level=30)
    assert h.ok("set_device_level", device_id=fan.id, percent=0)["state"] == "off"
    assert h.ok("set_device_level", device_id=fan.id, percent=70)["state"] == "on, speed 70 %"


def test_the_child_lock_keeps_all_commands_away_until_it_is_off() -> None:
    h = calm()
    oven = h.device("Kitchen oven", on=False, child_lock=True)
    call = {"device_id": oven.id, "program": "pizza"}
    assert h.refused("start_appliance", **call)["code"] == "child_locked"
    assert h.ok("set_child_lock", device_id=oven.id, state="off")["child_lock"] == "off"
    assert h.ok("start_appliance", **call)["state"] == "running pizza"


def test_a_program_ends_by_the_clock_and_can_then_be_started_again() -> None:
    h = calm()
    oven = h.device("Kitchen oven", on=False, program="", ends_at="")
    call = {"device_id": oven.id, "program": "pizza"}
    started = h.house.now
    got = h.ok("start_appliance", **call)
    assert got["ends_at"] == (started + timedelta(minutes=15)).isoformat()
    h.skip(13)
    assert h.refused("start_appliance", **call)["code"] == "already_running"
    h.skip(1)
    assert h.ok("get_device", device_id=oven.id)["state"] == "on"
    h.ok("start_appliance", **call)


def test_switching_off_ends_a_running_program() -> None:
    h = calm()
    oven = h.device("Kitchen oven", on=False, program="", ends_at="")
    h.ok("start_appliance", device_id=oven.id, program="grill")
    assert h.ok("switch_device", device_id=oven.id, power="off")["state"] == "off"
    assert h.now(oven).program == h.now(oven).ends_at == ""


def test_a_door_is_unlocked_with_its_pin_and_locked_only_when_it_is_shut() -> None:
    h = calm()
    door = h.device("Garage door lock", locked=True, pin="2468")
    call = {"device_id": door.id, "action": "unlock"}
    assert h.refused("operate_door_lock", **call)["code"] == "pin_required"
    assert h.refused("operate_door_lock", **call, pin="2469")["code"] == "wrong_pin"
    assert h.ok("operate_door_lock", **call, pin="2468")["state"] == "unlocked"
    h.sensor("Garage door sensor", base=1.0)
    lock = {"device_id": door.id, "action": "lock"}
    assert h.refused("operate_door_lock", **lock)["code"] == "door_open"
    h.sensor("Garage door sensor", base=0.0)
    assert h.ok("operate_door_lock", **lock)["state"] == "locked"


def test_a_model_keeps_its_own_limits() -> None:
    h = calm()
    valve = h.device("Bedroom radiator", target_temperature=20.0, climate="heat")
    error = h.refused("set_thermostat", device_id=valve.id, temperature=28.5)
    assert (error["code"], error["details"]) == ("out_of_range", {"minimum": 5, "maximum": 28})
    h.ok("set_thermostat", device_id=valve.id, temperature=28)
    assert h.refused("set_thermostat", device_id=valve.id, mode="cool")["code"] == "unsupported"
    speaker = h.device("Kids Room speaker", level=20)
    error = h.refused("set_device_level", device_id=speaker.id, percent=61)
    assert error["details"]["maximum"] == 60


# -- sensors -------------------------------------------------------------------------------

THERMOMETER = Sensor("sen_x", "room_x", "Attic thermometer", "temperature", 80, 20.0, 4.0, 99)


def _noon(**fields: Any) -> datetime:
    return datetime(2026, 5, 4, 12, 0, tzinfo=UTC).replace(**fields)


def test_a_reading_follows_the_wave_of_the_day() -> None:
    # the wave is 1 at 15:00, 0 six hours away and -1 twelve hours away; the jitter adds 1/8 swing
    for hour, wave in ((15, 1.0), (9, 0.0), (21, 0.0), (3, -1.0), (12, 0.5)):
        value = value_at(THERMOMETER, _noon(hour=hour))
        assert abs(value - (20 + 4 * wave)) <= 4 / 8 + 0.05


def test_a_sensor_reports_every_quarter_of_an_hour() -> None:
    values = {value_at(THERMOMETER, _noon(minute=m)) for m in range(15, 30)}
    assert len(values) == 1
    assert value_at(THERMOMETER, _noon(minute=14)) == value_at(THERMOMETER, _noon())


def test_an_offline_sensor_stays_at_what_it_reported_last() -> None:
    lost = msgspec.structs.replace(THERMOMETER, offline_since=_noon().isoformat())
    assert value_at(lost, _noon(hour=20)) == value_at(THERMOMETER, _noon())
    assert value_at(lost, _noon(hour=6)) == value_at(THERMOMETER, _noon(hour=6))


@given(st.integers(0, 2**48), st.integers(0, 10**6), st.sampled_from((0.0, 0.3, 1.0)))
@settings(max_examples=60, deadline=None)
def test_a_two_state_sensor_reads_one_of_its_two_states(
    salt: int, minute: int, rate: float
) -> None:
    door = Sensor("sen_x", "room_x", "Door", "contact", 80, rate, 0.0, salt)
    value = value_at(door, _noon() + timedelta(minutes=minute))
    assert value in {0.0: (0.0,), 0.3: (0.0, 1.0), 1.0: (1.0,)}[rate]
    assert spoken("contact", value) in conditions("contact")
    assert holds("open", 0, value) != holds("closed", 0, value)


def test_past_readings_come_newest_first_with_their_least_and_greatest() -> None:
    h = calm()
    sensor = h.sensor("Patio thermometer", offline_since="")
    got = h.ok("get_sensor_history", sensor_id=sensor.id, limit=50)
    times = [r["at"] for r in got["readings"]]
    assert times == sorted(times, reverse=True)
    numbers = [float(r["reading"].removesuffix(" °C")) for r in got["readings"]]
    assert got["lowest"] == f"{min(numbers):.1f} °C"
    assert got["highest"] == f"{max(numbers):.1f} °C"


def test_at_the_full_hour_each_living_sensor_logs_a_reading() -> None:
    h = calm()
    before = len(h.house.readings)
    h.skip(58)
    lamp = h.device("Kitchen ceiling light", on=False)
    h.ok("switch_device", device_id=lamp.id, power="on")
    assert len(h.house.readings) == before
    h.ok("switch_device", device_id=lamp.id, power="off")
    living = len(h.house.sensors.where(offline_since=""))
    assert len(h.house.readings) == before + living
    assert list(violations(h.house)) == []


# -- scenes, automations, schedules ----------------------------------------------------------


def test_a_scene_brings_back_the_state_it_was_made_of() -> None:
    h = calm()
    lamp = h.device("Office desk lamp", on=True, brightness=35, color_temperature=4000)
    fan = h.device("Office fan", on=False, level=20)
    made = h.ok("create_scene", name="As it was", device_ids=[lamp.id, fan.id, lamp.id])
    assert made["sets"] == [f"{lamp.name}: 35 %", f"{lamp.name}: 4000 K", f"{fan.name}: off"]
    h.ok("set_light", device_id=lamp.id, brightness=100, color_temperature=6000)
    h.ok("set_device_level", device_id=fan.id, percent=90)
    got = h.ok("activate_scene", scene_id=made["id"])
    assert got["changed"] == [lamp.name, fan.name]
    back = h.now(lamp)
    assert (back.brightness, back.color_temperature, h.now(fan).on) == (35, 4000, False)
    assert h.refused("activate_scene", scene_id=made["id"])["code"] == "no_change"


def test_a_scene_skips_what_does_not_obey_and_names_it() -> None:
    h = calm()
    lamp = h.device("Hallway light", on=False)
    floor = h.device("Living Room floor lamp", on=False, online=False)
    scene = h.scene("Welcome home")
    got = h.ok("activate_scene", scene_id=scene.id)
    assert (got["changed"], got["skipped"]) == ([lamp.name], [floor.name])
    assert h.refused("activate_scene", scene_id=scene.id)["code"] == "unreachable"


def test_an_automation_runs_its_scene_when_its_device_comes_on() -> None:
    h = calm()
    plug = h.device("Kitchen coffee plug", on=False)
    light = h.device("Hallway light", on=False)
    h.device("Living Room floor lamp", on=False)
    made = h.ok(
        "create_automation",
        name="Coffee light",
        event="on",
        device_id=plug.id,
        scene_id=h.scene("Welcome home").id,
    )
    assert made["when"] == "Kitchen coffee plug goes on"
    got = h.ok("switch_device", device_id=plug.id, power="on")
    assert got["automations_run"] == ["Coffee light"]
    assert (h.now(light).on, h.now(light).brightness) == (True, 80)


def test_a_disabled_automation_does_not_run() -> None:
    h = calm()
    plug = h.device("Living Room TV plug", on=False)
    row = h.house.automations.where(name="Film time")[0]
    got = h.ok("switch_device", device_id=plug.id, power="on")
    assert "automations_run" not in got
    h.ok("toggle_automation", automation_id=row.id, action="enable")
    h.ok("switch_device", device_id=plug.id, power="off")
    got = h.ok("switch_device", device_id=plug.id, power="on")
    assert got["automations_run"] == ["Film time"]


def test_two_automations_that_start_each_other_run_once_each() -> None:
    h = calm()
    one, two = h.device("Garage light", on=False), h.device("Patio string lights", on=False)
    for device, other in ((one, two), (two, one)):
        h.house.devices.update(h.now(other), on=True)
        scene = h.ok("create_scene", name=f"{other.name} on", device_ids=[other.id])
        h.house.devices.update(h.now(other), on=False)
        call = {"event": "on", "device_id": device.id, "scene_id": scene["id"]}
        h.ok("create_automation", name=f"after {device.name}", **call)
    got = h.ok("switch_device", device_id=one.id, power="on")
    assert got["automations_run"] == ["after Garage light", "after Patio string lights"]
    assert h.now(two).on


def test_a_mode_runs_the_automations_that_wait_for_it_in_that_home_alone() -> None:
    h = calm()
    for name in ("Lights out when away", "Night routine"):
        row = h.house.automations.where(name=name)[0]
        h.house.automations.update(row, enabled=True)
    light = h.device("Hallway light", on=True)
    main, far = list(h.house.homes)
    h.house.homes.update(main, mode="home")
    h.house.homes.update(far, mode="home")
    assert "automations_run" not in h.ok("set_home_mode", home_id=far.id, mode="away")
    got = h.ok("set_home_mode", home_id=main.id, mode="away")
    assert got["automations_run"] == ["Lights out when away"]
    assert not h.now(light).on


def test_a_sensor_automation_runs_when_its_condition_comes_true_and_not_while_it_holds() -> None:
    h = calm()
    sensor = h.sensor("Patio thermometer", offline_since="", swing=24.0)
    row = h.house.automations.where(name="Dusk lights")[0]
    watch = {"sensor_id": sensor.id, "event": "above", "enabled": True}
    # between 9:00 and 9:30 the wave rises by 24 / 12 = 2 degrees, give or take 6
    values = [value_at(sensor, h.house.now + timedelta(minutes=15 * i)) for i in range(40)]
    up = next(i for i in range(1, 40) if values[i] > max(values[:i]) and values[i] > values[0])
    h.house.automations.update(row, threshold=max(values[:up]), **watch)
    lamp = h.device("Kitchen ceiling light", on=False)
    h.device("Patio string lights", on=False)
    h.skip(15 * up - 1)
    got = h.ok("switch_device", device_id=lamp.id, power="on")
    assert got["automations_run"] == ["Dusk lights"]
    assert h.house.devices.where(name="Patio string lights")[0].on
    again = h.ok("switch_device", device_id=lamp.id, power="off")
    assert "automations_run" not in again


@pytest.mark.parametrize(("days", "runs"), [("weekdays", True), ("weekends", False)])
def test_a_schedule_acts_at_its_minute_on_its_days(days: str, runs: bool) -> None:
    h = calm()  # every world begins on a weekday at 09:00
    lamp = h.device("Garage light", on=False)
    made = h.ok("schedule_device", device_id=lamp.id, action="on", at="09:03", days=days)
    other = h.device("Kitchen ceiling light", on=False)
    h.ok("switch_device", device_id=other.id, power="on")
    assert not h.now(lamp).on
    h.ok("switch_device", device_id=other.id, power="off")
    assert h.now(lamp).on is runs
    assert made in h.ok("get_device", device_id=lamp.id)["schedules"]
    assert h.ok("cancel_device_schedule", schedule_id=made["id"]) == made
    assert "schedules" not in h.ok("get_device", device_id=lamp.id)


# -- setting up, energy ----------------------------------------------------------------------


def test_a_new_device_is_set_up_by_its_code_and_then_obeys() -> None:
    h = calm()
    new = next(d for d in h.house.devices if not d.room_id and d.model == "Lumo Dim")
    assert h.refused("switch_device", device_id=new.id, power="on")["code"] == "not_found"
    call = {"setup_code": new.setup_code, "room_id": h.room("Office").id, "name": "Plant light"}
    got = h.ok("pair_device", **call)
    assert (got["name"], got["room"], got["state"]) == ("Plant light", "Office", "off")
    assert h.ok("list_devices", query="plant")["devices"] == [got]
    h.ok("switch_device", device_id=new.id, power="on")


def test_usage_is_the_sum_of_the_days_asked_for_at_the_homes_tariff() -> None:
    h = calm()
    washer = h.device("Laundry Room washing machine")
    rows = sorted(h.house.energy.where(device_id=washer.id), key=lambda e: e.day)[2:5]
    for row, wh in zip(rows, (1000, 500, 250), strict=True):
        h.house.energy.update(row, wh=wh)
    got = h.ok(
        "get_energy_usage", device_id=washer.id, since=rows[0].day, until=rows[2].day
    )  # 1.75 kWh at 31 cents are 54.25 cents
    assert (got["kwh"], got["cost"]) == (1.75, "0.54")
    assert [d["name"] for d in got["devices"]] == [washer.name]


@pytest.mark.parametrize("end", [{"since": "2090-01-01"}, {"until": "1990-01-01"}])
def test_usage_outside_of_the_days_that_are_kept_is_none_over_days_in_order(
    end: dict[str, str],
) -> None:
    got = calm().ok("get_energy_usage", **end)
    assert got["kwh"] == 0
    assert got["since"] == got["until"] == next(iter(end.values()))


def test_what_a_device_draws_follows_its_state() -> None:
    h = calm()
    lamp = h.device("Living Room floor lamp", on=True, brightness=50)
    assert watts(lamp, h.house.now) == 6  # half of 12 W
    assert watts(h.device("Living Room floor lamp", on=False), h.house.now) == 0
    oven = h.device("Kitchen oven", on=True, program="", ends_at="")
    assert watts(oven, h.house.now) == 2
    h.ok("start_appliance", device_id=oven.id, program="bake")
    assert watts(h.now(oven), h.house.now) == 2100


# -- what holds in every world ---------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_a_seeded_world_is_varied(seed: int) -> None:
    h = hub(seed)
    assert {d.online for d in h.house.devices} == {True, False}
    assert {d.child_lock for d in h.house.devices} == {True, False}
    assert {a.enabled for a in h.house.automations} == {True, False}
    assert any(0 <= d.battery <= 15 for d in h.house.devices)


def test_independent_writes_in_either_order_give_the_same_changes() -> None:
    def writes(h: Any) -> list[tuple[str, dict[str, Any]]]:
        desk, blind = h.device("Office desk lamp", on=False), h.device("Bedroom blind", level=20)
        oven = h.device("Kitchen oven", on=False, program="", ends_at="")
        fan = h.device("Kids Room fan", on=True)
        scene = h.scene("Deep work").id
        trigger = {"event": "off", "device_id": fan.id, "scene_id": scene}
        return [
            ("set_light", {"device_id": desk.id, "brightness": 20}),
            ("set_device_level", {"device_id": blind.id, "percent": 75}),
            ("start_appliance", {"device_id": oven.id, "program": "bake"}),
            ("create_scene", {"name": "Calm", "device_ids": [fan.id]}),
            ("create_automation", {"name": "One", **trigger}),
            ("create_automation", {"name": "Two", **trigger}),
            (
                "schedule_device",
                {"device_id": fan.id, "action": "off", "at": "21:00", "days": "daily"},
            ),
        ]

    one, two = calm(), calm()
    calls, again = writes(one), writes(two)
    agree(one, calls, two, again)


# -- how the tools read ----------------------------------------------------------------------
