"""Shows the hot-swap story: starts a cluster for it, has it played, sums it up, and puts everything away again."""

import asyncio
import shlex
import sys
import time
from collections.abc import Iterator
from typing import Any

from understudy.cli.paint import Painter
from understudy.cli.reaching import say
from understudy.cli.story import script
from understudy.cli.story.performance import PLAYED, perform
from understudy.cli.story.reckoning import REMARK, lines
from understudy.cli.story.stage import StoryBroke
from understudy.cli.throwaway import Throwaway, ended_like_ctrl_c
from understudy.embedded.agent_protocol import AgentRefused
from understudy.embedded.clusters.readiness import NotReady
from understudy.model.incidents import Incident
from understudy.ports import Refused, Unreachable

NAME = "demo"
FAILED = 1
UNGUARDED_REMARK = "The guards against nodes that fail often and against too many preemptions were off."
MADE_UP = "Its pods are real processes of this machine; its accelerators are made up."
# Incidents come one upon the other after the story; in a cluster as it is these would hold some of them back.
UNGUARDED: dict[str, dict[str, Any]] = {
    "policy": {
        "minRuntime": 0.0,
        "preemptionsPerHour": 1_000_000,
        "nodeCooldown": 0.0,
        "lemonFailures": 1_000_000,
        "backoff": 0.0,
        "massFailureNodes": 1_000_000,
    }
}
_TROUBLES = (StoryBroke, NotReady, AgentRefused, Refused, Unreachable)


def show(*, keep: bool, incidents: int = PLAYED) -> int:
    with ended_like_ctrl_c():
        cluster = Throwaway(NAME, script.nodes(), UNGUARDED if incidents > PLAYED else None)
        try:
            found = _played(cluster, incidents)
        except _TROUBLES as error:
            return _complain(cluster, error, keep=keep)
        except BaseException:
            cluster.discard()
            raise
        _sum_up(found)
        if keep:
            say("", *_how_to_reach(cluster))
        else:
            cluster.discard()
            print("\nThe cluster is stopped, and its folder removed.")
        return 0


def _played(cluster: Throwaway, incidents: int) -> list[Incident]:
    began = time.monotonic()
    nodes = cluster.start()
    seconds = time.monotonic() - began
    print(f"A cluster of {nodes} nodes in slices of two is up after {seconds:.1f} s.", MADE_UP, sep="\n", flush=True)
    return asyncio.run(perform(cluster.folder, sys.stdout, incidents))


def _sum_up(incidents: list[Incident]) -> None:
    paint = Painter.on(sys.stdout)
    head, *rows = lines(incidents)
    print(f"\n{paint(head, 'bold')}", *rows, f"\n{REMARK}", sep="\n")
    if len(incidents) > PLAYED:
        print(UNGUARDED_REMARK)


def _how_to_reach(cluster: Throwaway) -> Iterator[str]:
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


def _complain(cluster: Throwaway, error: Exception, *, keep: bool) -> int:
    sys.stdout.flush()
    print(f"understudy: the story did not come about: {error}", file=sys.stderr)
    if keep:
        print("\n".join(_how_to_reach(cluster)), file=sys.stderr)
    else:
        cluster.discard(but_logs=True)
    print(f"The logs of the cluster's parts are in {cluster.folder.logs}", file=sys.stderr)
    return FAILED
