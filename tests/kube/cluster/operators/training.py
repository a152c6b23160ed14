"""training-operator with its webhooks. Its certificate rotation finds a certificate that it need not renew."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.kube.cluster import releases
from tests.kube.cluster.api import Object
from tests.kube.cluster.operators.operator import Operator, Place, documents
from tests.kube.cluster.operators.webhooks import on_loopback, patched, rotated, serves_from
from tests.kube.cluster.processes import HOST
from tests.kube.cluster.programs import source

NAMESPACE = "kubeflow"
# All but MPIJob, which is mpi-operator's: in a version of its own, under the same name.
KINDS = ("tfjob", "pytorchjob", "xgboostjob", "paddlejob", "jaxjob")
# It waits until there is a file here, wherever it is told to keep others; what it serves with it reads from $TMPDIR.
MOUNTED = Path("/tmp/k8s-webhook-server/serving-certs/tls.crt")


def _crds() -> list[Object]:
    folder = source(releases.TRAINING) / "manifests/base/crds"
    return [crd for kind in KINDS for crd in documents(folder / f"kubeflow.org_{kind}s.yaml")]


def _objects(place: Place) -> list[Object]:
    folder = source(releases.TRAINING) / "manifests/base/webhook"
    (configuration,) = documents(folder / "manifests.yaml")
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
        rotated("training-operator-webhook-cert", NAMESPACE, place.identities),
        on_loopback(patched(configuration, folder / "patch.yaml"), place.webhook_port, place.identities),
    ]


def _flags(place: Place) -> Sequence[str]:
    return [
        "--metrics-bind-address=0",
        f"--health-probe-bind-address={HOST}:{place.health_port}",
        f"--webhook-server-port={place.webhook_port}",
        "--kube-api-qps=500",
        "--kube-api-burst=1000",
        *(f"--enable-scheme={kind}" for kind in KINDS),
    ]


def _environment(place: Place) -> Mapping[str, str]:
    if not MOUNTED.exists():
        MOUNTED.parent.mkdir(parents=True, exist_ok=True)
        MOUNTED.touch()
    return {**serves_from(place), "MY_POD_NAMESPACE": NAMESPACE}


TRAINING = Operator(
    name="training",
    program=releases.TRAINING,
    crds=_crds,
    objects=_objects,
    flags=_flags,
    environment=_environment,
    ready="/readyz",
)
