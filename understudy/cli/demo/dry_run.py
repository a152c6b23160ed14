"""The hot-swap demo without processes: each step changes a snapshot, plans, and prints what follows."""

import textwrap
import time
from collections.abc import Callable
from typing import TextIO

import msgspec

from understudy.cli.demo import manifests
from understudy.cli.demo.drawing import draw_domains
from understudy.cli.demo.manifests import HIGH_PRIORITY_JOB, TOPOLOGY
from understudy.cli.input.documents import Document
from understudy.cli.input.settings import Settings
from understudy.cli.input.snapshots import decode_documents, snapshot_of_files
from understudy.cli.output.terminal import Painter
from understudy.decide.cycle import plan
from understudy.decide.describe import describe
from understudy.decide.policy import Policy
from understudy.decide.projection import snapshot_after, without_leaving_pods
from understudy.model.nodes import Health, Verdict
from understudy.model.plans import Wait
from understudy.model.snapshot import Snapshot

BEGIN = 1_767_225_600.0  # the demo always starts at the beginning of 2026
PAUSE = 600.0  # and ten minutes pass between its steps
DRY_RUN = "This is a dry run: every plan is the planner's own, no process is started, and only planning is timed."


class DryRunStep(msgspec.Struct, frozen=True):
    title: str
    change: Callable[[Snapshot, float], Snapshot]


def print_dry_run(out: TextIO) -> None:
    paint = Painter.on(out)
    empty, full = _cluster()
    print(DRY_RUN, file=out)
    state = empty
    print(f"\n{paint('A cluster of slices without jobs', 'bold')}", file=out)
    _draw(state, out)
    for number, step in enumerate(_steps(full), start=1):
        print(f"\n{paint(f'{number}. {step.title}', 'bold')}", file=out)
        now = BEGIN + number * PAUSE
        changed = step.change(state, now)
        if changed.nodes is not state.nodes:
            _draw(changed, out)
        state = _settled_after(changed, now, out)
    print(f"\n{DRY_RUN}", file=out)


def _cluster() -> tuple[Snapshot, Snapshot]:
    """The cluster before and after the jobs are submitted."""
    bare = [Document("the cluster", number, 1, node) for number, node in enumerate(manifests.nodes(), start=1)]
    jobs = manifests.objects("priorities", "high-priority", "low-priority")
    empty, full = (snapshot_of_files(decode_documents(some), Settings(), "", BEGIN) for some in (bare, [*bare, *jobs]))
    return empty, full


def _steps(full: Snapshot) -> list[DryRunStep]:
    jobs = list(full.gangs.values())
    return [
        DryRunStep("Two JobSets are submitted", lambda state, _: state.updated(gangs=jobs)),
        DryRunStep("A node of high-priority dies; a slice is idle", lambda state, now: _one_fails(state, now)),
        DryRunStep("Another dies; no slice is idle", lambda state, now: _one_fails(state, now)),
        DryRunStep("The node that died first comes back", lambda state, _: _first_recovers(state)),
    ]


def _one_fails(state: Snapshot, now: float) -> Snapshot:
    victim = state.nodes[state.gangs[HIGH_PRIORITY_JOB].seated()[-1].node].node
    return state.updated(nodes=[msgspec.structs.replace(victim, health=Health(Verdict.LOST, "it died", since=now))])


def _first_recovers(state: Snapshot) -> Snapshot:
    dead = min(
        (state.nodes[name].node for name in state.unhealthy), key=lambda node: (node.health.since or 0.0, node.name)
    )
    return state.updated(nodes=[msgspec.structs.replace(dead, health=Health())])


def _settled_after(state: Snapshot, now: float, out: TextIO) -> Snapshot:
    """Plans until nothing is left to do. Between two plans the preempted pods leave."""
    printed: set[str] = set()
    while True:
        began = time.perf_counter()
        made = plan(state, Policy(), now)
        spent = time.perf_counter() - began
        if sentences := [line for line in map(describe, made.actions) if line not in printed]:
            print(f"   {'then, ' if printed else ''}planned in {spent * 1000:.2f} ms:", file=out)
            print("\n".join(_bullet(line) for line in sentences), file=out)
        printed.update(sentences)
        state = without_leaving_pods(snapshot_after(state, made))
        if all(isinstance(action, Wait) for action in made.actions):
            return state
        _draw(state, out)


def _bullet(line: str) -> str:
    return textwrap.fill(line, 100, initial_indent="   - ", subsequent_indent="     ", break_on_hyphens=False)


def _draw(state: Snapshot, out: TextIO) -> None:
    print("\n".join(f"       {line}" for line in draw_domains(state, TOPOLOGY)), file=out)
