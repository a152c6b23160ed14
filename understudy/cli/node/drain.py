"""`understudy node drain`: cordons nodes and moves their pods away, as disruption budgets allow."""

import argparse
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

from understudy.cli.complaint import BadInput, listed
from understudy.cli.target import FAILED, Session, add_target, with_session

if TYPE_CHECKING:
    from understudy.objects.pods import Pod

_ABOUT = """\
Drain nodes: cordon them, then evict their pods, each with its grace period and as its
PodDisruptionBudget allows, and wait until they are gone. Jobs make their pods anew elsewhere.
Pods of DaemonSets stay. Pods that nobody would make again are kept unless --force is given."""

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
    parser.add_argument("--force", action="store_true", help="also evict pods that nobody would make again")
    parser.add_argument("--grace-period", metavar="SECONDS", type=int, help="instead of what each pod asks for")
    parser.add_argument(
        "--timeout", metavar="TIME", default=LIMIT, help=f"give up after this time; 0: never (default: {LIMIT})"
    )
    add_target(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from understudy.cli.durations import duration

    if options.grace_period is not None and options.grace_period < 0:
        raise BadInput(f"--grace-period {options.grace_period}: seconds cannot be negative; 0 kills at once")
    return with_session(options, partial(_drain, options, duration(options.timeout, "--timeout")))


async def _drain(options: argparse.Namespace, limit: float, session: Session) -> int:
    import asyncio

    from understudy.cli.node.cordon import close
    from understudy.cli.node.naming import nodes_named

    nodes = await nodes_named(session.client, options.names)
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


async def _leaving(session: Session, node: dict[str, Any], *, force: bool) -> tuple["Pod", ...]:
    """Decided for all nodes before the first is touched."""
    from understudy.cli.awaiting import Which, pods_now
    from understudy.cli.node.evicting import named, sorted_out

    name = node["metadata"]["name"]
    pods = await pods_now(session.client, Which(fields=f"spec.nodeName={name}"))
    found = sorted_out(pods.values())
    if found.bare and not force:
        raise BadInput(f"node {name}: nobody would make {listed(named(found.bare))} again; --force evicts them too")
    if found.staying:
        _say(f"node/{name}: pods of DaemonSets stay: {listed(named(found.staying))}")
    return found.leaving


async def _empty(session: Session, name: str, pods: tuple["Pod", ...], options: argparse.Namespace) -> None:
    from understudy.cli.awaiting import Pods, Which, until_pods
    from understudy.cli.node.evicting import Eviction

    await Eviction(session.client, _say, options.grace_period).carry_out(pods)
    uids = {pod.metadata.uid for pod in pods}

    def gone(left: Pods) -> bool:
        return not uids & {pod.metadata.uid for pod in left.values()}

    await until_pods(session.client, Which(fields=f"spec.nodeName={name}"), gone, 0)
    _say(f"node/{name} drained")


def _say(line: str) -> None:
    print(line, flush=True)
