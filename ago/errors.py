"""Every error that AGO raises on purpose.

All derive from `AgoError`. Each message names the place (node, loop, buffer, file), what was wrong,
and the way out. Errors about a rule carry a short stable `code` that tests and users can match.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence


class AgoError(Exception):
    """Base of all errors that AGO raises on purpose."""


class ModelError(AgoError):
    """A model file or graph is broken: truncated, not ONNX, missing weights, open dimension."""


class ElementTypeError(ModelError):
    """An operator has no rule for the element types of its inputs."""


class UnsupportedError(AgoError):
    """A valid model uses something AGO cannot compile.

    Attributes:
        problems: One line per unsupported node, each with operator, attribute and shape.
        open_inputs: Inputs of the model at whose values compilation stopped; `ago.load` takes them
            as `constants`.
    """

    def __init__(self, problems: Sequence[str], open_inputs: Sequence[str] = ()) -> None:
        self.problems = tuple(problems)
        self.open_inputs = tuple(open_inputs)
        noun = "node is" if len(self.problems) == 1 else "nodes are"
        lines = "\n".join(f"  {line}" for line in self.problems)
        super().__init__(f"{len(self.problems)} {noun} not supported:\n{lines}")


class InputError(AgoError):
    """Arrays or options given by the caller do not fit: says what was expected."""


class IRError(AgoError):
    """A loop-nest program breaks a law of the IR.

    Attributes:
        code: Stable identifier of the law, such as `"out-of-bounds"`.
    """

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        super().__init__(f"[{code}] {message}")


class ScheduleError(AgoError):
    """A schedule primitive was refused; the program is unchanged.

    Attributes:
        code: Stable identifier of the violated requirement, such as `"split-not-exact"`.
        hint: What would be legal instead, or an empty string.
    """

    def __init__(
        self, code: str, message: str, hint: str = "", nest: Callable[[], str] | None = None
    ) -> None:
        self.code = code
        self.hint = hint
        self._nest = nest
        super().__init__(f"[{code}] {message}" + (f"\n  hint: {hint}" if hint else ""))

    def __str__(self) -> str:
        """The message, with the nest printed only now: a search drops most refusals unread."""
        message = super().__str__()
        return message if self._nest is None else f"{message}\n{self._nest()}"


class FusionError(AgoError):
    """A fusion plan is illegal: its stages cannot share a loop nest as it says.

    Attributes:
        code: Stable identifier of the violated rule, such as `"not-convex"`.
        operators: The stages at fault: producer, then consumer where there is one.
        loop: The shared loop, or an empty string where the plan names none.
        rule: What was asked and why it cannot be, with the numbers.
        hint: What would be legal instead, or an empty string.
    """

    def __init__(
        self, code: str, operators: Sequence[str], loop: str, rule: str, hint: str = ""
    ) -> None:
        self.code = code
        self.operators = tuple(operators)
        self.loop = loop
        self.rule = rule
        self.hint = hint
        place = f" at {loop}" if loop else ""
        names = " and ".join(self.operators)
        end = f"\n  hint: {hint}" if hint else ""
        super().__init__(f"[{code}] {names}{place}: {rule}{end}")


class CodegenError(AgoError):
    """A program cannot be emitted for a target: names the statement and what the backend lacks."""


class ToolchainError(AgoError):
    """No C compiler was found, or it failed: carries its output and how to get one."""


class DeviceError(AgoError):
    """A compiled model could not be run on a device or emulator."""


class VerificationError(AgoError):
    """A compiled model disagrees with the reference: names the first diverging node or fusion."""
