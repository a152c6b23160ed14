"""The way from a pod to its job in the API: reads the pod's owners, and writes an annotation on the topmost job."""

from __future__ import annotations

import base64
import json
import os
import ssl
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, NamedTuple

from understudy.train import job_environment

LAST_CHECKPOINT = "understudy.dev/last-checkpoint"
_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_NOT_SCHEDULED = ("CronJob",)
_PATIENCE = 5.0


class Access(NamedTuple):
    """The address of the API, and the identity of the pod."""

    server: str
    token: str
    authority: str  # the certificate, as text
    namespace: str
    pod: str


def access(account: Path | None = None) -> Access | None:
    """None outside of a cluster, and for pods that were given no token."""
    account = account or Path(os.environ.get(job_environment.ACCOUNT) or _ACCOUNT)
    pod = os.environ.get(job_environment.POD) or os.environ.get("HOSTNAME", "")
    namespace = os.environ.get(job_environment.NAMESPACE, "")
    if file := os.environ.get(job_environment.ACCESS):
        document = json.loads(Path(file).read_text())
        cluster, user = document["clusters"][0]["cluster"], document["users"][0]["user"]
        authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
        return Access(cluster["server"], user["token"], authority, namespace or "default", pod)
    host, port = os.environ.get("KUBERNETES_SERVICE_HOST", ""), os.environ.get("KUBERNETES_SERVICE_PORT", "443")
    if not host or not (account / "token").is_file():
        return None
    return Access(
        f"https://{f'[{host}]' if ':' in host else host}:{port}",
        (account / "token").read_text().strip(),
        (account / "ca.crt").read_text(),
        namespace or (account / "namespace").read_text().strip(),
        pod,
    )


class Job:
    """The job of this pod, which is looked for once."""

    def __init__(self) -> None:
        self._path = ""

    def report(self, moment: str) -> None:
        """Raises OSError, in the API's own words where it refuses. Tokens are renewed: each report reads its own."""
        way = access()
        if way is None:
            raise OSError("the pod no longer has a token for the API")
        self._path = self._path or job_of(way)
        _ask(way, "PATCH", self._path, {"metadata": {"annotations": {LAST_CHECKPOINT: moment}}})


def pod_annotation(name: str) -> str:
    """'' where the pod does not have it. Raises OSError."""
    way = access()
    if way is None:
        raise OSError("the pod no longer has a token for the API")
    pod = _ask(way, "GET", f"/api/v1/namespaces/{way.namespace}/pods/{way.pod}")
    return str((pod.get("metadata", {}).get("annotations") or {}).get(name, ""))


def job_of(way: Access) -> str:
    """The path of the job that the pod belongs to, or of the pod where it belongs to none."""
    path = f"/api/v1/namespaces/{way.namespace}/pods/{way.pod}"
    while True:
        owners = _ask(way, "GET", path).get("metadata", {}).get("ownerReferences") or []
        owner = next((one for one in owners if one.get("controller") and is_job(one["kind"])), None)
        if owner is None:
            return path
        path = f"/apis/{owner['apiVersion']}/namespaces/{way.namespace}/{owner['kind'].lower()}s/{owner['name']}"


def is_job(kind: str) -> bool:
    """Whether objects of this kind are scheduled as one. What owns them (a workflow, an experiment) is not. The
    kinds are not listed here: training code needs nothing but the standard library."""
    return kind.endswith(("Job", "JobSet")) and kind not in _NOT_SCHEDULED


def _ask(way: Access, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
    trusted = ssl.create_default_context(cadata=way.authority)
    # Many clusters' certificates lack the Authority Key Identifier that Python 3.13 and newer ask for.
    trusted.verify_flags &= ~ssl.VERIFY_X509_STRICT
    # The API of one's own cluster is not behind a proxy.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=trusted))
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{way.server}{path}", data=data, method=method)
    request.add_header("Authorization", f"Bearer {way.token}")
    request.add_header("Content-Type", "application/merge-patch+json")
    request.add_header("User-Agent", "understudy-train")
    try:
        with opener.open(request, timeout=_PATIENCE) as answer:
            found: dict[str, Any] = json.load(answer)
    except urllib.error.HTTPError as refusal:
        raise OSError(f"{method} {path}: {refusal.code} {_words(refusal)}") from refusal
    return found


def _words(refusal: urllib.error.HTTPError) -> str:
    """The API's own, where they are to be had."""
    try:
        return str(json.load(refusal)["message"])
    except (OSError, ValueError, LookupError, TypeError):
        return str(refusal.reason)
