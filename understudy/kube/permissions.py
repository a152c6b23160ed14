"""The permissions of Understudy in a cluster, with reasons: the source of the shipped roles and `understudy doctor`.

Every row is a request that a part of the loop makes. A new request needs a new row; a test compares the rows with the
roles of the chart and of the kustomization.
"""

from collections.abc import Iterator

import msgspec

from understudy.control.watch.reflector import WATCHED_RESOURCES
from understudy.kinds.registry import JOB_RESOURCES
from understudy.kube.settings import LEASE_NAME
from understudy.objects import resources as known
from understudy.objects.nodes import LEASE_NAMESPACE
from understudy.objects.resources import Resource

OWN = "<own>"  # the namespace that Understudy itself runs in

READ = ("get", "list", "watch")  # a list shows everything that `get` would show


class Permission(msgspec.Struct, frozen=True):
    group: str
    resource: str  # with its subresource, if any: pods/binding
    verbs: tuple[str, ...]
    why: str
    namespace: str = ""  # '' for all of them
    name: str = ""  # only this object; '' for any
    optional: bool = False  # the kind comes with an operator that may not be installed

    @property
    def title(self) -> str:
        return f"{self.resource}.{self.group}" if self.group else self.resource


def _on(resource: Resource, verbs: tuple[str, ...], why: str, *, sub: str = "", optional: bool = False) -> Permission:
    plural = f"{resource.plural}/{sub}" if sub else resource.plural
    return Permission(resource.group, plural, verbs, why, optional=optional)


def _followed() -> Iterator[Permission]:
    """One row a resource, whatever versions of it are read."""
    for source in WATCHED_RESOURCES:
        resource = source.versions[0]
        if resource != known.LEASES:
            yield _on(resource, READ, "is followed, to know the cluster", optional=source.optional)


def _job_kinds() -> Iterator[Permission]:
    for kind in JOB_RESOURCES:
        brought = kind != known.JOBS
        yield _on(kind, ("patch",), "is paused and let go on, its seats and place in line noted", optional=brought)
        if kind != known.TRAIN_JOBS:  # it fails through its JobSet
            why = "is made to fail, where on-preemption: fail asks for that"
            yield _on(kind, ("patch",), why, sub="status", optional=brought)


EVERYWHERE = (
    *_followed(),
    *_job_kinds(),
    _on(known.PODS, ("patch",), "has notes where it has no job: holds, occasions"),
    _on(known.PODS, ("delete",), "leaves its seat, or the node that was lost with it"),
    _on(known.PODS, ("create",), "is created again if it asks for that and has no owner"),
    _on(known.PODS, ("create",), "gets its seat", sub="binding"),
    _on(known.PODS, ("create",), "leaves its seat with its disruption budget kept", sub="eviction"),
    _on(known.PODS, ("patch",), "is told why it waits or goes, and the seat that is held for it", sub="status"),
    _on(known.CLAIMS, ("patch",), "is told the node for which its volume is to be made"),
    _on(known.NODES, ("patch",), "has its failures noted"),
    _on(known.DRAIN_REQUESTS, ("patch",), "is answered when its node is empty", sub="status", optional=True),
    _on(known.PROVISIONING_REQUESTS, (*READ, "create", "delete"), "asks an autoscaler for machines", optional=True),
    _on(known.POD_TEMPLATES, ("create", "delete"), "says in such a request what its pods are like"),
    _on(known.EVENTS, ("get", "create", "patch"), "says what happens"),
    Permission("events.k8s.io", "events", ("get", "create", "patch"), "says what happens"),
    _on(known.INCIDENTS, (*READ, "create", "patch", "delete"), "keeps what disrupted jobs"),
)

IN_ONE_PLACE = (
    Permission("", "configmaps", (*READ, "create", "delete"), "keeps pods that are to be made again", namespace=OWN),
    Permission("coordination.k8s.io", "leases", READ, "tells which nodes live", namespace=LEASE_NAMESPACE),
    Permission("coordination.k8s.io", "leases", ("create",), "says who leads, the first time", namespace=OWN),
    Permission("coordination.k8s.io", "leases", ("get", "patch"), "says who leads", namespace=OWN, name=LEASE_NAME),
)

PERMISSIONS = (*EVERYWHERE, *IN_ONE_PLACE)
