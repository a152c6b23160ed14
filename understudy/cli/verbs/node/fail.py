"""`understudy node fail`: a rehearsal. A virtual node of an embedded cluster dies, in one of several ways."""

import argparse
import sys
from functools import partial
from pathlib import Path
from typing import Any

from understudy.cli.options import add_cluster_options
from understudy.cli.queries.nodes import find_nodes
from understudy.cli.session import FAILED, Session, client_config, run_in_session
from understudy.cli.verbs.node.faults import (
    AGENT_FAILURES,
    agent_socket_of,
    delete_node,
    fault_condition,
    write_conditions,
)
from understudy.embedded.agent_protocol import AgentRefused, FailNode, ask_agent

_ABOUT = """\
Let nodes of an embedded cluster fail, to see what happens to the jobs on them. The nodes are
virtual, their pods are real processes, and there is no warning. On any other cluster it is refused.

  kill      the power is cut: processes die, and the loss of the connection tells it at once (the default)
  freeze    it hangs: processes stand still, nothing is heard of it, the lease runs out
  unplug    its network is gone: processes run on, nothing is heard of it, the lease runs out
  vanish    like kill, and the Node object is deleted, as when a cloud takes a machine back
  notready  it says itself that it is not well; processes run on until they are moved
  gpu       an accelerator is reported as broken; processes run on until they are moved

`understudy node recover` brings a node back."""

_EXAMPLES = """\
examples:
  understudy node fail slice-a-0
  understudy node fail slice-a-0 slice-b-1 --how freeze"""

_TOLD = {
    "kill": "is dead: its processes are killed, without a warning",
    "freeze": "hangs: its processes stand still, without notice",
    "unplug": "is cut off: its processes run on, without notice",
    "vanish": "has vanished: its processes are killed, and its Node is deleted",
    "notready": "says that it is not ready",
    "gpu": "has a broken accelerator, says its monitor",
}


def add_to(parts: Any) -> None:
    parser: argparse.ArgumentParser = parts.add_parser(
        "fail", help="rehearse the failure of nodes (embedded clusters only)", description=_ABOUT, epilog=_EXAMPLES
    )
    parser.add_argument("names", metavar="NODE", nargs="+", help="their names")
    parser.add_argument("--how", choices=tuple(_TOLD), default="kill", help="in which way (default: kill)")
    add_cluster_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    return run_in_session(options, partial(_fail, options, agent_socket_of(client_config(options), options.names)))


async def _fail(options: argparse.Namespace, socket: Path, session: Session) -> int:
    await find_nodes(session.client, options.names)
    for name in dict.fromkeys(options.names):
        try:
            await _one(session, socket, name, options.how)
        except AgentRefused as error:
            print(f"understudy: node {name} does not fail: {error}", file=sys.stderr)
            return FAILED
        print(f"node/{name} {_TOLD[options.how]}", flush=True)
    return 0


async def _one(session: Session, socket: Path, name: str, how: str) -> None:
    if (condition := fault_condition(how)) is not None:
        await write_conditions(session.client, name, [condition])
        return
    await ask_agent(socket, FailNode(name, AGENT_FAILURES[how]))
    if how == "vanish":
        await delete_node(session.client, name)
