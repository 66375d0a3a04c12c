"""The model argument and the options that all commands about a model share.

Read `model_options` first: it turns them into one `Request`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import click
import numpy as np
import numpy.typing as npt

from ago.api import optimize
from ago.cli.console import progress_bar, working
from ago.errors import InputError
from ago.frontend import load
from ago.ir.graph import Graph
from ago.models import MODELS
from ago.options import Options
from ago.runtime.net import Net
from ago.target import resolve_target
from ago.tune.known import Known, nothing_known
from ago.tuning import known_schedules

_SIZES = ("batch", "size", "tokens", "classes")
"""What can be chosen of built-in networks."""


@dataclass(frozen=True, slots=True)
class Request:
    """Which model to compile, and how.

    Attributes:
        model: Path of an ONNX file, or the name of a built-in network.
        options: Target and more.
        dims: Sizes of symbolic dimensions.
        shapes: Shapes that replace those of inputs.
        constants: Values of inputs that are the same in every call.
        database: File of tuning records; None for none.
        json: Whether the answer is wanted as JSON.
    """

    model: str
    options: Options
    dims: dict[str, int]
    shapes: dict[str, tuple[int, ...]]
    constants: dict[str, npt.NDArray[np.generic]]
    database: Path | None
    json: bool

    @property
    def known(self) -> Known:
        """The tuned schedules, where there is a database.

        Raises:
            InputError: There is no such database.
        """
        if self.database is None:
            return nothing_known
        return known_schedules(self.database, self.options).get

    def open(self, graph: Graph) -> Net:
        """Compile a model for this machine and load it.

        Args:
            graph: What `load` gave.
        """
        with progress_bar() as progress:
            return optimize(
                graph,
                self.options.target,
                threads=self.options.threads,
                database=self.database,
                intensive_fusion=self.options.intensive_fusion,
                progress=progress,
            )

    def load(self) -> Graph:
        """Import the model.

        Raises:
            ModelError: The file is broken, or a dimension is open.
            UnsupportedError: Lists all nodes that AGO cannot compile.
            InputError: A name is wrong.
        """
        if self.model in MODELS:
            return self._build()
        with working(f"reading {self.model}"):
            return load(self.model, self.dims, self.shapes, self.constants)

    def _build(self) -> Graph:
        """Build a network of `ago.models`, whose sizes are the arguments of its function."""
        build = MODELS[self.model]
        sizes = [name for name in inspect.signature(build).parameters if name in _SIZES]
        unknown = [
            *(f"--dim {name}" for name in self.dims if name not in sizes),
            *(f"--shape {name}" for name in self.shapes),
            *(f"--constant {name}" for name in self.constants),
        ]
        if unknown:
            known = ", ".join(f"--dim {name}=N" for name in sizes)
            raise InputError(f"{self.model} is built in: it takes {known}; not {unknown[0]}")
        return build(**self.dims)


def parse_pairs(texts: Sequence[str], example: str) -> dict[str, str]:
    """Read `NAME=VALUE` texts; a name may contain `=` itself, a value may not.

    Args:
        texts: What was given on the command line.
        example: Of what was expected, for the message.

    Raises:
        BadParameter: A text has no name or no value.
    """
    pairs = {}
    for text in texts:
        name, _, value = text.rpartition("=")
        if not name or not value:
            raise click.BadParameter(f"{text!r} is not of the form {example}")
        pairs[name] = value
    return pairs


def _model(ctx: click.Context, param: click.Parameter, text: str) -> str:
    """Check that there is such a file or built-in network."""
    if text in MODELS or Path(text).is_file():
        return text
    names = ", ".join(sorted(MODELS))
    raise click.BadParameter(f"there is no file {text!r}, nor a built-in network ({names})")


def _dims(ctx: click.Context, param: click.Parameter, texts: tuple[str, ...]) -> dict[str, int]:
    """Read `batch=1` as `{"batch": 1}`."""
    return {name: _size(text) for name, text in parse_pairs(texts, "batch=1").items()}


def _shapes(
    ctx: click.Context, param: click.Parameter, texts: tuple[str, ...]
) -> dict[str, tuple[int, ...]]:
    """Read `input=1,3` as `{"input": (1, 3)}`."""
    pairs = parse_pairs(texts, "input=1,3,224,224")
    return {name: tuple(_size(part) for part in text.split(",")) for name, text in pairs.items()}


def _constants(
    ctx: click.Context, param: click.Parameter, texts: tuple[str, ...]
) -> dict[str, npt.NDArray[np.generic]]:
    """Read `rate=16000`, `shape=1,-1` or `mask=mask.npy` as arrays."""
    pairs = parse_pairs(texts, "rate=16000")
    return {name: _array(text) for name, text in pairs.items()}


def _array(text: str) -> npt.NDArray[np.generic]:
    try:
        if text.endswith(".npy"):
            return np.asarray(np.load(text, allow_pickle=False))
        numbers = [float(part) if "." in part else int(part) for part in text.split(",")]
    except (OSError, ValueError) as error:
        raise click.BadParameter(f"{text!r} is neither numbers nor a .npy file: {error}") from error
    return np.array(numbers)


def _size(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise click.BadParameter(f"{text!r} is not a size: give a whole number from 1")
    return int(text)


_PARAMETERS = (
    click.argument("model", callback=_model),
    click.option(
        "--target",
        default="host",
        show_default=True,
        metavar="CPU",
        help="CPU to compile for; `ago targets` lists them.",
    ),
    click.option(
        "--dim",
        "dims",
        multiple=True,
        callback=_dims,
        metavar="NAME=SIZE",
        help="Size of a dimension that the file leaves open, such as batch=1; of a built-in "
        "network: batch, size, tokens, classes.",
    ),
    click.option(
        "--shape",
        "shapes",
        multiple=True,
        callback=_shapes,
        metavar="NAME=SIZES",
        help="Another shape for an input, such as input=1,3,224,224.",
    ),
    click.option(
        "--constant",
        "constants",
        multiple=True,
        callback=_constants,
        metavar="NAME=VALUE",
        help="Value of an input that is the same in every call: rate=16000, shape=1,-1, x.npy.",
    ),
    click.option(
        "--threads",
        type=int,
        default=1,
        show_default=True,
        help="Threads that may share a run.",
    ),
    click.option(
        "--intensive-fusion/--no-intensive-fusion",
        default=True,
        show_default=True,
        help="Let one loop nest hold several convolutions or matrix products.",
    ),
    click.option(
        "--database",
        type=click.Path(dir_okay=False, path_type=Path),
        help="Tuning records: the schedules that `ago tune` found are used.",
    ),
    click.option("--json", is_flag=True, help="Print one JSON value."),
)


def model_options(function: Callable[..., None]) -> Callable[..., None]:
    """Give a command the shared parameters, as a `Request` in front of its own."""

    @functools.wraps(function)
    def command(
        model: str,
        target: str,
        dims: dict[str, int],
        shapes: dict[str, tuple[int, ...]],
        constants: dict[str, npt.NDArray[np.generic]],
        threads: int,
        intensive_fusion: bool,
        database: Path | None,
        json: bool,
        **own: object,
    ) -> None:
        options = Options(resolve_target(target), threads, intensive_fusion)
        request = Request(model, options, dims, shapes, constants, database, json)
        function(request, **own)

    for parameter in reversed(_PARAMETERS):
        command = parameter(command)
    return command
