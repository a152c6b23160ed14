"""A Kubernetes API over HTTPS, as the loops want it: `async with connect(kubeconfig) as cluster: ...`."""

from understudy.client.config import BadConfig, Config
from understudy.client.kube_client import KubeClient, connect

__all__ = ["BadConfig", "Config", "KubeClient", "connect"]
