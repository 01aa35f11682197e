"""The rows of a smart home.

A device's state is one field for each capability; a field whose capability the model lacks keeps
its default for ever. A row of `energy` is what one device used on one finished day.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, ClassVar, Literal

from msgspec import Struct

from provegym.servers.iot_devices.models import MODELS, Capability, Climate, Kind, Model
from provegym.world.fields import CLOCK, DATE, SENSITIVE, Format, Ref, Stamp
from provegym.world.server import State
from provegym.world.table import Row, table

HomeId = Annotated[str, Ref("iot_devices.homes")]
RoomId = Annotated[str, Ref("iot_devices.rooms")]
DeviceId = Annotated[str, Ref("iot_devices.devices")]
SensorId = Annotated[str, Ref("iot_devices.sensors")]
SceneId = Annotated[str, Ref("iot_devices.scenes")]
AutomationId = Annotated[str, Ref("iot_devices.automations")]
ScheduleId = Annotated[str, Ref("iot_devices.schedules")]


def _is_setup_code(text: str) -> bool:
    parts = text.split("-")
    return [len(p) for p in parts] == [3, 2, 3] and text.isascii() and "".join(parts).isdecimal()


PIN = Format("pin", "Four digits.", lambda text: len(text) == 4 and text.isdecimal())
SETUP_CODE = Format("setup_code", 'Eight digits, e.g. "031-45-154".', _is_setup_code)
Pin = Annotated[str, PIN, SENSITIVE]
SetupCode = Annotated[str, SETUP_CODE, SENSITIVE]
Day = Annotated[str, DATE]

Mode = Literal["home", "away", "night", "vacation"]
Floor = Literal["basement", "ground", "upper", "outdoor"]
SensorKind = Literal[
    "temperature",
    "humidity",
    "air_quality",
    "light_level",
    "contact",
    "motion",
    "water_leak",
    "smoke",
]
Event = Literal[
    "above", "below", "active", "clear", "open", "closed", "on", "off", "locked", "unlocked"
]
Trigger = Literal["sensor", "device", "mode"]
Days = Literal["daily", "weekdays", "weekends"]
Action = Literal["on", "off", "open", "close", "lock"]

LOW_BATTERY = 15
"""Percent from which on a battery moves nothing heavy any more."""

DEVICE_EVENTS: dict[str, tuple[Capability, float]] = {
    "on": ("power", 1),
    "off": ("power", 0),
    "locked": ("lock", 1),
    "unlocked": ("lock", 0),
}
"""What a device event means: a capability that comes to a value."""
ACTIONS: dict[str, tuple[Capability, float]] = {
    "on": ("power", 1),
    "off": ("power", 0),
    "open": ("level", 100),
    "close": ("level", 0),
    "lock": ("lock", 1),
}
"""What a schedule's action sets."""
FIELDS: dict[str, str] = {
    "power": "on",
    "brightness": "brightness",
    "color_temperature": "color_temperature",
    "target_temperature": "target_temperature",
    "level": "level",
    "lock": "locked",
}
"""The field of a device that holds each capability that scenes and schedules can set."""


class Home(Row, frozen=True):
    """A home; `tariff` is the price of a kWh in US cents."""

    label: ClassVar[str] = "the {name}"
    id: HomeId
    name: str
    city: str
    mode: Mode
    tariff: int


class Room(Row, frozen=True):
    """A room of a home, or a place around it."""

    label: ClassVar[str] = "the {name}"
    id: RoomId
    home_id: HomeId
    name: str
    floor: Floor


class Device(Row, frozen=True):
    """A device that takes commands. Without a room it is not set up yet.

    `battery` is in percent, -1 on mains. `target_temperature` is in degrees Celsius. `level` is
    how far a blind is open, how fast a fan turns, how loud a speaker plays, in percent.
    """

    label: ClassVar[str] = "the {name}"
    id: DeviceId
    room_id: RoomId
    name: str
    model: str
    setup_code: SetupCode
    online: bool = True
    battery: int = -1
    on: bool = False
    brightness: int = 0
    color_temperature: int = 0
    target_temperature: float = 0.0
    climate: Climate = "off"
    level: int = 0
    locked: bool = False
    pin: Pin = ""
    child_lock: bool = False
    program: str = ""
    ends_at: Stamp = ""

    @property
    def of(self) -> Model:
        """Its model."""
        return MODELS[self.model]

    @property
    def kind(self) -> Kind:
        """What sort of device it is."""
        return self.of.kind


class Sensor(Row, frozen=True):
    """A sensor. `sensing.value_at` says what it reads when.

    A measured value swings by `swing` around `base`; of a two-state sensor `base` is the share of
    half hours in which it reports. `guards` is the lock whose door a contact sensor watches.
    """

    label: ClassVar[str] = "the {name}"
    id: SensorId
    room_id: RoomId
    name: str
    kind: SensorKind
    battery: int
    base: float
    swing: float
    salt: int
    guards: DeviceId = ""
    offline_since: str = ""


class Reading(Row, frozen=True):
    """A value that a sensor logged."""

    id: str
    sensor_id: SensorId
    at: Stamp
    value: float


class Setting(Struct, frozen=True, gc=False):
    """What a scene sets on one device; switches and locks are 0 or 1."""

    device_id: DeviceId
    capability: Capability
    value: float


class Scene(Row, frozen=True):
    """Settings of several devices that are made at once."""

    label: ClassVar[str] = 'the "{name}" scene'
    id: SceneId
    home_id: HomeId
    name: str
    settings: tuple[Setting, ...]
    last_run_at: Stamp = ""


class Automation(Row, frozen=True):
    """Runs a scene when `event` comes about at its sensor, its device, or as its home's mode."""

    label: ClassVar[str] = 'the "{name}" automation'
    id: AutomationId
    home_id: HomeId
    name: str
    trigger: Trigger
    event: str
    scene_id: SceneId
    sensor_id: SensorId = ""
    device_id: DeviceId = ""
    threshold: float = 0.0
    enabled: bool = True
    last_run_at: Stamp = ""


class Schedule(Row, frozen=True):
    """An action on a device at a time of day (UTC)."""

    label: ClassVar[str] = "the {at} {days} schedule of the {device}"
    id: ScheduleId
    device_id: DeviceId
    at: Annotated[str, CLOCK]
    days: Days
    action: Action
    last_run_at: Stamp = ""


class EnergyDay(Row, frozen=True):
    """What a device used on one finished day, in watt-hours."""

    id: str
    device_id: DeviceId
    day: Day
    wh: int


class House(State):
    """One session's view of the user's homes."""

    server = "iot_devices"
    homes = table(Home, "home")
    rooms = table(Room, "room")
    devices = table(Device, "dev")
    sensors = table(Sensor, "sen")
    readings = table(Reading, "rdg")
    scenes = table(Scene, "scn")
    automations = table(Automation, "aut")
    schedules = table(Schedule, "sch")
    energy = table(EnergyDay, "nrg")

    @property
    def today(self) -> str:
        """The session's date."""
        return self.now.date().isoformat()

    def home_of(self, device: Device | Sensor) -> str:
        """The id of the home that a set-up device or a sensor is in."""
        return self.rooms[device.room_id].home_id


def running(device: Device, now: datetime) -> bool:
    """Whether a program is under way."""
    return bool(device.ends_at) and datetime.fromisoformat(device.ends_at) > now


def fits(model: Model, capability: str, value: float) -> bool:
    """Whether a model can be set to that value."""
    if capability not in model.capabilities:
        return False
    if capability in ("power", "lock"):
        return value in (0, 1)
    if capability in ("target_temperature", "color_temperature"):
        return model.range[0] <= value <= model.range[1]
    if capability == "brightness":
        return 1 <= value <= 100
    return capability == "level" and 0 <= value <= model.max_level


def matching(first: str, second: str) -> bool:
    """Whether two sets of days have a day in common."""
    return first == second or "daily" in (first, second)
