"""A chooser that asks a person, on a terminal or from a script.

Read `InteractiveChooser` first. `UndoRequest` and `QuitRequest` leave the sketch: the caller
starts it again with one answer less, or stops.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ago.schedule.chooser import Decision, Domain

SHOWN = 12
"""Candidates listed unless all are asked for."""

HELP = "number: choose; Enter: the default; all, print, undo, rest, quit"


class UndoRequest(Exception):  # noqa: N818 no error
    """The person wants the last answer back."""


class QuitRequest(Exception):  # noqa: N818 no error
    """The person wants no schedule."""


class InteractiveChooser:
    """Asks for each decision; the default is what Enter takes.

    Args:
        answers: Decisions that are taken already, in the order of asking. Each answer is added.
        read: The next line of input; None at its end, from where on the defaults are taken.
        write: Shows one or more lines.
    """

    def __init__(
        self,
        answers: dict[str, Decision],
        read: Callable[[], str | None],
        write: Callable[[str], None],
    ) -> None:
        self._answers = answers
        self._read = read
        self._write = write
        self._asks = True

    def choose(self, key: str, candidates: Sequence[Decision]) -> Decision:
        """The person's answer.

        Raises:
            UndoRequest: Instead of an answer; the answers still hold the one to take back.
            QuitRequest: Instead of an answer.
        """
        if self._answers.get(key) not in candidates:
            domain = candidates if isinstance(candidates, Domain) else Domain(tuple(candidates))
            self._answers[key] = self._ask(key, domain) if self._asks else domain[0]
        return self._answers[key]

    def _ask(self, key: str, domain: Domain) -> Decision:
        self._list(key, domain, SHOWN)
        while self._asks:
            line = self._read()
            word = "rest" if line is None else line.strip()
            if word == "":
                break
            if word.isdecimal() and int(word) < len(domain):
                return domain[int(word)]
            self._obey(word, key, domain)
        return domain[0]

    def _obey(self, word: str, key: str, domain: Domain) -> None:
        match word:
            case "undo":
                raise UndoRequest
            case "quit":
                raise QuitRequest
            case "rest":
                self._asks = False
            case "all":
                self._list(key, domain, len(domain))
            case "print" if domain.program is not None:
                self._write(str(domain.program).rstrip())
            case _:
                self._write(f"{word!r} is none of 0 to {len(domain) - 1}. {HELP}")

    def _list(self, key: str, domain: Domain, most: int) -> None:
        lines = [f"{key}: {len(domain)} candidates"]
        for number, value in enumerate(domain[:most]):
            mark = "*" if number == 0 else " "
            why = f"  {domain.explain(value)}" if domain.explain else ""
            lines.append(f"  {mark} {number}: {value}{why}")
        if len(domain) > most:
            lines.append(f"    ... {len(domain) - most} more: all lists them")
        self._write("\n".join([*lines, HELP]))
