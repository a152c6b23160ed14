"""Settings of clusters for tests, with what matters to them named."""

from typing import Any

import msgspec

from understudy.embedded.cluster_folder import ClusterSettings

LOCAL_NODE: dict[str, Any] = {
    "metadata": {"name": "here", "labels": {"understudy.dev/pool": "this.machine"}},
    "status": {"capacity": {"cpu": "4"}},
}


def node(name: str, **labels: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": {"understudy.dev/pool": "p", **labels}}, "status": {"capacity": {}}}


def settings(name: str = "test", **fields: Any) -> ClusterSettings:
    plain = ClusterSettings(
        name=name, address="127.0.0.1", port=16443, runtime="process", pod_network="127.20.0.0/16", nodes=(LOCAL_NODE,)
    )
    return msgspec.structs.replace(plain, **fields)
