"""The cluster around us: what every pod is given of its service account, into the same value as a kubeconfig."""

import os
from collections.abc import Mapping
from pathlib import Path

from understudy.client.config import BadConfig, Config

ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
HOST, PORT = "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"


def runs_in_cluster(environment: Mapping[str, str] = os.environ, account: Path = ACCOUNT) -> bool:
    return bool(environment.get(HOST)) and (account / "token").exists()


def in_cluster(environment: Mapping[str, str] = os.environ, account: Path = ACCOUNT) -> Config:
    host, port = environment.get(HOST, ""), environment.get(PORT, "443")
    if not host:
        raise BadConfig(f"{HOST}: not set; this is no pod of a cluster: name a kubeconfig")
    try:
        authority = (account / "ca.crt").read_text()
    except OSError as error:
        raise BadConfig(f"{account / 'ca.crt'}: cannot be read: {(error.strerror or str(error)).lower()}") from None
    return Config(
        server=f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}",
        authority=authority,
        token_file=str(account / "token"),
        namespace=own_namespace(account) or "default",
    )


def own_namespace(account: Path = ACCOUNT) -> str:
    """Of the service account; '' where there is none."""
    try:
        return (account / "namespace").read_text().strip()
    except OSError:
        return ""
