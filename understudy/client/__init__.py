"""The client of a Kubernetes API: `async with connect(kubeconfig) as cluster: ...`."""

from understudy.client.config import BadConfig, Config
from understudy.client.kube_client import KubeClient, connect

__all__ = ["BadConfig", "Config", "KubeClient", "connect"]
