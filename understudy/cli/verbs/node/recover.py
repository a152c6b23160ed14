"""`understudy node recover`: brings nodes back that were made to fail."""

import argparse
import asyncio
import contextlib
import sys
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any

import msgspec

from understudy.cli.input.times import parse_duration
from understudy.cli.options import add_cluster_options
from understudy.cli.session import FAILED, Session, client_config, run_in_session
from understudy.cli.verbs.node.faults import (
    agent_socket_of,
    is_recovered,
    recovery_conditions,
    write_conditions,
)
from understudy.client import KubeClient
from understudy.embedded.agent_protocol import AgentRefused, RecoverNode, ask_agent
from understudy.objects.resources import NODES
from understudy.ports import ChangeType, Ref, Refused

_ABOUT = """\
Bring back nodes of an embedded cluster that `understudy node fail` broke, and wait until they are
ready. A node that was killed or hung boots anew: what is left of its processes is killed first,
so that none of them runs beside the one that took its place. One that was unplugged goes on with
those of its pods that were not deleted meanwhile."""

_EXAMPLES = """\
examples:
  understudy node recover slice-a-0"""

LIMIT = "1m"


def add_to(parts: Any) -> None:
    parser: argparse.ArgumentParser = parts.add_parser(
        "recover", help="bring nodes back that were made to fail", description=_ABOUT, epilog=_EXAMPLES
    )
    parser.add_argument("names", metavar="NODE", nargs="+", help="their names")
    parser.add_argument("--timeout", metavar="TIME", default=LIMIT, help=f"give up after this time (default: {LIMIT})")
    add_cluster_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    limit = parse_duration(options.timeout, "--timeout")
    return run_in_session(
        options, partial(_recover, options, limit, agent_socket_of(client_config(options), options.names))
    )


async def _recover(options: argparse.Namespace, limit: float, socket: Path, session: Session) -> int:
    for name in dict.fromkeys(options.names):
        try:
            await ask_agent(socket, RecoverNode(name))  # nothing is done where it has not failed
            await _clear_fault(session, name)
            async with asyncio.timeout(limit or None):
                await _ready(session.client, name)
        except AgentRefused as error:
            print(f"understudy: node {name} does not recover: {error}", file=sys.stderr)
            return FAILED
        except TimeoutError:
            print(f"understudy: node {name} is not ready after {options.timeout}", file=sys.stderr)
            return FAILED
        print(f"node/{name} is ready", flush=True)
    return 0


async def _clear_fault(session: Session, name: str) -> None:
    try:
        node = msgspec.json.decode(await session.client.get(Ref(NODES, name=name)))
    except Refused as error:
        if error.code != HTTPStatus.NOT_FOUND:
            raise
        return  # it registers again, as a healthy node
    if found := recovery_conditions(node):
        await write_conditions(session.client, name, found)


async def _ready(client: KubeClient, name: str) -> None:
    """Returns when the node exists, is ready, and has no taint that keeps pods away because of the fault."""
    changes = client.follow(NODES, fields=f"metadata.name={name}")
    async with contextlib.aclosing(changes):  # type: ignore[type-var]
        async for change in changes:
            if change.type in (ChangeType.ADDED, ChangeType.MODIFIED) and is_recovered(msgspec.json.decode(change.raw)):
                return
