"""What a sensor reads at a moment: a pure function of the sensor and the time.

Sensors report every quarter of an hour. Measured values follow a daily wave that peaks at 15:00;
doors and motion change at random every half hour. Only whole arithmetic and triangular waves are
used, so that every machine computes the same digits.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Literal

from provegym.servers.iot_devices.state import Sensor

REPORT_MINUTES = 15
"""How often a sensor reports."""
_HALF_HOUR = 30
_MASK = (1 << 64) - 1
_PEAK_HOUR = 15

Condition = Literal["above", "below", "active", "clear", "open", "closed"]

UNITS: dict[str, str] = {
    "temperature": " °C",
    "humidity": " %",
    "air_quality": " ppm CO2",
    "light_level": " lux",
}
"""How the value of a measuring sensor ends."""
STATES: dict[str, tuple[Condition, Condition]] = {
    "contact": ("closed", "open"),
    "motion": ("clear", "active"),
    "water_leak": ("clear", "active"),
    "smoke": ("clear", "active"),
}
"""What 0 and 1 of a two-state sensor mean."""


def conditions(kind: str) -> tuple[Condition, Condition]:
    """What an automation can wait for at a sensor of that kind."""
    return STATES.get(kind, ("above", "below"))


def reported_at(sensor: Sensor, now: datetime) -> datetime:
    """When the sensor last reported: the last quarter hour, or before it went offline."""
    latest = now - timedelta(minutes=now.minute % REPORT_MINUTES, seconds=now.second)
    if sensor.offline_since:
        return min(latest, datetime.fromisoformat(sensor.offline_since))
    return latest


def value_at(sensor: Sensor, when: datetime) -> float:
    """The value that the sensor reported last at that time; 0 or 1 of a two-state sensor."""
    at = reported_at(sensor, when)
    minutes = int(at.timestamp()) // 60
    if sensor.kind in STATES:
        return float(_noise(sensor.salt, minutes // _HALF_HOUR) < sensor.base)
    hour = (minutes // REPORT_MINUTES % 96) / 4
    wave = 1 - min(abs(hour - _PEAK_HOUR), 24 - abs(hour - _PEAK_HOUR)) / 6
    jitter = (_noise(sensor.salt, minutes // REPORT_MINUTES) - 0.5) / 4
    value = sensor.base + sensor.swing * (wave + jitter)
    return round(value, 1) if sensor.kind == "temperature" else float(max(0, round(value)))


def spoken(kind: str, value: float) -> str:
    """A value as people read it: "21.4 °C", "open"."""
    if kind in STATES:
        return STATES[kind][int(value)]
    return (f"{value:.1f}" if kind == "temperature" else f"{value:.0f}") + UNITS[kind]


def holds(condition: str, threshold: float, value: float) -> bool:
    """Whether a value meets an automation's condition."""
    if condition == "above":
        return value > threshold
    if condition == "below":
        return value < threshold
    return bool(value) == (condition in ("active", "open"))


def _noise(salt: int, step: int) -> float:
    """A number of [0, 1) for each step, by the finaliser of SplitMix64 (Steele et al. 2014)."""
    z = (salt + 0x9E3779B97F4A7C15 * (step + 1)) & _MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    return ((z ^ (z >> 31)) >> 11) / (1 << 53)
