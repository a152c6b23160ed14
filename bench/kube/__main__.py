"""`python -m bench.kube`: Understudy and kube-scheduler beside the same API server, on the same nodes, one by one."""

import argparse
import asyncio
import sys
from collections.abc import Sequence
from typing import Any

import msgspec

from bench.kube import cases, dying, fleet, report
from bench.kube.contenders import CONTENDERS, GATED, GATES, OURS, STOCK, started
from bench.kube.witness import NeverSeen, Witness, witness
from tests.kube.cluster.programs import HOW_TO, at_hand
from tests.kube.cluster.running import Cluster, cluster
from tests.kube.cluster.settings import Settings
from understudy.client import Config, KubeClient, connect

SIZES, QUICK = (1024, 5000), 128
DYING_NODES = 16
LEASE_SECONDS = 400  # of the many nodes: their heartbeats are not what is measured
CLEARED = 120.0
PATIENT = 120.0  # seconds; to clear away 5,000 pods is one request
CALM = 5.0  # seconds in which events are written and statuses reported, before the next measure
SETTLING = 200  # pods whose statuses KWOK reports in a second, or fewer; a larger cluster takes longer to calm down

Result = dict[str, Any]


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    if not at_hand():
        print(f"bench.kube: {HOW_TO}", file=sys.stderr)
        return 0 if options.quick else 1
    found: list[Result] = []
    try:
        for size in [QUICK] if options.quick else options.nodes:
            found += _compared(size, [CONTENDERS[name] for name in options.contenders])
        if not options.no_deaths:
            found += _deaths(options.patient, ["taint", "deletion"] if options.quick else list(dying.MANNERS))
    except NeverSeen as error:
        print(f"bench.kube: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    if options.json:
        print(msgspec.json.encode(found).decode())
    else:
        print("\n".join(report.lines(found)))
    return 0


def _compared(size: int, contenders: Sequence[cases.Contender]) -> list[Result]:
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
        running.namespace(fleet.NAMESPACE)
        _say(f"{size} nodes in slices of {fleet.PER_SLICE} are being made")
        running.nodes.create(fleet.nodes(size))
        return [asyncio.run(_measured(running, contender, size)) for contender in contenders]


async def _measured(running: Cluster, contender: cases.Contender, size: int) -> Result:
    _say(f"{contender.name}, {size} nodes")
    slices = size // fleet.PER_SLICE
    async with _client(running) as client, witness(client) as seen:
        await fleet.furnish(client)
        with started(running, contender):
            filled = await cases.fill(client, seen, contender, slices)
            _say(f"  {filled.rate:.0f} pods/s")
            await asyncio.sleep(max(CALM, size / SETTLING))
            taken = await cases.preempt(client, seen, contender, slices)
            _say(f"  four slices in {taken.seconds:.2f} s, {taken.disturbed} gangs disturbed, {taken.broken} broken")
        await _cleared(client, seen)
    return {
        "case": "side by side",
        "nodes": size,
        "scheduler": contender.name,
        "filled": {**msgspec.to_builtins(filled), "rate": filled.rate},
        "preempted": msgspec.to_builtins(taken),
    }


async def _cleared(client: KubeClient, seen: Witness) -> None:
    await fleet.clear(client)
    await seen.until(lambda: all(pod.gone for pod in seen.pods.values()), CLEARED, "all pods are gone")


def _deaths(patient: bool, manners: Sequence[str]) -> list[Result]:
    """With Kubernetes' own leases, node controller and tolerations."""
    with cluster(Settings(scheduler=None, operators=())) as running:
        running.namespace(fleet.NAMESPACE)
        running.nodes.create(fleet.nodes(DYING_NODES))
        rows = [asyncio.run(_replaced(running, OURS, manner)) for manner in manners]
        if patient:
            rows.append(asyncio.run(_replaced(running, STOCK, "silence")))
        return rows


async def _replaced(running: Cluster, contender: cases.Contender, manner: str) -> Result:
    async with _client(running) as client, witness(client) as seen:
        await fleet.furnish(client)
        with started(running, contender):
            found = await dying.replace(client, seen, running.nodes, contender, manner)
    _say(f"{contender.name}, {manner}: replaced in {found.seconds:.2f} s")
    return {"case": "death", "scheduler": contender.name, **msgspec.to_builtins(found)}


def _client(running: Cluster) -> KubeClient:
    return connect(msgspec.structs.replace(Config.from_kubeconfig(running.kubeconfig), timeout=PATIENT))


def _say(words: str) -> None:
    print(words, file=sys.stderr, flush=True)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.kube", description=__doc__)
    sizes = f"nodes of the clusters (default: {' '.join(map(str, SIZES))})"
    parser.add_argument("--nodes", type=int, nargs="+", default=list(SIZES), metavar="N", help=sizes)
    names = [STOCK.scheduler, GATED.scheduler, OURS.scheduler]
    parser.add_argument("--contenders", nargs="+", choices=names, default=names, help="default: all three")
    parser.add_argument("--no-deaths", action="store_true", help="leave out the nodes that die")
    words = "wait, for about six minutes, until a cluster without us has replaced a pod of a dead node"
    parser.add_argument("--patient", action="store_true", help=words)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} nodes, to see that it works")
    parser.add_argument("--json", action="store_true", help="the results as JSON")
    options = parser.parse_args(arguments)
    if any(size < fleet.PER_SLICE * cases.WANTED_SLICES for size in options.nodes):
        parser.error(f"--nodes: at least {fleet.PER_SLICE * cases.WANTED_SLICES}")
    return options


if __name__ == "__main__":
    sys.exit(main())
