"""What is different on a cluster that is not an embedded one: who schedules there, and whether Understudy does."""

from understudy.client import KubeClient
from understudy.kube.settings import SCHEDULER_NAME
from understudy.objects.resources import INCIDENTS
from understudy.ports import Refused

INSTALL = "helm install understudy deploy/helm/understudy"
NOT_INSTALLED = f"Understudy is not installed in this cluster: {INSTALL}"
NOT_FOUND = 404


def is_embedded(client: KubeClient) -> bool:
    return client.config.gang_binding


def scheduler_of(client: KubeClient) -> str:
    """Whose pods are ours; empty: all are."""
    return "" if is_embedded(client) else SCHEDULER_NAME


async def is_installed(client: KubeClient) -> bool:
    """Whether the cluster knows the kind that Understudy brings."""
    try:
        await client.request("GET", f"{INCIDENTS.path()}?limit=1")
    except Refused as error:
        return error.code != NOT_FOUND
    return True
