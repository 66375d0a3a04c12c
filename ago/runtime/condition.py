"""The clock and the temperature of a device.

Read `Condition` first. A phone that has become hot runs at a lower clock: times taken before and
after do not belong together.
"""

from __future__ import annotations

from dataclasses import dataclass

from ago.runtime.transport import Transport

_CLOCKS = "/sys/devices/system/cpu/cpu*/cpufreq/scaling_cur_freq"  # kHz
_TEMPERATURES = "/sys/class/thermal/thermal_zone*/temp"  # thousandths of a degree
_HOTTEST = 150.0  # what reads as more is no temperature
_SLOWED = 0.95
_DRIFTED = 1.1


@dataclass(frozen=True, slots=True)
class Condition:
    """A device at one moment.

    Attributes:
        megahertz: The clock of its fastest core; None where it does not tell.
        celsius: Its hottest sensor; None where it has none.
    """

    megahertz: float | None = None
    celsius: float | None = None

    @classmethod
    def of(cls, device: Transport) -> Condition:
        """Read a device's clock and sensors."""
        clocks = _numbers(device.read(_CLOCKS))
        sensors = [t for t in _numbers(device.read(_TEMPERATURES)) if 0 < t / 1e3 < _HOTTEST]
        return cls(max(clocks) / 1e3 if clocks else None, max(sensors) / 1e3 if sensors else None)

    def slowed_since(self, before: Condition) -> bool:
        """Whether the clock is lower than it was."""
        if self.megahertz is None or before.megahertz is None:
            return False
        return self.megahertz < _SLOWED * before.megahertz

    def to_dict(self) -> dict[str, float | None]:
        """The condition as plain data."""
        return {"megahertz": self.megahertz, "celsius": self.celsius}

    def __str__(self) -> str:
        parts = [] if self.megahertz is None else [f"{self.megahertz:.0f} MHz"]
        parts += [] if self.celsius is None else [f"{self.celsius:.0f} °C"]
        return ", ".join(parts) or "neither clock nor temperature known"


@dataclass(frozen=True, slots=True)
class Visit:
    """What a device was like while a model ran on it.

    Attributes:
        device: Its name.
        before: When the model had been run for the first time.
        after: When it had been timed.
        drift: Time of the last runs over that of the first ones.
    """

    device: str
    before: Condition
    after: Condition
    drift: float = 1.0

    @property
    def warning(self) -> str:
        """Why the times are those of a device that slowed down; empty if it did not."""
        if self.after.slowed_since(self.before):
            return f"the clock fell from {self.before} to {self.after}: let the device cool down"
        if self.drift > _DRIFTED:
            return (
                f"the last runs took {self.drift:.2f} x as long as the first: the device is "
                "throttled or busy; let it cool down and end other work"
            )
        return ""

    def to_dict(self) -> dict[str, object]:
        """The visit as plain data."""
        return {
            "name": self.device,
            "before": self.before.to_dict(),
            "after": self.after.to_dict(),
            "drift": round(self.drift, 4),
            "warning": self.warning,
        }

    def __str__(self) -> str:
        text = f"on {self.device}: before {self.before}; after {self.after}"
        return f"{text}\nwarning: {self.warning}" if self.warning else text


def _numbers(text: str) -> list[float]:
    return [float(word) for word in text.split() if word.lstrip("-").isdecimal()]
