"""`understudy node drain`: cordons nodes and evicts their pods, as disruption budgets allow."""

import argparse
import asyncio
import contextlib
import sys
import time
from collections.abc import Callable, Iterable
from functools import partial
from http import HTTPStatus
from typing import Any

import msgspec

from understudy.cli.errors import BadInput, short_list
from understudy.cli.input.times import parse_duration
from understudy.cli.options import add_cluster_options
from understudy.cli.queries.nodes import find_nodes
from understudy.cli.queries.pod_watch import Pods, PodSelection, current_pods, wait_for_pods
from understudy.cli.session import FAILED, Session, run_in_session
from understudy.cli.verbs.node.cordon import close
from understudy.cli.views.evictions import DRAINED, drain_message
from understudy.client import KubeClient
from understudy.control.record.event_formats import CoreEventFormat, EventSubject, EventText
from understudy.objects.pods import ENDED_PHASES, Pod
from understudy.objects.resources import EVENTS, PODS
from understudy.ports import Ref, Refused

_ABOUT = """\
Drain nodes: cordon them, then evict their pods, each with its grace period and as its
PodDisruptionBudget allows, and wait until they are gone. Jobs make their pods anew elsewhere.
Pods of DaemonSets stay. Pods without a controller are kept unless --force is given."""
_EXAMPLES = """\
examples:
  understudy node drain slice-a-0 slice-a-1
  understudy node drain node-7 --force --timeout 2m"""
LIMIT = "10m"


def add_to(parts: Any) -> None:
    parser: argparse.ArgumentParser = parts.add_parser(
        "drain", help="move all pods away from nodes", description=_ABOUT, epilog=_EXAMPLES
    )
    parser.add_argument("names", metavar="NODE", nargs="+", help="their names")
    parser.add_argument("--force", action="store_true", help="also evict pods without a controller")
    parser.add_argument("--grace-period", metavar="SECONDS", type=int, help="instead of what each pod asks for")
    parser.add_argument(
        "--timeout", metavar="TIME", default=LIMIT, help=f"give up after this time; 0: never (default: {LIMIT})"
    )
    add_cluster_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    if options.grace_period is not None and options.grace_period < 0:
        raise BadInput(f"--grace-period {options.grace_period}: seconds cannot be negative; 0 kills at once")
    return run_in_session(options, partial(_drain, options, parse_duration(options.timeout, "--timeout")))


async def _drain(options: argparse.Namespace, limit: float, session: Session) -> int:
    nodes = await find_nodes(session.client, options.names)
    leaving = {node["metadata"]["name"]: await _leaving(session, node, force=options.force) for node in nodes}
    for node in nodes:
        _say(await close(session.client, node, closed=True))
    try:
        async with asyncio.timeout(limit or None):
            await asyncio.gather(*(_empty(session, name, pods, options) for name, pods in leaving.items()))
    except TimeoutError:
        print(f"understudy: not empty after {options.timeout}; the nodes stay cordoned", file=sys.stderr)
        return FAILED
    return 0


async def _leaving(session: Session, node: dict[str, Any], *, force: bool) -> tuple[Pod, ...]:
    """Decided for all nodes before the first is touched."""
    name = node["metadata"]["name"]
    pods = await current_pods(session.client, PodSelection(fields=f"spec.nodeName={name}"))
    found = sort_pods(pods.values())
    if found.bare and not force:
        raise BadInput(
            f"node {name}: {short_list(pod_names(found.bare))} would not be made again; --force evicts them too"
        )
    if found.staying:
        _say(f"node/{name}: pods of DaemonSets stay: {short_list(pod_names(found.staying))}")
    return found.leaving


async def _empty(session: Session, name: str, pods: tuple[Pod, ...], options: argparse.Namespace) -> None:
    await Eviction(session.client, _say, options.grace_period).carry_out(pods)
    uids = {pod.metadata.uid for pod in pods}

    def gone(left: Pods) -> bool:
        return not uids & {pod.metadata.uid for pod in left.values()}

    await wait_for_pods(session.client, PodSelection(fields=f"spec.nodeName={name}"), gone, 0)
    _say(f"node/{name} drained")


def _say(line: str) -> None:
    print(line, flush=True)


MIRROR = "kubernetes.io/config.mirror"  # the pod is only the shadow of a file on the node
AGAIN = 1.0  # seconds after which a pod that its budget kept is tried again


class DrainPods(msgspec.Struct, frozen=True):
    """The pods of a node."""

    leaving: tuple[Pod, ...] = ()
    bare: tuple[Pod, ...] = ()  # of those: pods without a controller, which are not made again
    staying: tuple[Pod, ...] = ()  # at home on this node


def sort_pods(pods: Iterable[Pod]) -> DrainPods:
    leaving, bare, staying = [], [], []
    for pod in pods:
        owner = pod.metadata.controller
        if MIRROR in pod.metadata.annotations or (owner is not None and owner.kind in ("DaemonSet", "Node")):
            staying.append(pod)
            continue
        leaving.append(pod)
        if owner is None and pod.status.phase not in ENDED_PHASES:
            bare.append(pod)
    return DrainPods(tuple(leaving), tuple(bare), tuple(staying))


def pod_names(pods: Iterable[Pod]) -> list[str]:
    return sorted(f"{pod.metadata.namespace}/{pod.metadata.name}" for pod in pods)


class Eviction(msgspec.Struct, frozen=True):
    """Pods that are made to leave; `say` gets a line whenever something happens."""

    client: KubeClient
    say: Callable[[str], None]
    grace: int | None = None

    async def carry_out(self, pods: Iterable[Pod]) -> None:
        """Returns when all evictions are accepted. A disruption budget may delay that without a limit."""
        await asyncio.gather(*(self._evict(pod) for pod in pods))

    async def _evict(self, pod: Pod) -> None:
        [name] = pod_names([pod])
        self.say(f"evicting pod {name}")
        kept = False
        while (refusal := await self._asked(pod)) is not None:
            if not kept:
                self.say(f"pod {name} stays for now: {refusal}")
            kept = True
            await asyncio.sleep(AGAIN)
        await self._record(pod)

    async def _record(self, pod: Pod) -> None:
        """Records the drain as an event, which outlives the pod, for `understudy why`. A user who may not write events
        gets none."""
        text = EventText(DRAINED, drain_message(pod.spec.node_name))
        event = CoreEventFormat().new(
            f"{pod.metadata.name[:200]}.{pod.metadata.uid}", EventSubject.of(pod), text, time.time()
        )
        with contextlib.suppress(Refused):
            await self.client.create(Ref(EVENTS, pod.metadata.namespace), event)

    async def _asked(self, pod: Pod) -> str | None:
        """Asks for the eviction of the pod. Returns why it is refused; None when the pod goes."""
        meta = pod.metadata
        options: dict[str, Any] = {"preconditions": {"uid": meta.uid}}
        if self.grace is not None:
            options["gracePeriodSeconds"] = self.grace
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": meta.name, "namespace": meta.namespace},
            "deleteOptions": options,
        }
        try:
            await self.client.create(Ref(PODS, meta.namespace, meta.name), body, "eviction")
        except Refused as error:
            if error.code == HTTPStatus.TOO_MANY_REQUESTS:
                return error.message
            if error.code not in (HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT):  # it is gone, or another one has its name
                raise
        return None
