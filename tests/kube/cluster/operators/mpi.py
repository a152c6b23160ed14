"""mpi-operator, which has no webhooks and always elects a leader: itself."""

from collections.abc import Mapping, Sequence

from tests.kube.cluster import releases
from tests.kube.cluster.api import Object
from tests.kube.cluster.operators.operator import Operator, Place, documents
from tests.kube.cluster.programs import source

NAMESPACE = "mpi-operator"


def _crds() -> list[Object]:
    return documents(source(releases.MPI) / "manifests/base/kubeflow.org_mpijobs.yaml")


def _objects(_: Place) -> list[Object]:
    return [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}]


def _flags(place: Place) -> Sequence[str]:
    return [
        f"-kubeConfig={place.kubeconfig}",
        f"-lock-namespace={NAMESPACE}",
        "-monitoring-port=0",
        "-kube-api-qps=500",
        "-kube-api-burst=1000",
    ]


def _environment(place: Place) -> Mapping[str, str]:
    return {"MPI_OPERATOR_HEALTH_PORT": str(place.health_port)}  # ours: tests/kube/programs/_additions


MPI = Operator(
    name="mpi",
    program=releases.MPI,
    crds=_crds,
    objects=_objects,
    flags=_flags,
    environment=_environment,
    ready="/healthz",
)
