"""A session of the smart home and how tests talk to it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import msgspec

from provegym.servers.iot_devices import SERVER
from provegym.servers.iot_devices.state import Device, House, Room, Scene, Sensor
from provegym.world.world import World
from tests.servers.talk import Talk


@lru_cache
def world(seed: int) -> World:
    return World(seed, [SERVER])


@dataclass(frozen=True)
class Hub(Talk):
    """One session and the typed view of it."""

    house: House

    def device(self, name: str, **state: Any) -> Device:
        """The device of that name, brought into a state that obeys, and then into `state`."""
        row = self.house.devices.where(name=name)[0]
        fine: dict[str, Any] = {"online": True, "child_lock": False}
        if row.of.battery:
            fine["battery"] = 90
        return self.house.devices.update(row, **{**fine, **state})

    def now(self, device: Device) -> Device:
        return self.house.devices[device.id]

    def room(self, name: str) -> Room:
        return self.house.rooms.where(name=name)[0]

    def sensor(self, name: str, **state: Any) -> Sensor:
        return self.house.sensors.update(self.house.sensors.where(name=name)[0], **state)

    def scene(self, name: str) -> Scene:
        return self.house.scenes.where(name=name)[0]

    def all_shut(self) -> None:
        """No door or window ever reports open, or has."""
        for sensor in self.house.sensors.where(kind="contact"):
            self.house.sensors.update(sensor, base=0.0)
            for reading in self.house.readings.where(sensor_id=sensor.id):
                self.house.readings.delete(reading.id)

    def quiet(self) -> None:
        """Nothing runs by itself."""
        for automation in list(self.house.automations):
            self.house.automations.update(automation, enabled=False)
        for schedule in list(self.house.schedules):
            self.house.schedules.delete(schedule.id)

    def skip(self, minutes: int) -> None:
        """Let that many minutes pass in which nobody calls."""
        now = self.session.snapshot()
        self.session.restore(msgspec.structs.replace(now, writes=now.writes + minutes))


def hub(seed: int = 5) -> Hub:
    session = world(seed).open()
    house = session.state("iot_devices")
    assert isinstance(house, House)
    return Hub(session, house)


def calm(seed: int = 5) -> Hub:
    """A hub without automations, schedules or open doors."""
    h = hub(seed)
    h.quiet()
    h.all_shut()
    return h
