"""The objects every cluster starts with: namespaces, system priorities, roles, the API's own service."""

from collections.abc import Iterable
from typing import Any

from understudy.embedded.schema.served_resource import Strictness
from understudy.embedded.server.authorization import bootstrap_roles
from understudy.embedded.server.registry import admission
from understudy.embedded.server.registry.state import ServerState
from understudy.embedded.server.registry.store_writes import put, stamp
from understudy.embedded.store.records import Key, Write
from understudy.objects.resources import NAMESPACES, PRIORITY_CLASSES, SERVICES, Resource

BOOTSTRAP_NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")
_CRITICAL = {
    "system-cluster-critical": (2_000_000_000, "Used for system critical pods that must run in the cluster."),
    "system-node-critical": (2_000_001_000, "Used for system critical pods that must not be moved from their node."),
}


async def create_bootstrap_objects(state: ServerState, port: int) -> None:
    """Creates the missing ones; after a restart all of them exist."""
    writes = [write for resource, document in _documents(port) for write in _created(state, resource, document)]
    if writes:
        await state.store.submit(writes)


def _documents(port: int) -> Iterable[tuple[Resource, dict[str, Any]]]:
    for name in BOOTSTRAP_NAMESPACES:
        yield NAMESPACES, {"metadata": {"name": name}}
    for name, (value, description) in _CRITICAL.items():
        yield PRIORITY_CLASSES, {"metadata": {"name": name}, "value": value, "description": description}
    yield from bootstrap_roles.bootstrap_roles()
    labels = {"component": "apiserver", "provider": "kubernetes"}
    yield (
        SERVICES,
        {
            "metadata": {"name": "kubernetes", "namespace": "default", "labels": labels},
            "spec": {
                "clusterIP": "None",
                "ports": [{"name": "https", "port": port, "targetPort": port}],
            },
        },
    )


def _created(state: ServerState, resource: Resource, document: dict[str, Any]) -> Iterable[Write]:
    meta = document["metadata"]
    key = Key(resource.key, meta.get("namespace", ""), meta["name"])
    if state.store.newest(key) is not None:
        return
    form = state.served(resource).form
    draft = form.convert(document, Strictness.STRICT).draft
    stamp(draft.metadata, key, state.timestamp())
    form.admit_create(draft, state.lookup)
    yield put(key, draft)
    yield from admission.default_account_writes(state, key)
