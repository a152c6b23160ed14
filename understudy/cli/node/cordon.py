"""`understudy node cordon` and `uncordon`: whether a node gets new pods."""

import argparse
from functools import partial
from typing import TYPE_CHECKING, Any

from understudy.cli.target import Session, add_target, with_session

if TYPE_CHECKING:
    from understudy.client import KubeClient

_CORDON = """\
Cordon nodes: they get no new pods. Pods that are there run on; `understudy node drain` moves them."""
_UNCORDON = """\
Uncordon nodes: they get pods again."""


def add_to(parts: Any) -> None:
    for word, about, closed in (("cordon", _CORDON, True), ("uncordon", _UNCORDON, False)):
        summary = "give nodes no new pods" if closed else "give nodes pods again"
        parser: argparse.ArgumentParser = parts.add_parser(word, help=summary, description=about)
        parser.add_argument("names", metavar="NODE", nargs="+", help="their names")
        add_target(parser)
        parser.set_defaults(run=partial(run, closed))


def run(closed: bool, options: argparse.Namespace) -> int:
    async def work(session: Session) -> int:
        from understudy.cli.node.naming import nodes_named

        for node in await nodes_named(session.client, options.names):
            print(await close(session.client, node, closed))
        return 0

    return with_session(options, work)


async def close(client: "KubeClient", node: dict[str, Any], closed: bool) -> str:
    """Says what was done."""
    from understudy.objects.resources import NODES
    from understudy.ports import PatchForm, Ref

    name, word = node["metadata"]["name"], "cordoned" if closed else "uncordoned"
    if bool(node.get("spec", {}).get("unschedulable")) == closed:
        return f"node/{name} already {word}"
    await client.patch(Ref(NODES, name=name), {"spec": {"unschedulable": closed or None}}, form=PatchForm.MERGE)
    return f"node/{name} {word}"
