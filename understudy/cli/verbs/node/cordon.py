"""`understudy node cordon` and `uncordon`: whether a node gets new pods."""

import argparse
from functools import partial
from typing import Any

from understudy.cli.options import add_cluster_options
from understudy.cli.queries.nodes import find_nodes
from understudy.cli.session import Session, run_in_session
from understudy.client import KubeClient
from understudy.objects.resources import NODES
from understudy.ports import PatchForm, Ref

_CORDON = """\
Cordon nodes: they get no new pods. Pods that are there run on; `understudy node drain` moves them."""
_UNCORDON = """\
Uncordon nodes: they get pods again."""


def add_to(parts: Any) -> None:
    for word, about, closed in (("cordon", _CORDON, True), ("uncordon", _UNCORDON, False)):
        summary = "give nodes no new pods" if closed else "give nodes pods again"
        parser: argparse.ArgumentParser = parts.add_parser(word, help=summary, description=about)
        parser.add_argument("names", metavar="NODE", nargs="+", help="their names")
        add_cluster_options(parser)
        parser.set_defaults(run=partial(run, closed))


def run(closed: bool, options: argparse.Namespace) -> int:
    async def work(session: Session) -> int:
        for node in await find_nodes(session.client, options.names):
            print(await close(session.client, node, closed))
        return 0

    return run_in_session(options, work)


async def close(client: KubeClient, node: dict[str, Any], closed: bool) -> str:
    """Cordons or uncordons the node. Returns a line that says what was done."""
    name, word = node["metadata"]["name"], "cordoned" if closed else "uncordoned"
    if bool(node.get("spec", {}).get("unschedulable")) == closed:
        return f"node/{name} already {word}"
    await client.patch(Ref(NODES, name=name), {"spec": {"unschedulable": closed or None}}, form=PatchForm.MERGE)
    return f"node/{name} {word}"
