"""The API server of the embedded cluster: Kubernetes' wire protocol in front of the store."""

from understudy.embedded.server.serving import run

__all__ = ["run"]
