"""Changes webhook configurations from services to addresses on loopback, as envtest does."""

import base64
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from tests.kube.cluster.api import Object
from tests.kube.cluster.identities import Identities
from tests.kube.cluster.operators.operator import Place
from tests.kube.cluster.processes import HOST


def on_loopback(configuration: Object, port: int, identities: Identities) -> Object:
    for webhook in configuration["webhooks"]:
        path = webhook["clientConfig"]["service"]["path"]
        webhook["clientConfig"] = {"url": f"https://{HOST}:{port}{path}", "caBundle": identities.bundle()}
    return configuration


def rotated(name: str, namespace: str, identities: Identities) -> Object:
    """The secret from which a certificate rotation reads them. They are valid for long, so it does not renew them."""
    files = {
        "ca.crt": identities.authority,
        "ca.key": identities.authority_key,
        "tls.crt": identities.certificate,
        "tls.key": identities.key,
    }
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": namespace},
        "data": {file: base64.b64encode(path.read_bytes()).decode() for file, path in files.items()},
    }


def certificates(place: Place) -> Path:
    """The default folder of controller-runtime for certificates."""
    return place.folder / "k8s-webhook-server" / "serving-certs"


def serves_from(place: Place) -> Mapping[str, str]:
    """The environment of a program that reads its certificate there."""
    served = certificates(place)
    served.mkdir(parents=True)
    for path in (place.identities.certificate, place.identities.key):
        shutil.copy(path, served)
    return {"TMPDIR": str(place.folder)}


def patched(configuration: Object, patches: Path) -> Object:
    """The manifests with the replacements of the operator's kustomization."""
    for operation in yaml.safe_load(patches.read_text()):
        *way, last = (int(step) if step.isdecimal() else step for step in operation["path"].strip("/").split("/"))
        target: Any = configuration
        for step in way:
            target = target[step]
        target[last] = operation["value"]
    return configuration
