"""When something was last wrong with a node, as far as a scheduler could see it: silence, taints, a cordon, a drain."""

from collections.abc import Iterable

from understudy.kinds.annotations import FAILED_AT, FENCED, NOTICE, PREFIX
from understudy.objects.resources import NODES
from understudy.simulate.api_server import Version
from understudy.simulate.cluster import SimulatedCluster
from understudy.simulate.kubelet import RENEW

MARKS = (f"{PREFIX}drain-deadline", FENCED, NOTICE)  # annotations of nodes that get no pods
SILENT = RENEW + 2.0  # seconds without a renewal after which a node is silent


class NodeTroubles:
    def __init__(self, cluster: SimulatedCluster) -> None:
        self._cluster = cluster
        self._loop = cluster.context.loop
        self._last: dict[str, float] = {}  # node -> when something was last wrong with it
        self._since: dict[str, float] = {}  # node with which something is wrong -> since when that is known
        cluster.server.observers.append(self._observe)

    def note(self, nodes: Iterable[str]) -> None:
        """Something begins or ends to be wrong with these nodes."""
        now = self._loop.time()
        for node in nodes:
            self._last[node] = now
            self._since.setdefault(node, now)

    def _observe(self, before: Version | None, after: Version | None, _: str) -> None:
        version = after or before
        assert version is not None
        if version.resource is NODES and before is not None and (_is_ill(before) or after is None or _is_ill(after)):
            self.note([version.name[1]])

    def last(self, node: str) -> float:
        """When something was last wrong with the node: now, or in the past, or never (minus infinity)."""
        if self.is_troubled(node):
            self.note([node])
        return self._last.get(node, float("-inf"))

    def since(self, node: str) -> float:
        """Since when something is wrong with the node; minus infinity if it is well."""
        if not self.is_troubled(node):
            self._since.pop(node, None)
            return float("-inf")
        return self._since.setdefault(node, self._loop.time())

    def failed(self, node: str) -> bool:
        """Whether failures of the node are recorded: it is a last choice, or gets no pods at all."""
        known = self._cluster.server.objects[NODES.key].get(("", node))
        return known is not None and FAILED_AT in known.metadata.get("annotations", {})

    def is_troubled(self, node: str) -> bool:
        known = self._cluster.server.objects[NODES.key].get(("", node))
        kubelet, leases = self._cluster.kubelets[node], self._cluster.leases
        silent = self._loop.time() - leases.renewed.get(node, 0.0) > SILENT
        return known is None or not kubelet.heard or silent or _is_ill(known)


def _is_ill(node: Version) -> bool:
    """By what the API says about it."""
    spec = node.document["spec"]
    notes = node.metadata.get("annotations", {})
    if spec.get("unschedulable") or spec.get("taints") or any(mark in notes for mark in MARKS):
        return True
    conditions = node.document.get("status", {}).get("conditions", ())
    return any(one["type"] == "Ready" and one["status"] != "True" for one in conditions)
