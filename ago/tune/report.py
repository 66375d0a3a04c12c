"""A page about a tuning session: curves, predicted against measured, accepted decisions.

Read `write_report` first. The page is one HTML file that needs no other.
"""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from pathlib import Path

from ago.tune.charts import Series, chart
from ago.tune.progress import Progress, Result, TaskResult

_STYLE = """
body { font: 14px sans-serif; margin: 2em auto; max-width: 980px; color: #222 }
table { border-collapse: collapse }
td, th { padding: 3px 10px; text-align: left; vertical-align: top }
tr:nth-child(even) { background: #f5f5f5 } td.n { text-align: right; white-space: nowrap }
code { font-size: 12px } svg { margin: 4px }
"""
_MOST_TASKS = 16
"""Tasks with a chart of their own: those that take longest."""


def write_report(path: Path, title: str, result: Result, course: Sequence[Progress]) -> None:
    """Write the page.

    Args:
        path: The file; its directory is made if missing.
        title: The model's name.
        result: What the session found.
        course: What the session told, in order.
    """
    heaviest = sorted(result.tasks, key=lambda t: -t.task.uses * t.default)[:_MOST_TASKS]
    parts = [
        f"<!doctype html><meta charset='utf-8'><title>{html.escape(title)}</title>",
        f"<style>{_STYLE}</style><h1>Tuning of {html.escape(title)}</h1>",
        f"<p>{_summary(result)}</p>",
        _network_curve(course),
        _predictions(result),
        "<h2>Tasks</h2>",
        _table(
            ("task", "uses", "default, µs", "chosen, µs", "gain", "trials", "accepted decisions"),
            (_row(task) for task in result.tasks),
        ),
        "<h2>Trials of each task</h2><p>Dots are trials, the line is the best so far.</p>",
        *(_task_curve(task) for task in heaviest),
        "<h2>Failed trials</h2>",
        _table(("code", "trials"), ((c, str(n)) for c, n in result.refusals.most_common())),
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(parts), encoding="utf-8")


def _summary(result: Result) -> str:
    gain = result.default / result.best - 1.0 if result.best else 0.0
    ends = ", ".join(f"{n} {status}" for status, n in result.statuses.most_common())
    stopped = " It was stopped before its budget was used up." if result.interrupted else ""
    return html.escape(
        f"{1e3 * result.default:.3f} → {1e3 * result.best:.3f} ms ({gain:+.1%}), summed over steps "
        f"timed alone, after {result.trials} trials ({ends}) in {result.elapsed:.0f} s.{stopped}"
    )


def _network_curve(course: Sequence[Progress]) -> str:
    best = [(p.trials, 1e3 * p.best) for p in course if p.best]
    return chart("Network", "trials", "best so far, ms", [Series(best, "steps")])


def _predictions(result: Result) -> str:
    points = [(p.rank, p.ratio) for p in result.predictions]
    title = "Predicted against measured"
    return chart(title, "place in its batch, as predicted", "time over default", [Series(points)])


def _task_curve(task: TaskResult) -> str:
    times = [(n, 1e6 * r.seconds) for n, r in enumerate(task.records, 1) if r.seconds is not None]
    lowest, best = float("inf"), []
    for number, seconds in times:
        lowest = min(lowest, seconds)
        best.append((float(number), lowest))
    dots = [(float(n), s) for n, s in times if s <= 2 * lowest]
    title = task.task.label if len(task.task.label) < 60 else f"{task.task.label[:59]}…"
    return chart(title, "trial", "µs", [Series(best, "steps"), Series(dots)])


def _row(task: TaskResult) -> tuple[str, ...]:
    gain = task.default / task.best - 1.0 if task.best else 0.0
    decisions = "; ".join(f"{key} {old} → {new}" for key, (old, new) in task.changes.items())
    times = (f"{1e6 * task.default:.1f}", f"{1e6 * task.best:.1f}", f"{100 * gain:+.1f} %")
    return task.task.label, str(task.task.uses), *times, str(len(task.records)), decisions


def _table(header: Sequence[str], rows: Iterator[tuple[str, ...]]) -> str:
    lines = ["<table><tr>" + "".join(f"<th>{html.escape(cell)}</th>" for cell in header) + "</tr>"]
    for row in rows:
        cells = (
            f"<td{' class=n' if cell[:1] in '+-0123456789' else ''}>{html.escape(cell)}</td>"
            for cell in row
        )
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return "\n".join([*lines, "</table>"]) if len(lines) > 1 else "<p>none</p>"
