"""`understudy node notice`: a rehearsal. Nodes announce that their machines will go, or take that back."""

import argparse
import asyncio
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from understudy.cli.errors import BadInput
from understudy.cli.input.times import long_duration, parse_duration, parse_time, rfc3339
from understudy.cli.options import add_cluster_options
from understudy.cli.queries.nodes import find_nodes
from understudy.cli.session import FAILED, Session, client_config, run_in_session
from understudy.cli.verbs.node.faults import agent_socket_of
from understudy.client import KubeClient
from understudy.embedded.agent_protocol import AgentRefused, FailNode, ask_agent
from understudy.kinds.annotations import NOTICE
from understudy.model.nodes import Notice
from understudy.node_agent.notices.notice_annotation import change_notice, notice_in
from understudy.node_agent.notices.sources import CLOUDS
from understudy.objects.resources import NODES
from understudy.ports import PatchForm, Ref

_ABOUT = """\
Rehearse that machines will go: write on nodes the notice that a cloud would give, with its
deadline. The nodes are leaving from then on, and gangs move away before the deadline. With
--withdraw the notice is taken back.

The machines themselves stay as they are. On an embedded cluster --then-fail waits for the deadline
and lets the nodes die then, as `understudy node fail` does, so that the eviction is real."""

_EXAMPLES = """\
examples:
  understudy node notice spot-0 --in 30s
  understudy node notice spot-0 spot-1 --in 30s --cloud azure --then-fail
  understudy node notice spot-0 --at 2026-01-31T12:00:00Z --cause Reboot
  understudy node notice spot-0 --withdraw"""

REHEARSAL = "rehearsal"  # the source of a notice that is of no cloud
CAUSES = {"azure": "Preempt", "aws": "spot-terminate", "gcp": "preempted", REHEARSAL: "rehearsed"}
_LONGEST_CAUSE = 40


def add_to(parts: Any) -> None:
    parser: argparse.ArgumentParser = parts.add_parser(
        "notice", help="rehearse the notice that machines will go", description=_ABOUT, epilog=_EXAMPLES
    )
    parser.add_argument("names", metavar="NODE", nargs="+", help="their names")
    when = parser.add_mutually_exclusive_group(required=True)
    when.add_argument("--in", dest="within", metavar="TIME", help="the machines go after this time, such as 30s")
    when.add_argument("--at", metavar="TIME", help="the machines go at this time, such as 2026-01-31T12:00:00Z")
    when.add_argument("--withdraw", action="store_true", help="take the notice back")
    parser.add_argument("--cloud", choices=CLOUDS, help="give the notice in the name of this cloud")
    parser.add_argument("--cause", metavar="WORD", help="the event (default: the cloud's for a spot machine)")
    parser.add_argument(
        "--replace", action="store_true", help="also where a node has a notice with an earlier deadline"
    )
    parser.add_argument(
        "--then-fail", action="store_true", help="let the nodes die at the deadline (embedded clusters only)"
    )
    add_cluster_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    if options.withdraw:
        for flag in ("cloud", "cause", "replace", "then_fail"):
            if getattr(options, flag):
                raise BadInput(f"--{flag.replace('_', '-')}: a notice that is withdrawn has none; leave it out")
        return run_in_session(options, partial(_withdraw, options.names))
    notice = rehearsed_notice(options, time.time())
    socket = agent_socket_of(client_config(options), options.names) if options.then_fail else None
    return run_in_session(options, partial(_give, options, notice, socket))


def rehearsed_notice(options: argparse.Namespace, now: float) -> Notice:
    source = options.cloud or REHEARSAL
    cause = options.cause if options.cause is not None else CAUSES[source]
    if not (cause.isascii() and cause.replace("-", "").replace("_", "").isalnum()) or len(cause) > _LONGEST_CAUSE:
        raise BadInput(f"--cause {cause!r}: write one word of letters, digits, - and _, such as Preempt")
    if options.within is not None:
        deadline, given = now + parse_duration(options.within, "--in"), f"--in {options.within}"
    else:
        deadline, given = parse_time(options.at, "--at", now), f"--at {options.at}"
    if deadline <= now:
        raise BadInput(f"{given}: the deadline is in the past; a notice is about a machine that will go")
    return Notice(round(deadline, 3), source, cause, round(now, 3))


async def _give(options: argparse.Namespace, notice: Notice, socket: Path | None, session: Session) -> int:
    nodes = await find_nodes(session.client, options.names)
    names = [node["metadata"]["name"] for node in nodes]
    if not options.replace:
        for node in nodes:
            _refuse_if_earlier(node, notice)
    changes = await asyncio.gather(
        *(change_notice(session.client, name, partial(_decided, notice, options.replace)) for name in names)
    )
    words = f"its machine goes in {long_duration(notice.deadline - time.time())}, at {rfc3339(notice.deadline)}"
    failed = False
    for name, change in zip(names, changes, strict=True):
        if change.after == notice:
            print(f"node/{name} has a notice: {words}", flush=True)
        elif change.after is not None:
            failed = True
            print(f"understudy: {_has_earlier(name, change.after)}", file=sys.stderr)
    if socket is None:
        return FAILED if failed else 0
    given = [name for name, change in zip(names, changes, strict=True) if change.after == notice]
    return FAILED if await _fail_at_deadline(session.client, socket, given, notice) or failed else 0


def _decided(notice: Notice, replace: bool, present: Notice | None) -> Notice:
    """Another notice may have come since the nodes were read."""
    return present if present is not None and not replace and present.deadline <= notice.deadline else notice


def _refuse_if_earlier(node: dict[str, Any], notice: Notice) -> None:
    name = node["metadata"]["name"]
    present = notice_in(name, node["metadata"].get("annotations") or {})
    if present is not None and present.deadline <= notice.deadline:
        raise BadInput(_has_earlier(name, present))


def _has_earlier(name: str, present: Notice) -> str:
    source = f" of {present.source}" if present.source else ""
    deadline = rfc3339(present.deadline)
    return (
        f"node {name} has a notice{source} with an earlier deadline, {deadline}; --replace puts this one in its place"
    )


async def _fail_at_deadline(client: KubeClient, socket: Path, names: Sequence[str], notice: Notice) -> bool:
    """Makes the nodes fail at the deadline. Returns whether any could not be. A node whose notice was withdrawn or
    replaced meanwhile is left alone."""
    await asyncio.sleep(max(0.0, notice.deadline - time.time()))
    wrong = False
    for node in await find_nodes(client, names):
        name = node["metadata"]["name"]
        if notice_in(name, node["metadata"].get("annotations") or {}) != notice:
            print(f"node/{name} lives on: the notice was withdrawn or replaced", flush=True)
            continue
        try:
            await ask_agent(socket, FailNode(name, "kill"))
        except AgentRefused as error:
            wrong = True
            print(f"understudy: node {name} does not fail: {error}", file=sys.stderr)
        else:
            print(f"node/{name} is dead: its machine is gone", flush=True)
    return wrong


async def _withdraw(names: Sequence[str], session: Session) -> int:
    for node in await find_nodes(session.client, names):
        name = node["metadata"]["name"]
        if NOTICE not in (node["metadata"].get("annotations") or {}):
            print(f"node/{name} has no notice")
            continue
        patch = {"metadata": {"annotations": {NOTICE: None}}}
        await session.client.patch(Ref(NODES, name=name), patch, form=PatchForm.MERGE)
        print(f"node/{name}: the notice is withdrawn")
    return 0
