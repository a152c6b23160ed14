"""Outcomes side by side, with the conditions under which they were measured."""

from collections.abc import Callable, Sequence

from bench.spot.modes import MODES, detection_seconds
from bench.spot.outcome import Outcome
from bench.spot.replay import Setting

_ROWS: tuple[tuple[str, Callable[[Outcome], str]], ...] = (
    ("useful steps per machine-hour", lambda one: f"{one.steps_per_machine_hour:,.0f}"),
    ("useful steps", lambda one: f"{one.steps:,}"),
    ("evictions that hit a job", lambda one: str(one.evictions)),
    ("of those beaten: moved before the machine went", lambda one: str(one.beaten)),
    ("steps lost per eviction", lambda one: f"{one.steps_lost_per_eviction:.1f}"),
    ("steps lost", lambda one: f"{one.steps_lost:,}"),
    ("jobs lost", lambda one: str(one.jobs_lost)),
    ("preemptions of others", lambda one: str(one.preemptions)),
    ("machine-hours", lambda one: f"{one.machine_hours:.3f}"),
    ("the driver was late by at most", lambda one: f"{one.late_ms:.0f} ms"),
)


def lines(outcomes: Sequence[Outcome]) -> list[str]:
    rows = [["", *(one.mode for one in outcomes)]]
    rows += [[title, *(shown(one) for one in outcomes)] for title, shown in _ROWS]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [_line(row, widths) for row in rows]


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    figures = (cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))
    return "  ".join([row[0].ljust(widths[0]), *figures])


def conditions(setting: Setting, trace: str) -> list[str]:
    pace = setting.pace
    removals = sum(not event.appears for event in setting.events)
    place = f"{len(setting.spot)} spot machines, beside {setting.on_demand} on-demand machines"
    sizes = ", ".join(map(str, setting.sizes))
    waits = detection_seconds(setting.speed)
    return [
        f"trace {trace}, {setting.speed:g} times as fast: {setting.seconds:g} s with {removals} removals on {place}",
        f"jobs of {sizes} members in lockstep, the first more important than the others",
        f"a step takes {pace.step * 1e3:g} ms, a checkpoint every {pace.every} steps {pace.save * 1e3:g} ms",
        "steps, checkpoints, notices and starts are not sped up; guards of the scheduler are off",
        f"a notice comes {setting.notice:g} s before the machine goes, or when the machine appears",
        f"restart waits {waits:g} s in the place of 350 s",
        *(f"{mode.name}: {mode.about}" for mode in MODES.values()),
    ]


def is_clean(outcomes: Sequence[Outcome]) -> bool:
    return not any(one.jobs_lost for one in outcomes)
