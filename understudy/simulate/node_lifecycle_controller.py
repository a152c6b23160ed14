"""Kubernetes' own controllers of nodes and volumes, where the product's do not run: Unknown, taints, evictions."""

from understudy.kinds.annotations import format_time
from understudy.objects.resources import CLAIMS, NODES, PODS, STORAGE_CLASSES, VOLUMES
from understudy.objects.volumes import SELECTED_NODE
from understudy.simulate.api_server import ApiServer, Version
from understudy.simulate.context import SimulationContext
from understudy.simulate.kubelet import LEASE_DURATION, NodeLeases
from understudy.simulate.patches import Document

UNREACHABLE = "node.kubernetes.io/unreachable"
MONITOR = 5.0  # seconds between two checks of the leases
GRACE = LEASE_DURATION + 5.0  # silence after which a node is Unknown
MISSING = 20.0  # seconds after the deletion of a node until its pods are deleted
WRITER = "node-lifecycle"


class NodeLifecycleController:
    """Taints silent nodes, unless all are silent; evicts pods that do not tolerate it; deletes pods of gone nodes."""

    def __init__(self, context: SimulationContext, server: ApiServer, leases: NodeLeases) -> None:
        self._context = context
        self._server = server
        self._leases = leases
        self._gone: dict[str, float] = {}  # deleted node with pods -> since when

    def look(self) -> None:
        context, server = self._context, self._server
        context.loop.call_later(MONITOR, self.look)
        if self._server.is_down:
            return
        now, nodes = context.loop.time(), server.all(NODES)
        silent = {node.uid for node in nodes if now - self._leases.renewed.get(node.name[1], now) > GRACE}
        for node in nodes:
            marked = any(taint["key"] == UNREACHABLE for taint in node.document["spec"].get("taints") or ())
            if node.uid in silent and not marked and len(silent) < len(nodes):
                self._mark(node)
            elif node.uid not in silent and marked:
                self._unmark(node)
        self._evict()
        self._collect({node.name[1] for node in nodes}, now)

    def _mark(self, node: Version) -> None:
        now = format_time(int(self._context.now()))
        self._context.step("unknown", "node", node.name[1])
        taints = [{"key": UNREACHABLE, "effect": effect, "timeAdded": now} for effect in ("NoSchedule", "NoExecute")]
        kept = node.document["spec"].get("taints") or []
        ready = {"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown", "lastTransitionTime": now}
        patch: Document = {"spec": {"taints": [*kept, *taints]}, "status": {"conditions": [ready]}}
        self._server.merge(node, patch, WRITER)

    def _unmark(self, node: Version) -> None:
        self._context.step("known", "node", node.name[1])
        taints = [taint for taint in node.document["spec"]["taints"] if taint["key"] != UNREACHABLE]
        self._server.merge(node, {"spec": {"taints": taints}}, WRITER)

    def _evict(self) -> None:
        """The taint manager: deletes pods that do not tolerate a NoExecute taint, in the order of their names."""
        server = self._server
        driven = {
            node.name[1]
            for node in server.all(NODES)
            if any(taint["effect"] == "NoExecute" for taint in node.document["spec"].get("taints") or ())
        }
        for pod in server.all(PODS) if driven else ():
            if pod.node in driven and not pod.leaving and not pod.document["spec"].get("tolerations"):
                self._context.step("evict", "pod", pod.name[1])
                server.remove(pod, None, "", WRITER)

    def _collect(self, nodes: set[str], now: float) -> None:
        """Deletes pods of deleted nodes."""
        lost = [pod for pod in self._server.all(PODS) if pod.node and pod.node not in nodes]
        self._gone = {pod.node: self._gone.get(pod.node, now) for pod in lost}
        for pod in lost:
            if now - self._gone[pod.node] >= MISSING:
                self._context.step("collect", "pod", pod.name[1])
                self._server.remove(pod, 0, "", WRITER)


class VolumeProvisioner:
    """Creates volumes for claims: at once, or for the selected node where the class waits for a consumer."""

    def __init__(self, context: SimulationContext, server: ApiServer) -> None:
        self._context = context
        self._server = server
        self._channel = context.channels.channel("provisioner")

    def observe(self, _: Version | None, after: Version | None, __: str) -> None:
        if after is not None and after.resource.key == CLAIMS.key and not after.document["spec"].get("volumeName"):
            self._context.loop.call_later(0.1 + 2.0 * self._channel.share(), self._provide, after.uid)

    def _provide(self, uid: str) -> None:
        server, claim = self._server, self._server.by_uid.get(uid)
        if claim is None or claim.document["spec"].get("volumeName"):
            return
        waits = False
        if (name := claim.document["spec"].get("storageClassName")) is not None:
            known = server.objects[STORAGE_CLASSES.key].get(("", name))
            waits = known is None or known.document.get("volumeBindingMode") == "WaitForFirstConsumer"
        if waits and not claim.metadata.get("annotations", {}).get(SELECTED_NODE):
            return
        volume = f"volume-{claim.name[1]}"
        self._context.step("provision", "claim", claim.name[1])
        ref = {"namespace": claim.name[0], "name": claim.name[1], "uid": claim.uid}
        document = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": volume}}
        spec = {"claimRef": ref, "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteMany"]}
        if server.objects[VOLUMES.key].get(("", volume)) is None:
            server.create(VOLUMES, {**document, "spec": spec}, "provisioner")
        server.merge(claim, {"spec": {"volumeName": volume}, "status": {"phase": "Bound"}}, "provisioner")
