"""Runs the hot-swap demo: a temporary cluster, the scenario on it, the table of its incidents, and the clean-up."""

import asyncio
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from understudy.cli.clusters.messages import print_lines
from understudy.cli.clusters.temporary import TemporaryCluster, signals_as_interrupt
from understudy.cli.demo import manifests
from understudy.cli.demo.observer import DemoFailed
from understudy.cli.demo.scenario import SCENARIO_INCIDENTS, run_scenario
from understudy.cli.output.tables import table
from understudy.cli.output.terminal import Painter
from understudy.cli.views.incidents import COLUMNS, seconds_text, step_cells
from understudy.embedded.agent_protocol import AgentRefused
from understudy.embedded.clusters.readiness import NotReady
from understudy.model.incidents import Incident, StepStatistics, step_statistics
from understudy.ports import Refused, Unreachable

NAME = "demo"
FAILED = 1
WITHOUT_GUARDS_REMARK = "The guards against nodes that fail often and against too many preemptions were off."
SIMULATED_ACCELERATORS = "Its pods are real processes of this machine; its accelerators are made up."


# Incidents come one upon the other after the story; in a cluster as it is these would hold some of them back.
WITHOUT_GUARDS: dict[str, dict[str, Any]] = {
    "policy": {
        "minRuntime": 0.0,
        "preemptionsPerHour": 1_000_000,
        "nodeCooldown": 0.0,
        "lemonFailures": 1_000_000,
        "backoff": 0.0,
        "massFailureNodes": 1_000_000,
    }
}
_FAILURES = (DemoFailed, NotReady, AgentRefused, Refused, Unreachable)


def run_demo(*, keep: bool, incidents: int = SCENARIO_INCIDENTS) -> int:
    with signals_as_interrupt():
        cluster = TemporaryCluster(NAME, manifests.nodes(), WITHOUT_GUARDS if incidents > SCENARIO_INCIDENTS else None)
        try:
            found = _run_on(cluster, incidents)
        except _FAILURES as error:
            return _report_failure(cluster, error, keep=keep)
        except BaseException:
            cluster.discard()
            raise
        _sum_up(found)
        if keep:
            print_lines("", *_access_lines(cluster))
        else:
            cluster.discard()
            print("\nThe cluster is stopped, and its folder removed.")
        return 0


def _run_on(cluster: TemporaryCluster, incidents: int) -> list[Incident]:
    began = time.monotonic()
    nodes = cluster.start()
    seconds = time.monotonic() - began
    print(
        f"A cluster of {nodes} nodes in slices of two is up after {seconds:.1f} s.",
        SIMULATED_ACCELERATORS,
        sep="\n",
        flush=True,
    )
    return asyncio.run(run_scenario(cluster.folder, sys.stdout, incidents))


def _sum_up(incidents: list[Incident]) -> None:
    paint = Painter.on(sys.stdout)
    head, *rows = incident_table(incidents)
    print(f"\n{paint(head, 'bold')}", *rows, f"\n{REMARK}", sep="\n")
    if len(incidents) > SCENARIO_INCIDENTS:
        print(WITHOUT_GUARDS_REMARK)


def _access_lines(cluster: TemporaryCluster) -> Iterator[str]:
    yield "The cluster goes on, with both jobs on it:"
    yield ""
    for command, meaning in (
        (f"export UNDERSTUDY_HOME={shlex.quote(str(cluster.home))}", ""),
        (f"export KUBECONFIG={shlex.quote(str(cluster.folder.kubeconfig))}", ""),
        ("kubectl get jobsets,pods -o wide", ""),
        ("understudy status", "how it is doing"),
        ("understudy reset --yes", "stops it, and removes everything it has"),
    ):
        yield f"  {command:<34} {meaning}".rstrip()


def _report_failure(cluster: TemporaryCluster, error: Exception, *, keep: bool) -> int:
    sys.stdout.flush()
    print(f"understudy: the story did not come about: {error}", file=sys.stderr)
    if keep:
        print("\n".join(_access_lines(cluster)), file=sys.stderr)
    else:
        cluster.discard(but_logs=True)
    print(f"The logs of the cluster's parts are in {cluster.folder.logs}", file=sys.stderr)
    return FAILED


MOST = 20  # rows; of more incidents only the slowest are shown, and all of them count
STOCK_NOTICES, STOCK_TOLERATES = 50.0, 300.0  # seconds: a node that fell silent, and the default tolerations of pods
REMARK = """\
Times count from the failure, when the connection to the killed node broke, and are the cluster's own records. Nodes
are processes, as pods are: the death of one is noticed within milliseconds; one that hangs, after 3 s of silence."""


def incident_table(incidents: Sequence[Incident]) -> Iterator[str]:
    """The table of incidents, its head first."""
    shown = list(incidents)
    if len(shown) > MOST:
        shown = sorted(shown, key=lambda one: one.total or 0.0)[-MOST:]
    figures = step_statistics(incidents)
    rows = [
        ["CAUSE", *COLUMNS.values()],
        *([one.cause, *step_cells(one)] for one in shown),
        [],
        ["median", *_each(figures, lambda found: found.median)],
        ["p99", *_each(figures, lambda found: found.p99)],
    ]
    yield from table(rows)
    if len(shown) < len(incidents):
        yield f"\nShown are the {len(shown)} slowest of {len(incidents)} incidents; median and p99 are those of all."
    if "total" in figures:
        yield f"\n{_compared(figures['total'].median)}"


def _each(figures: Mapping[str, StepStatistics], which: Callable[[StepStatistics], float]) -> list[str]:
    return [seconds_text(which(figures[step]) if step in figures else None) for step in COLUMNS]


def _compared(median: float) -> str:
    stock = STOCK_NOTICES + STOCK_TOLERATES
    return (
        f"Stock Kubernetes takes about {stock:g} s for the same ({STOCK_NOTICES:g} s until it notices, "
        f"{STOCK_TOLERATES:g} s of toleration),\nand then the pod hangs: {_roughly(stock / median)} times as long."
    )


def _roughly(ratio: float) -> str:
    """The number rounded to two digits: 1,100."""
    digits = len(str(int(ratio)))
    return f"{round(ratio, 2 - digits):,.0f}"
