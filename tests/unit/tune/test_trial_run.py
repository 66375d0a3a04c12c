"""A program, or the device it runs on, is lost: only the candidate that ran has failed."""

from collections.abc import Callable
from pathlib import Path

import pytest

from ago.errors import DeviceError
from ago.runtime.transport import Finished
from ago.tune.trial_program import TrialProgram
from ago.tune.trial_run import Limits, run_trials

LIMITS = Limits(patience_seconds=0.3)


class Scripted:
    """A device that does as it is told, one step for each run."""

    name = "scripted"

    def __init__(self, *steps: Callable[[], Finished]) -> None:
        self.steps = list(steps)
        self.commands: list[tuple[str, ...]] = []
        self.answers = True

    def reachable(self) -> bool:
        return self.answers

    def push(self, files: dict[str, Path]) -> None: ...

    def run(self, command, timeout_seconds: float) -> Finished:
        self.commands.append(tuple(command))
        return self.steps.pop(0)()


def program(count: int) -> TrialProgram:
    return TrialProgram(tuple(range(count)), {}, {}, 0)


def line(state: str, signal: int = 0, times: str = "") -> str:
    return f'{{"state": "{state}", "signal": {signal}, "error": 2000000, "times": [{times}]}}\n'


def ended(stdout: str, code: int | None = 0, stderr: str = "", **how):
    return lambda: Finished(code, stdout, stderr, **how)


def refused() -> Finished:
    raise DeviceError("connection refused")


def test_every_state_is_read():
    text = "".join(
        [
            '{"begin": 0}\nsome warning of a shell\n',
            line("ok", times="2000, 1000"),
            line("wrong"),
            line("memory"),
            line("died", 14),
            line("died", 9),
            line("died", 4),
            line("died", 0),
            line("ok"),
        ]
    )
    endings = run_trials(program(8), Scripted(ended(text)), LIMITS)
    assert [e.status for e in endings] == [
        "ok",
        "wrong",
        "memory",
        "timeout",
        "memory",
        "crash",
        "crash",
        "crash",
    ]
    assert endings[0].times == pytest.approx((2e-6, 1e-6))
    assert endings[5].reason == "SIGILL"
    assert "0.002" in endings[1].reason


def test_the_candidate_that_ran_when_the_device_was_lost_has_failed():
    lost = ended('{"begin": 0}\n{"begin": 1}\n{"beg', None, reason="connection closed")
    rest = ended(line("ok", times="5") + line("skipped") + line("ok", times="6"))
    device = Scripted(lost, rest)
    endings = run_trials(program(3), device, LIMITS)
    assert [e.status for e in endings] == ["ok", "crash", "ok"]
    assert endings[1].reason == "connection closed"
    assert device.commands[1][-2:] == ("--skip", "1")


def test_a_device_that_is_lost_every_time_ends_every_trial():
    steps = [ended(f'{{"begin": {k}}}\n', None, reason="3 s", timed_out=True) for k in range(3)]
    endings = run_trials(program(3), Scripted(*steps), LIMITS)
    assert [e.status for e in endings] == ["timeout"] * 3


def test_a_program_that_cannot_begin_fails_all_with_its_reason():
    full = ended("", 1, "error: file too short: ago_trial.data\n")
    endings = run_trials(program(2), Scripted(full), LIMITS)
    assert [(e.status, e.reason) for e in endings] == [
        ("crash", "error: file too short: ago_trial.data")
    ] * 2


def test_a_device_that_comes_back_goes_on():
    told: list[str] = []
    device = Scripted(refused, ended(line("ok", times="7")))
    endings = run_trials(program(1), device, LIMITS, tell=told.append)
    assert endings[0].status == "ok"
    assert told == ["waiting for scripted: connection refused"]


def test_a_device_that_answers_but_refuses_fails_the_trials():
    device = Scripted(refused, refused, refused)
    endings = run_trials(program(2), device, LIMITS)
    assert [(e.status, e.reason) for e in endings] == [("crash", "connection refused")] * 2


def test_a_device_that_stays_away_is_an_error():
    device = Scripted(refused)
    device.answers = False
    with pytest.raises(DeviceError, match=r"scripted could not be reached for 0\.3 s"):
        run_trials(program(2), device, LIMITS)
