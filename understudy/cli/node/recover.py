"""`understudy node recover`: brings nodes back that were made to fail."""

import argparse
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from understudy.cli.target import FAILED, Session, add_target, config_of, with_session

if TYPE_CHECKING:
    from understudy.client import KubeClient

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
    add_target(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from understudy.cli.durations import duration
    from understudy.cli.node.rehearsing import broken_here

    limit = duration(options.timeout, "--timeout")
    return with_session(options, partial(_recover, options, limit, broken_here(config_of(options), options.names)))


async def _recover(options: argparse.Namespace, limit: float, socket: Path, session: Session) -> int:
    import asyncio
    import sys

    from understudy.embedded.agent_protocol import AgentRefused, RecoverNode, ask_agent

    for name in dict.fromkeys(options.names):
        try:
            await ask_agent(socket, RecoverNode(name))  # nothing is done where it has not failed
            await _cure(session, name)
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


async def _cure(session: Session, name: str) -> None:
    import msgspec

    from understudy.cli.node.rehearsing import NOT_FOUND, cures, write
    from understudy.objects.resources import NODES
    from understudy.ports import Ref, Refused

    try:
        node = msgspec.json.decode(await session.client.get(Ref(NODES, name=name)))
    except Refused as error:
        if error.code != NOT_FOUND:
            raise
        return  # it registers anew, and well
    if found := cures(node):
        await write(session.client, name, found)


async def _ready(client: "KubeClient", name: str) -> None:
    """Returns when the node is there, says that it is ready, and nothing keeps pods away that is not meant to."""
    import contextlib

    import msgspec

    from understudy.cli.node.rehearsing import is_well
    from understudy.objects.resources import NODES
    from understudy.ports import ChangeType

    changes = client.follow(NODES, fields=f"metadata.name={name}")
    async with contextlib.aclosing(changes):  # type: ignore[type-var]
        async for change in changes:
            if change.type in (ChangeType.ADDED, ChangeType.MODIFIED) and is_well(msgspec.json.decode(change.raw)):
                return
