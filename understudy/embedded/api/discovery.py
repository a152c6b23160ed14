"""The discovery documents, from the served resources.

Old clients read /api, /apis and one list a version; newer ones read the aggregated documents of /api and /apis. Both
get the same resources.
"""

import re
from collections.abc import Iterable
from typing import Any

import msgspec

from understudy.embedded.api.negotiation import DISCOVERY_VIEWS, View, negotiated
from understudy.embedded.api.reviews import REVIEWS
from understudy.embedded.api.usage_metrics import METRICS
from understudy.embedded.schema.errors import no_such_path
from understudy.embedded.schema.served_resource import ServedResource
from understudy.objects.resources import NAMESPACES, Resource

VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
JSON = "application/json"

Document = dict[str, Any]


class DiscoveryDocument(msgspec.Struct, frozen=True):
    content_type: str
    document: Document


class Offer(msgspec.Struct, frozen=True):
    """A resource or sub-resource in one version. An empty group and version mean those of the list."""

    name: str
    kind: str
    verbs: tuple[str, ...]
    group: str = ""
    version: str = ""


class DiscoveredResource(msgspec.Struct, frozen=True):
    """A resource in one version, with its sub-resources."""

    resource: Resource
    offer: Offer
    singular: str
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[Offer, ...] = ()


# Sub-resources whose kind differs from that of the object.
_SUBRESOURCES = {
    "binding": Offer("binding", "Binding", ("create",)),
    "eviction": Offer("eviction", "Eviction", ("create",), "policy", "v1"),
    "exec": Offer("exec", "PodExecOptions", ("create", "get")),
    "attach": Offer("attach", "PodAttachOptions", ("create", "get")),
    "portforward": Offer("portforward", "PodPortForwardOptions", ("create", "get")),
    "scale": Offer("scale", "Scale", ("get", "patch", "update"), "autoscaling", "v1"),
    "token": Offer("token", "TokenRequest", ("create",), "authentication.k8s.io", "v1"),
}
_VERBS_OF_SUBRESOURCES = {"log": ("get",), "finalize": ("update",), "status": ("get", "patch", "update")}


def discovered_resources(served: Iterable[ServedResource]) -> tuple[DiscoveredResource, ...]:
    """Every resource in every served version. Reviews and metrics come first, so that a custom resource cannot take
    their names."""
    asked = [DiscoveredResource(one, Offer(one.plural, one.kind, ("create",)), one.kind.lower()) for one in REVIEWS]
    measured = [DiscoveredResource(one, Offer(one.plural, one.kind, ("get", "list")), "") for one in METRICS]
    return (*asked, *measured, *(_in_version(one, version) for one in served for version in _versions_of(one)))


def core(resources: Iterable[DiscoveredResource], accept: str, address: str) -> DiscoveryDocument:
    """/api. `address` is the host and port of the server as the client named it."""
    match negotiated(accept, DISCOVERY_VIEWS):
        case View.OBJECT:
            reach = {"clientCIDR": "0.0.0.0/0", "serverAddress": address}
            document = {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": [reach]}
            return DiscoveryDocument(JSON, document)
        case view:
            return _aggregated([one for one in resources if not one.resource.group], view)


def groups(resources: Iterable[DiscoveredResource], accept: str) -> DiscoveryDocument:
    """/apis."""
    named = [one for one in resources if one.resource.group]
    match negotiated(accept, DISCOVERY_VIEWS):
        case View.OBJECT:
            document = {
                "kind": "APIGroupList",
                "apiVersion": "v1",
                "groups": [_group(*one) for one in _by_group(named)],
            }
            return DiscoveryDocument(JSON, document)
        case view:
            return _aggregated(named, view)


def group(resources: Iterable[DiscoveredResource], name: str) -> Document:
    """/apis/{group}."""
    versions = {one.resource.version for one in resources if one.resource.group == name}
    if not name or not versions:
        raise no_such_path()
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(name, sorted(versions, key=_version_order))}


def version(resources: Iterable[DiscoveredResource], group_name: str, version_name: str) -> Document:
    """/api/v1 and /apis/{group}/{version}."""
    here = [one for one in resources if one.resource.group == group_name and one.resource.version == version_name]
    if not here:
        raise no_such_path()
    entries = [entry for one in sorted(here, key=lambda one: one.resource.plural) for entry in _entries(one)]
    api_version = here[0].resource.api_version
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": api_version, "resources": entries}


def _versions_of(served: ServedResource) -> tuple[str, ...]:
    return tuple(sorted({served.resource.version, *served.other_versions}, key=_version_order))


def _in_version(served: ServedResource, version_name: str) -> DiscoveredResource:
    resource = msgspec.structs.replace(served.resource, version=version_name)
    # As in Kubernetes, namespaces cannot be deleted as a collection.
    verbs = tuple(verb for verb in VERBS if verb != "deletecollection" or resource.key != NAMESPACES.key)
    return DiscoveredResource(
        resource,
        Offer(resource.plural, resource.kind, verbs),
        served.singular,
        served.short_names,
        served.categories,
        tuple(_subresource(resource.kind, sub) for sub in served.subresources),
    )


def _subresource(kind: str, name: str) -> Offer:
    if name in _SUBRESOURCES:
        return _SUBRESOURCES[name]
    return Offer(name, kind, _VERBS_OF_SUBRESOURCES.get(name, ("get", "patch", "update")))


def _by_group(resources: Iterable[DiscoveredResource]) -> list[tuple[str, list[str]]]:
    """Groups in the order of first appearance, each with its versions, the preferred one first."""
    versions: dict[str, set[str]] = {}
    for one in resources:
        versions.setdefault(one.resource.group, set()).add(one.resource.version)
    return [(name, sorted(known, key=_version_order)) for name, known in versions.items()]


def _version_order(name: str) -> tuple[int, int, int, str]:
    """Kubernetes' own: v2, v1, v2beta1, v1beta2, v1alpha1, then other names in alphabetical order."""
    match = re.fullmatch(r"v([0-9]{1,9})(?:(alpha|beta)([0-9]{1,9}))?", name)
    if match is None:
        return (3, 0, 0, name)
    stability = {None: 0, "beta": 1, "alpha": 2}[match[2]]
    return (stability, -int(match[1]), -int(match[3] or 0), name)


def _group(name: str, versions: list[str]) -> Document:
    known = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"name": name, "versions": known, "preferredVersion": known[0]}


def _entries(one: DiscoveredResource) -> Iterable[Document]:
    resource = one.resource
    entry: Document = {
        "name": resource.plural,
        "singularName": one.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": one.offer.verbs,
    }
    if one.short_names:
        entry["shortNames"] = one.short_names
    if one.categories:
        entry["categories"] = one.categories
    yield entry
    for sub in one.subresources:
        elsewhere = {"group": sub.group, "version": sub.version} if sub.version else {}
        name = f"{resource.plural}/{sub.name}"
        yield {
            "name": name,
            "singularName": "",
            "namespaced": resource.namespaced,
            **elsewhere,
            "kind": sub.kind,
            "verbs": sub.verbs,
        }


def _aggregated(resources: Iterable[DiscoveredResource], view: View) -> DiscoveryDocument:
    api_version = f"apidiscovery.k8s.io/{view.value}"
    by_version: dict[tuple[str, str], list[DiscoveredResource]] = {}
    for one in resources:
        by_version.setdefault((one.resource.group, one.resource.version), []).append(one)
    items = [
        {
            "metadata": {"name": name} if name else {},
            "versions": [_discovered_version(version, by_version[name, version]) for version in versions],
        }
        for name, versions in _by_group(one for listing in by_version.values() for one in listing)
    ]
    document = {"kind": "APIGroupDiscoveryList", "apiVersion": api_version, "metadata": {}, "items": items}
    return DiscoveryDocument(f"{JSON};g=apidiscovery.k8s.io;v={view.value};as=APIGroupDiscoveryList", document)


def _discovered_version(name: str, resources: list[DiscoveredResource]) -> Document:
    ordered = sorted(resources, key=lambda one: one.resource.plural)
    return {"version": name, "resources": [_discovered(one) for one in ordered], "freshness": "Current"}


def _discovered(one: DiscoveredResource) -> Document:
    found: Document = {
        "resource": one.resource.plural,
        "responseKind": _response_kind(one.offer),
        "scope": "Namespaced" if one.resource.namespaced else "Cluster",
        "singularResource": one.singular,
        "verbs": one.offer.verbs,
    }
    if one.short_names:
        found["shortNames"] = one.short_names
    if one.categories:
        found["categories"] = one.categories
    if one.subresources:
        found["subresources"] = [
            {"subresource": sub.name, "responseKind": _response_kind(sub), "verbs": sub.verbs}
            for sub in one.subresources
        ]
    return found


def _response_kind(offer: Offer) -> Document:
    return {"group": offer.group, "version": offer.version, "kind": offer.kind}
