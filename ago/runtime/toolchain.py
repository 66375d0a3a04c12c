"""The C compiler: finding one, its flags for a target, compiling and linking.

Read `Toolchain` first. Any clang, or the one in pip's `ziglang`, compiles for the host, for AArch64
Linux and for Android; `ziglang` also for macOS. Libraries link no libc, and the linker is told to
refuse undefined symbols, so a library that links here loads anywhere.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Container, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from ago.errors import ToolchainError
from ago.progress import Progress, silent
from ago.runtime.cache import Cache
from ago.runtime.platforms import Kind, System, cpu_flags, host_system, is_native, triple
from ago.target import Target, host_arch

_MAX_ERROR_LINES = 40

_COMPILE_FLAGS = (
    "-O3",
    "-std=c11",
    "-ffreestanding",  # the compiler may not count on a libc
    "-fPIC",
    "-ffp-contract=off",  # FMA is written as an intrinsic where it is meant
    "-fno-math-errno",
    "-fvisibility=hidden",
    "-fno-stack-protector",  # its handler is in libc
    "-Wall",
    "-Wextra",
)

# No libc, no undefined symbol left to run time, no symbol table.
_BARE_LINK_FLAGS = ("-nostdlib", "-Wl,-z,defs", "-Wl,-s")

_HOW_TO_GET_ONE = (
    'get one by `pip install "ago-compiler[cc]"`, `apt install clang lld` or `brew install llvm '
    "lld`, or name one in the environment variable AGO_CC"
)


@dataclass(frozen=True, slots=True)
class Toolchain:
    """A C compiler that can be called.

    Attributes:
        command: Program and its leading arguments, such as `("clang-19",)`.
        kind: Which family's flags it takes.
        version: First line of `--version`.
        system: What binaries run on. None stands for this machine's own where it can run the
            target's code, for Linux elsewhere.
    """

    command: tuple[str, ...]
    kind: Kind
    version: str
    system: System | None = None

    def fingerprint(self, target: Target) -> str:
        """SHA-256 (hexadecimal) of what, besides the sources, decides the object code."""
        parts = [self.kind, self.version, sys.platform, host_arch(), *self._target_flags(target)]
        parts += [*_COMPILE_FLAGS, *_extra_flags()]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()

    def compile_objects(
        self,
        sources: Sequence[Path],
        directory: Path,
        target: Target,
        *,
        include: Sequence[Path] = (),
        general: Container[str] = (),
        jobs: int | None = None,
        progress: Progress = silent,
        timeout_seconds: float | None = None,
    ) -> list[Path]:
        """Compile C and assembler files, several at a time.

        Args:
            sources: Files with distinct names.
            directory: Receives `NAME.o` for each source.
            target: CPU to compile for.
            include: Directories searched for headers.
            general: Names of files to compile for any CPU of the target's architecture.
            jobs: Compilers run at once; by default the number of CPUs.
            progress: Told "compiling C" and the number of files.
            timeout_seconds: Wall time that a file may take; by default any.

        Returns:
            The object files, in the order of `sources`.

        Raises:
            ToolchainError: The compiler failed; carries the command and its first messages. Or it
                took too long.
        """
        flags = [*_COMPILE_FLAGS, *_extra_flags(), *(f"-I{path}" for path in include)]
        own, any_cpu = self._target_flags(target), self._triple_flags(target)

        def compile_one(source: Path) -> Path:
            result = directory / f"{source.name}.o"
            machine = any_cpu if source.name in general else own
            self._run([*machine, *flags, "-c", str(source), "-o", str(result)], timeout_seconds)
            return result

        with ThreadPoolExecutor(max_workers=jobs or os.cpu_count() or 1) as pool:
            futures = [pool.submit(compile_one, source) for source in sources]
            try:
                objects: list[Path] = []
                for future in futures:
                    progress("compiling C", len(objects), len(futures))
                    objects.append(future.result())
                progress("compiling C", len(objects), len(futures))
                return objects
            finally:
                for future in futures:  # after a failure, start no more compilers
                    future.cancel()

    def link_shared(self, objects: Sequence[Path], out: Path, target: Target) -> Path:
        """Link objects to a shared library that depends on no other.

        Raises:
            ToolchainError: The linker failed, for instance at an undefined symbol.
        """
        if self.needs_no_libc(target):
            flags = ["-shared", *_BARE_LINK_FLAGS]
            if target.arch == "aarch64":
                flags.append("-Wl,-z,max-page-size=16384")  # what Android 15 devices may use
        else:
            # macOS refuses images without libSystem; nothing in it is used.
            flags = ["-dynamiclib", f"-Wl,-install_name,@rpath/{out.name}"]
        return self._link(flags, objects, out, target)

    def link_with_libc(self, objects: Sequence[Path], out: Path, target: Target) -> Path:
        """Link objects to a shared library that may call the system's libc and its threads.

        Raises:
            ToolchainError: The linker failed.
        """
        kind = "-dynamiclib" if sys.platform == "darwin" else "-shared"
        return self._link([kind, "-pthread"], objects, out, target)

    def link_executable(self, objects: Sequence[Path], out: Path, target: Target) -> Path:
        """Link objects to a static program; where `needs_no_libc` is false, with the system's libc.

        Raises:
            ToolchainError: The linker failed.
        """
        flags = ["-static", *_BARE_LINK_FLAGS] if self.needs_no_libc(target) else []
        return self._link(flags, objects, out, target)

    def archive(self, objects: Sequence[Path], out: Path, target: Target) -> Path:
        """Collect objects in a static library.

        Raises:
            ToolchainError: There is no archiver, or it failed.
        """
        out.unlink(missing_ok=True)  # an archiver adds to what is there
        _checked([*self._archiver(target), "rcs", str(out), *map(str, objects)])
        return out

    def needs_no_libc(self, target: Target) -> bool:
        """Whether binaries for `target` are linked without any libc: all but those for macOS."""
        if self._is_native(target):
            return sys.platform != "darwin" and host_arch() != "any"
        return self.system != "macos"

    def _archiver(self, target: Target) -> tuple[str, ...]:
        """The program that makes static libraries of this compiler's objects."""
        if self.kind == "zig":
            return (*self.command[:-1], "ar")
        if self.kind == "clang":
            done = _call([*self.command, "-print-prog-name=llvm-ar"])
            if Path(done.stdout.strip()).is_absolute():
                return (done.stdout.strip(),)
        if self._is_native(target):
            return ("ar",)
        raise ToolchainError(
            f"no llvm-ar beside {self.command[0]} to make a static library for {target.arch}: "
            f"{_HOW_TO_GET_ONE}"
        )

    def _is_native(self, target: Target) -> bool:
        """Whether this machine's own format and system are meant."""
        return self.system in (None, host_system()) and is_native(target)

    def _link(
        self, flags: Sequence[str], objects: Sequence[Path], out: Path, target: Target
    ) -> Path:
        linker = self._triple_flags(target)
        if self.kind == "clang" and not self._is_native(target):
            linker.append("-fuse-ld=lld")  # the system's linker knows the host's formats alone
        self._run([*linker, *flags, *(str(path) for path in objects), "-o", str(out)])
        return out

    def _target_flags(self, target: Target) -> list[str]:
        flags = list(cpu_flags(target))
        if self.kind == "zig" and target.cpu:  # spells CPUs with underscores, and takes no -march
            flags[0] = f"-mcpu={target.cpu.replace('-', '_')}"
        return [*self._triple_flags(target), *flags]

    def _triple_flags(self, target: Target) -> list[str]:
        if self._is_native(target):
            return []
        name = triple(self.kind, target, self.system or "linux")
        return ["-target", name] if self.kind == "zig" else [f"--target={name}"]

    def _run(self, arguments: Iterable[str], timeout_seconds: float | None = None) -> None:
        _checked([*self.command, *arguments], timeout_seconds)


def find_toolchain(target: Target | None = None) -> Toolchain:
    """Find a C compiler.

    In order: the command in `AGO_CC`; `clang`, then `clang-NN` with the highest number, from
    `PATH`; pip's `ziglang`. A clang from `PATH` that cannot link for the target is passed over.

    Args:
        target: What it must compile for; by default this machine.

    Raises:
        ToolchainError: There is none; the message says how to get one.
    """
    configured = os.environ.get("AGO_CC")
    if configured:
        return _configured_toolchain(configured, target)
    reasons = []
    for command in _clang_commands():
        reason = _why_clang_cannot(command, target)
        if not reason:
            return describe_toolchain((command,))
        reasons.append(reason)
    zig = zig_command()
    if zig:
        return describe_toolchain(zig)
    found = "".join(f"\n  {reason}" for reason in reasons)
    wanted = f" for {target.name}" if target else ""
    raise ToolchainError(f"no usable C compiler{wanted} was found: {_HOW_TO_GET_ONE}{found}")


@functools.cache
def describe_toolchain(command: tuple[str, ...]) -> Toolchain:
    """Ask a compiler who it is.

    Args:
        command: Program and leading arguments.

    Raises:
        ToolchainError: It cannot be run.
    """
    try:
        done = _call([*command, "--version"])
    except OSError as error:
        raise ToolchainError(f"cannot run the C compiler {command[0]!r}: {error}") from error
    if done.returncode != 0 or not done.stdout.strip():
        raise ToolchainError(
            f"`{shlex.join(command)} --version` failed: {done.stderr.strip() or done.returncode}"
        )
    kind: Kind = "clang" if "clang" in done.stdout.lower() else "gcc"
    if _is_zig(command):
        kind = "zig"
    return Toolchain(command, kind, done.stdout.splitlines()[0].strip())


def _checked(command: Sequence[str], timeout_seconds: float | None = None) -> None:
    """Run a compiler or archiver that has to succeed."""
    try:
        done = _call(command, timeout_seconds)
    except OSError as error:
        raise ToolchainError(f"cannot run {command[0]}: {error}") from error
    except subprocess.TimeoutExpired as error:
        raise ToolchainError(
            f"the C compiler did not end in {timeout_seconds:g} seconds: {shlex.join(command)}"
        ) from error
    if done.returncode != 0:
        lines = (done.stderr or done.stdout).splitlines()
        shown = "\n".join(f"  {line}" for line in lines[:_MAX_ERROR_LINES])
        if len(lines) > _MAX_ERROR_LINES:
            shown += f"\n  ... and {len(lines) - _MAX_ERROR_LINES} lines more"
        raise ToolchainError(
            f"the C compiler failed with exit code {done.returncode}:\n"
            f"  {shlex.join(command)}\n{shown}"
        )


def _call(
    command: Sequence[str], timeout_seconds: float | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a compiler; zig is given a cache of its own, since it fails where HOME is read-only."""
    environment = dict(os.environ)
    if _is_zig(command):
        environment.setdefault("ZIG_GLOBAL_CACHE_DIR", str(Cache().root / "zig"))
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        env=environment,
        timeout=timeout_seconds,
    )


def _is_zig(command: Sequence[str]) -> bool:
    """Whether a command is `zig cc` or `python -m ziglang cc`."""
    return Path(command[0]).stem == "zig" or tuple(command[1:3]) == ("-m", "ziglang")


def _configured_toolchain(configured: str, target: Target | None) -> Toolchain:
    toolchain = describe_toolchain(tuple(shlex.split(configured)))
    if toolchain.kind == "gcc" and target is not None and not is_native(target):
        raise ToolchainError(
            f"AGO_CC={configured} compiles for this machine alone, not for {target.name}: "
            f"{_HOW_TO_GET_ONE}"
        )
    return toolchain


def _clang_commands() -> list[str]:
    """Every clang in `PATH`, the plain name first, then the highest version."""
    versions = set()
    for directory in os.get_exec_path():
        try:
            names = os.listdir(directory)
        except OSError:
            continue
        versions |= {int(m.group(1)) for m in map(re.compile(r"clang-(\d+)").fullmatch, names) if m}
    names = ["clang", *(f"clang-{version}" for version in sorted(versions, reverse=True))]
    return [path for path in map(shutil.which, names) if path]


def zig_command() -> tuple[str, ...] | None:
    """The compiler inside pip's `ziglang`, called without the Python in front of it."""
    spec = importlib.util.find_spec("ziglang")
    if spec is None or not spec.submodule_search_locations:
        return None
    program = Path(spec.submodule_search_locations[0]) / "zig"
    return (str(program), "cc") if program.exists() else None


@functools.cache
def _why_clang_cannot(command: str, target: Target | None) -> str:
    """Why this clang cannot link for `target`; empty if it can."""
    if target is None or is_native(target):
        return ""
    done = _call([command, "-print-prog-name=ld.lld"])
    if Path(done.stdout.strip()).is_absolute():
        return ""
    return f"{command} has no lld to link for {target.arch}"


def _extra_flags() -> list[str]:
    """Compiler flags from the environment variable `AGO_CFLAGS`, added after AGO's own."""
    return shlex.split(os.environ.get("AGO_CFLAGS", ""))
