"""Node names into node objects; a name that is none is bad input, with the near ones beside it."""

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import msgspec

from understudy.cli.names import node_named
from understudy.objects.resources import NODES
from understudy.ports import Ref, Refused

if TYPE_CHECKING:
    from understudy.client import KubeClient

NOT_FOUND = 404

Document = dict[str, Any]


async def nodes_named(client: "KubeClient", names: Iterable[str]) -> list[Document]:
    """One a name, in their order; all of them are there, or it is bad input."""
    wanted = list(dict.fromkeys(names))
    try:
        found = await asyncio.gather(*(client.get(Ref(NODES, name=name)) for name in wanted))
    except Refused as error:
        if error.code != NOT_FOUND:
            raise
        listed = msgspec.json.decode(await client.get(Ref(NODES)))
        known = [item["metadata"]["name"] for item in listed["items"]]
        for name in wanted:
            node_named(name, known, "NODE")
        raise
    return [msgspec.json.decode(raw) for raw in found]
