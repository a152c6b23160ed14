"""`python -m bench.kube`: Understudy and kube-scheduler beside the same API server, on the same nodes, one by one."""

import argparse
import asyncio
import contextlib
import itertools
import sys
from collections.abc import AsyncIterator, Sequence
from typing import Any

import msgspec

from bench.kube import load, measures, node_loss, report, workload
from bench.kube.binding_watch import NeverSeen, watch_bindings
from bench.kube.cleanup import NotRemoved, remove_traces
from bench.kube.schedulers import CONTENDERS, GATED, GATES, OURS, STOCK, started
from tests.kube.cluster.programs import HOW_TO, at_hand
from tests.kube.cluster.running import Cluster, cluster
from tests.kube.cluster.settings import Settings
from understudy.client import KubeClient, connect
from understudy.client.kubeconfig import read_kubeconfig

SIZES, QUICK = (1024, 5000), 128
DYING_NODES = 16
LEASE_SECONDS = 400  # of the many nodes: their heartbeats are not what is measured
CLEARED = 300.0  # seconds; 5,000 pods and 312 PodGroups take a loaded machine two minutes
PATIENT = 120.0  # seconds; to clear away 5,000 pods is one request

Result = dict[str, Any]


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    if not at_hand():
        print(f"bench.kube: {HOW_TO}", file=sys.stderr)
        return 0 if options.quick else 1
    found: list[Result] = []
    try:
        for size in [QUICK] if options.quick else options.nodes:
            found += _compared(size, _rounds(options))
        if not options.no_deaths:
            found += _deaths(options.patient, ["taint", "deletion"] if options.quick else list(node_loss.MANNERS))
    except (NeverSeen, NotRemoved) as error:
        print(f"bench.kube: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    if options.json:
        print(msgspec.json.encode(found).decode())
    else:
        print("\n".join(report.lines(found)))
    return 0


def _rounds(options: argparse.Namespace) -> list[measures.Round]:
    """Idle and loaded rounds of a contender follow each other, and contenders take turns: what else the machine does
    meanwhile hits all of them alike."""
    loads = [0] if options.load is None else [0, options.load]
    contenders = [CONTENDERS[name] for name in options.contenders]
    turns = itertools.product(range(options.rounds), contenders, loads)
    return [measures.Round(contender, number, busy) for number, (_, contender, busy) in enumerate(turns, 1)]


def _compared(size: int, rounds: Sequence[measures.Round]) -> list[Result]:
    settings = Settings(
        scheduler=None,
        operators=(),
        lease_seconds=LEASE_SECONDS,
        grace="1h",
        gates=GATES,
        apis=("scheduling.k8s.io/v1beta1=true",),
        controller_flags=("--kube-api-qps=5000", "--kube-api-burst=10000"),
    )
    with cluster(settings) as running:
        _say(f"{size} nodes in slices of {workload.PER_SLICE} are being made")
        workload.create(running, size)
        return [asyncio.run(_measured(running, turn, size)) for turn in rounds]


async def _measured(running: Cluster, turn: measures.Round, size: int) -> Result:
    _say(f"{turn.contender.name}, {size} nodes" + (f", {turn.busy_loops} busy loops" if turn.busy_loops else ""))
    slices = size // workload.PER_SLICE
    async with _clean(running) as client, watch_bindings(client) as seen:
        with started(running, turn.contender), load.busy_loops(turn.busy_loops, running.plane.log("load")):
            filled = await measures.fill(client, seen, turn, slices)
            _say(f"  {filled.rate:.0f} pods/s")
            await measures.calm_down(seen, turn, slices)
            taken = await measures.preempt(client, seen, turn, slices)
            _say(f"  four slices in {taken.seconds:.2f} s, {taken.disturbed} gangs disturbed, {taken.broken} broken")
    return {
        "case": "side by side",
        "nodes": size,
        "scheduler": turn.contender.name,
        "busy_loops": turn.busy_loops,
        "filled": {**msgspec.to_builtins(filled), "rate": filled.rate},
        "preempted": msgspec.to_builtins(taken),
    }


@contextlib.asynccontextmanager
async def _clean(running: Cluster) -> AsyncIterator[KubeClient]:
    """A client for one measurement. What the measurement made is gone when the next one begins."""
    async with _client(running) as client:
        yield client
        await remove_traces(client, CLEARED)


def _deaths(patient: bool, manners: Sequence[str]) -> list[Result]:
    """Measures node failures with Kubernetes' own leases, node controller and tolerations."""
    with cluster(Settings(scheduler=None, operators=())) as running:
        workload.create(running, DYING_NODES)
        rows = [asyncio.run(_replaced(running, OURS, manner)) for manner in manners]
        if patient:
            rows.append(asyncio.run(_replaced(running, STOCK, "silence")))
        return rows


async def _replaced(running: Cluster, contender: measures.Scheduler, manner: str) -> Result:
    async with _clean(running) as client, watch_bindings(client) as seen:
        with started(running, contender):
            found = await node_loss.replace(client, seen, running.nodes, contender, manner)
    _say(f"{contender.name}, {manner}: replaced in {found.seconds:.2f} s")
    return {"case": "death", "scheduler": contender.name, **msgspec.to_builtins(found)}


def _client(running: Cluster) -> KubeClient:
    return connect(msgspec.structs.replace(read_kubeconfig(running.kubeconfig), timeout=PATIENT))


def _say(words: str) -> None:
    print(words, file=sys.stderr, flush=True)


def _positive(text: str) -> int:
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError(f"{number}: expected 1 or more")
    return number


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.kube", description=__doc__)
    sizes = f"nodes of the clusters (default: {' '.join(map(str, SIZES))})"
    parser.add_argument("--nodes", type=int, nargs="+", default=list(SIZES), metavar="N", help=sizes)
    names = [STOCK.scheduler, GATED.scheduler, OURS.scheduler]
    parser.add_argument("--contenders", nargs="+", choices=names, default=names, help="default: all three")
    parser.add_argument("--no-deaths", action="store_true", help="leave out the nodes that die")
    words = "wait, for about six minutes, until a cluster without us has replaced a pod of a dead node"
    parser.add_argument("--patient", action="store_true", help=words)
    words = f"measure beside N busy loops as well (default: {load.DEFAULT_LOOPS}), and compare with the idle machine"
    parser.add_argument("--load", type=_positive, nargs="?", const=load.DEFAULT_LOOPS, metavar="N", help=words)
    words = "measure every contender so often, and report medians (default: 1)"
    parser.add_argument("--rounds", type=_positive, default=1, metavar="N", help=words)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} nodes, to see that it works")
    parser.add_argument("--json", action="store_true", help="the results as JSON")
    options = parser.parse_args(arguments)
    if any(size < workload.PER_SLICE * measures.WANTED_SLICES for size in options.nodes):
        parser.error(f"--nodes: at least {workload.PER_SLICE * measures.WANTED_SLICES}")
    return options


if __name__ == "__main__":
    sys.exit(main())
