"""The EndpointSlices of a Service, made of its Endpoints: the same addresses in pieces."""

from collections.abc import Iterator, Mapping
from itertools import zip_longest

import msgspec

from understudy.kinds.children.actions import (
    NO_ACTIONS,
    ChildActions,
    CreateChild,
    DeleteChild,
    Document,
    ObservedChildren,
    PatchChild,
    owner_reference,
)
from understudy.kinds.children.partial_objects import FullMeta, PartialEndpointSlice
from understudy.objects.meta import Part
from understudy.objects.resources import ENDPOINT_SLICES, ENDPOINTS

SERVICE_NAME = "kubernetes.io/service-name"
MANAGED_BY = "endpointslice.kubernetes.io/managed-by"
OURS = "endpointslice-controller.k8s.io"
SKIPPED = "endpointslice.kubernetes.io/skip-mirror"
MOST_ENDPOINTS = 100  # of a slice, as in Kubernetes


class EndpointsObject(Part, frozen=True, gc=False):
    metadata: FullMeta
    subsets: tuple[Document, ...] = ()


def reconcile(document: Document, observed: ObservedChildren, _now: float) -> ChildActions:
    endpoints = msgspec.convert(document, EndpointsObject)
    meta = endpoints.metadata
    if meta.leaving:
        return NO_ACTIONS
    skipped = meta.labels.get(SKIPPED) == "true"
    wanted = [] if skipped else list(_slices(endpoints))
    found = [one for one in observed.of(ENDPOINT_SLICES) if isinstance(one, PartialEndpointSlice)]
    existing = sorted((one for one in found if not one.metadata.leaving), key=lambda one: one.metadata.name)
    creates, patches, deletes = [], [], []
    for content, one in zip_longest(wanted, existing):
        if one is None:
            creates.append(CreateChild(ENDPOINT_SLICES, _document(meta, content)))
        elif content is None:
            deletes.append(DeleteChild(ENDPOINT_SLICES, one.metadata.name, one.metadata.uid))
        elif not _has(one, content):
            patches.append(PatchChild(ENDPOINT_SLICES, one.metadata.name, content))
    return ChildActions(creates=tuple(creates), patches=tuple(patches), deletes=tuple(deletes))


def _slices(endpoints: EndpointsObject) -> Iterator[Document]:
    """A Service without pods has an empty slice."""
    if not endpoints.subsets:
        yield {"endpoints": [], "ports": []}
    for subset in endpoints.subsets:
        ready = [_endpoint(address, True) for address in subset.get("addresses") or ()]
        found = ready + [_endpoint(address, False) for address in subset.get("notReadyAddresses") or ()]
        ports = [{"name": "", "protocol": "TCP", **port} for port in subset.get("ports") or ()]
        for start in range(0, len(found), MOST_ENDPOINTS):
            yield {"endpoints": found[start : start + MOST_ENDPOINTS], "ports": ports}


def _endpoint(address: Mapping[str, object], ready: bool) -> Document:
    kept = {key: address[key] for key in ("hostname", "nodeName", "targetRef") if key in address}
    conditions = {"ready": ready, "serving": ready, "terminating": False}
    return {"addresses": [address["ip"]], "conditions": conditions, **kept}


def _has(one: PartialEndpointSlice, content: Document) -> bool:
    return bool([*one.endpoints] == content["endpoints"] and [*one.ports] == content["ports"])


def _document(meta: FullMeta, content: Document) -> Document:
    metadata = {
        "generateName": f"{meta.name[:57]}-",
        "namespace": meta.namespace,
        "labels": {SERVICE_NAME: meta.name, MANAGED_BY: OURS},
        "ownerReferences": [owner_reference(ENDPOINTS.api_version, ENDPOINTS.kind, meta)],
    }
    kind = {"apiVersion": ENDPOINT_SLICES.api_version, "kind": ENDPOINT_SLICES.kind}
    return {**kind, "metadata": metadata, "addressType": "IPv4", **content}
