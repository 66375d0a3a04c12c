"""A client that stands in for `adb`: it behaves as the real one does, on this machine's shell.

Its directory holds the file `state`: what happens to the next command.
"""

import stat
import sys
from pathlib import Path

_TEXT = """#!{python}
import pathlib, shutil, subprocess, sys
COMPLAINTS = {{
    "offline": "error: device offline",
    "unauthorized": "error: device unauthorized.\\nThis adb server's $ADB_VENDOR_KEYS is not set\\n"
    "Try 'adb kill-server' if that seems wrong.\\nOtherwise check for a confirmation dialog.",
    "none": "adb: no devices/emulators found",
    "several": "adb: more than one device/emulator",
    "full": "adb: error: failed to copy: remote couldn't create file: No space left on device",
}}
here = pathlib.Path(__file__).parent
state = (here / "state").read_text()
arguments = sys.argv[1:]
with (here / "log").open("a") as log:
    print(arguments, file=log)
if arguments[0] == "-s":
    if arguments[1] != "FA7A1A0301":
        sys.exit(f"adb: device '{{arguments[1]}}' not found")
    arguments = arguments[2:]
if state in COMPLAINTS and (state != "full" or arguments[0] == "push"):
    sys.exit(COMPLAINTS[state])
match arguments:
    case "shell", script:
        done = subprocess.run(["sh", "-c", script], stdout=subprocess.PIPE, start_new_session=True)
        if state == "lost" and b"begin" in done.stdout:
            (here / "state").write_text("ok")
            cut = done.stdout.index(b"ago-begin") + len(b"ago-begin\\n") + len(b'{{"begin": 0}}\\n')
            sys.stdout.buffer.write(done.stdout[:cut])
            sys.exit(255)
        sys.stdout.buffer.write(done.stdout)
        sys.exit(done.returncode)
    case ("push" | "pull"), source, target:
        try:
            shutil.copyfile(source, target)
        except OSError as error:
            sys.exit(f"adb: error: failed to copy '{{source}}' to '{{target}}': {{error.strerror}}")
        print(f"{{source}}: 1 file {{arguments[0]}}ed, 0 skipped.")
    case _:
        sys.exit(f"adb: unknown command {{arguments[0]}}")
"""


class ScriptedAdb:
    """Puts an `adb` first on PATH."""

    def __init__(self, directory: Path, monkeypatch) -> None:
        self._directory = directory / "platform-tools"
        self._directory.mkdir()
        program = self._directory / "adb"
        program.write_text(_TEXT.format(python=sys.executable))
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        self.become("ok")
        monkeypatch.setenv("PATH", str(self._directory), prepend=":")

    def become(self, state: str) -> None:
        (self._directory / "state").write_text(state)

    def log(self) -> str:
        return (self._directory / "log").read_text()
