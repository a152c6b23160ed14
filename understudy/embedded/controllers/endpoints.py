"""Endpoints of Services: the addresses and ports of the pods that a Service selects."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

import msgspec

from understudy.embedded.controllers.runtime.controller import ChangeHandler
from understudy.embedded.controllers.runtime.object_version import ObjectChange, ObservedPod
from understudy.embedded.controllers.runtime.work_queue import WorkQueue
from understudy.embedded.label_index import LabeledObjects, LabelSelectors
from understudy.kinds.children.partial_objects import PartialObject
from understudy.objects.meta import Part
from understudy.objects.resources import ENDPOINTS, PODS, SERVICES, Resource
from understudy.ports import Clock, Cluster, PatchForm, Ref, Refused

QUIET = 0.05  # seconds in which changes of pods are batched
PER_POD = 100e-6  # seconds added for each pod that the Service selects, since each reconcile looks at all of them
MANAGED = "endpoints.kubernetes.io/managed-by"
OURS = "endpoint-controller"


class ServicePort(Part, frozen=True, gc=False):
    port: int
    name: str = ""
    protocol: str = "TCP"
    target_port: int | str | None = None


class ServiceSpec(Part, frozen=True, gc=False):
    selector: Mapping[str, str] = {}
    ports: tuple[ServicePort, ...] = ()
    type: str = "ClusterIP"
    publish_not_ready_addresses: bool = False


class Service(PartialObject, frozen=True, gc=False, kw_only=True):
    spec: ServiceSpec = ServiceSpec()


Ports = tuple[tuple[str, int, str], ...]  # name, number, protocol


def subsets_of(service: Service, pods: Sequence[ObservedPod]) -> list[dict[str, Any]]:
    """Of the pods that the Service selects. Those with equal ports form one subset."""
    groups: dict[Ports, dict[str, list[dict[str, Any]]]] = {}
    for pod in sorted(pods, key=lambda each: each.metadata.name):
        meta = pod.metadata
        if not pod.status.pod_ip or pod.finished:
            continue
        ready = (pod.ready and not meta.leaving) or service.spec.publish_not_ready_addresses
        group = groups.setdefault(_ports(service, pod), {})
        group.setdefault("addresses" if ready else "notReadyAddresses", []).append(_address(service, pod))
    return [
        {**addresses, **({"ports": [_port(*port) for port in ports]} if ports else {})}
        for ports, addresses in sorted(groups.items())
    ]


def _address(service: Service, pod: ObservedPod) -> dict[str, Any]:
    meta = pod.metadata
    target = {"kind": "Pod", "namespace": meta.namespace, "name": meta.name, "uid": meta.uid}
    address: dict[str, Any] = {"ip": pod.status.pod_ip, "targetRef": target}
    if pod.spec.node_name:
        address["nodeName"] = pod.spec.node_name
    if pod.spec.hostname and pod.spec.subdomain == service.metadata.name:
        address["hostname"] = pod.spec.hostname
    return address


def _ports(service: Service, pod: ObservedPod) -> Ports:
    found = []
    for port in service.spec.ports:
        number = _number(port, pod)
        if number is not None:
            found.append((port.name, number, port.protocol))
    return tuple(found)


def _number(port: ServicePort, pod: ObservedPod) -> int | None:
    """None: the pod has no port of that name."""
    target = port.port if port.target_port is None else port.target_port
    if isinstance(target, int):
        return target
    named = (each for container in pod.spec.containers for each in container.ports if each.name == target)
    return next((each.container_port for each in named if each.protocol == port.protocol), None)


def _port(name: str, number: int, protocol: str) -> dict[str, Any]:
    return {**({"name": name} if name else {}), "port": number, "protocol": protocol}


class EndpointsController:
    """Keys are `namespace/name` of a Service. Endpoints of Services without a selector are managed by users."""

    name = "endpoints"

    def __init__(self, cluster: Cluster, clock: Clock) -> None:
        self.queue: WorkQueue[str] = WorkQueue(clock)
        self._cluster = cluster
        self._clock = clock
        self._services: dict[str, Service] = {}
        self._selectors: LabelSelectors[str] = LabelSelectors()  # of Services
        self._pods: dict[str, ObservedPod] = {}
        self._labels: LabeledObjects[str] = LabeledObjects()  # of pods
        self._endpoints: dict[str, bytes] = {}
        self._selected: dict[str, int] = {}  # by Service, how many pods it selected at the last look

    def watches(self) -> Mapping[Resource, ChangeHandler]:
        return {SERVICES: self._on_service, ENDPOINTS: self._on_endpoints, PODS: self._on_pod}

    def _on_service(self, change: ObjectChange) -> None:
        service = change.read(Service)
        meta = service.metadata
        key = f"{meta.namespace}/{meta.name}"
        if change.is_deleted:
            self._services.pop(key, None)
            self._selected.pop(key, None)
            self._selectors.remove(key)
        else:
            self._services[key] = service
            self._selectors.put(key, meta.namespace, service.spec.selector)
        self.queue.add(key)

    def _on_endpoints(self, change: ObjectChange) -> None:
        meta = change.read(PartialObject).metadata
        key = f"{meta.namespace}/{meta.name}"
        if change.is_deleted:
            self._endpoints.pop(key, None)
        else:
            self._endpoints[key] = change.raw
        self.queue.add(key)

    def _on_pod(self, change: ObjectChange) -> None:
        pod = change.read(ObservedPod)
        meta = pod.metadata
        key = f"{meta.namespace}/{meta.name}"
        before = self._pods.pop(key, None)
        if change.is_deleted:
            self._labels.remove(key)
        else:
            self._pods[key] = pod
            self._labels.put(key, meta.namespace, meta.labels)
        self._queue_services_of(meta.namespace, meta.labels)
        if before is not None and before.metadata.labels != meta.labels:
            self._queue_services_of(meta.namespace, before.metadata.labels)

    def _queue_services_of(self, namespace: str, labels: Mapping[str, str]) -> None:
        for key in self._selectors.matching(namespace, labels):
            self.queue.add_at(key, self._clock.now() + QUIET + PER_POD * self._selected.get(key, 0))

    def _pods_of(self, service: Service) -> list[ObservedPod]:
        selected = self._labels.matching(service.metadata.namespace, service.spec.selector)
        return [self._pods[key] for key in selected]

    async def reconcile(self, key: str) -> float | None:
        namespace, _, name = key.partition("/")
        service = self._services.get(key)
        raw = self._endpoints.get(key)
        known = msgspec.json.decode(raw) if raw is not None else None
        ref = Ref(ENDPOINTS, namespace, name)
        try:
            if service is None:
                await self._take_away(ref, known)
            elif service.spec.selector and service.spec.type != "ExternalName":
                pods = self._pods_of(service)
                self._selected[key] = len(pods)
                await self._write(ref, known, subsets_of(service, pods))
        except Refused as error:
            if error.code not in (
                HTTPStatus.NOT_FOUND,
                HTTPStatus.CONFLICT,
            ):  # another writer was quicker; the watch will tell
                raise
        return None

    async def _take_away(self, ref: Ref, known: dict[str, Any] | None) -> None:
        if known is not None and known["metadata"].get("labels", {}).get(MANAGED) == OURS:
            await self._cluster.delete(ref, uid=known["metadata"]["uid"])

    async def _write(self, ref: Ref, known: dict[str, Any] | None, subsets: list[dict[str, Any]]) -> None:
        if known is None:
            metadata = {"name": ref.name, "namespace": ref.namespace, "labels": {MANAGED: OURS}}
            body = {"apiVersion": "v1", "kind": "Endpoints", "metadata": metadata, "subsets": subsets}
            await self._cluster.create(Ref(ENDPOINTS, ref.namespace), body)
        elif (known.get("subsets") or []) != subsets:
            await self._cluster.patch(ref, {"subsets": subsets}, form=PatchForm.MERGE)
