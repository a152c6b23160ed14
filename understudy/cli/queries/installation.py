"""Finds how Understudy is installed in a cluster (embedded, by the chart, or not at all), and whose pods are ours."""

from http import HTTPStatus

from understudy.client import KubeClient
from understudy.kube.settings import SCHEDULER_NAME
from understudy.objects.resources import INCIDENTS
from understudy.ports import Refused

INSTALL = "helm install understudy deploy/helm/understudy"
NOT_INSTALLED = f"Understudy is not installed in this cluster: {INSTALL}"


def is_embedded(client: KubeClient) -> bool:
    return client.config.embedded


def scheduler_of(client: KubeClient) -> str:
    """The schedulerName of our pods; empty where all pods are ours."""
    return "" if is_embedded(client) else SCHEDULER_NAME


async def is_installed(client: KubeClient) -> bool:
    """Whether the cluster serves the kind Incident, which Understudy installs."""
    try:
        await client.request("GET", f"{INCIDENTS.path()}?limit=1")
    except Refused as error:
        return error.code != HTTPStatus.NOT_FOUND
    return True
