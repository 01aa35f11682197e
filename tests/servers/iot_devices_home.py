"""A session of the smart home and how tests talk to it."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from provegym.servers.iot_devices import SERVER
from provegym.servers.iot_devices.state import Device, House, Room, Scene, Sensor
from provegym.world.session import Session
from provegym.world.world import World


@lru_cache
def world(seed: int) -> World:
    return World(seed, [SERVER])


class Hub(NamedTuple):
    """One session and the typed view of it."""

    session: Session
    house: House

    def ok(self, tool: str, **arguments: Any) -> Any:
        self._keep()
        result = self.session.call(tool, arguments)
        assert result.outcome == "ok", result
        return msgspec.json.decode(result.json())

    def _keep(self) -> None:
        """Make rows that the test itself wrote part of the state, so that no call undoes them."""
        self.session.restore(self.session.snapshot())

    def refused(self, tool: str, **arguments: Any) -> dict[str, Any]:
        self._keep()
        before = self.session.digest()
        result = self.session.call(tool, arguments)
        assert result.outcome == "tool_error", result
        assert self.session.digest() == before
        error: dict[str, Any] = result.builtins()["error"]
        return error

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
