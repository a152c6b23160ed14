"""Kubeflow's Trainer with its webhooks. It creates a JobSet for each TrainJob, JobSet's controller its pods."""

from collections.abc import Sequence

import msgspec

from tests.kube.cluster import releases
from tests.kube.cluster.api import Object
from tests.kube.cluster.operators.operator import Operator, Place, documents
from tests.kube.cluster.operators.webhooks import on_loopback, patched, serves_from
from tests.kube.cluster.processes import HOST
from tests.kube.cluster.programs import source

NAMESPACE = "kubeflow-system"
KINDS = ("clustertrainingruntimes", "trainingruntimes", "trainjobs")


def _crds() -> list[Object]:
    folder = source(releases.TRAINER) / "manifests/base/crds"
    return [crd for kind in KINDS for crd in documents(folder / f"trainer.kubeflow.org_{kind}.yaml")]


def _objects(place: Place) -> list[Object]:
    folder = source(releases.TRAINER) / "manifests/base/webhook"
    (configuration,) = documents(folder / "manifests.yaml")
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
        on_loopback(patched(configuration, folder / "patch.yaml"), place.webhook_port, place.identities),
    ]


def _flags(place: Place) -> Sequence[str]:
    config = place.folder / "config.yaml"
    config.write_bytes(
        msgspec.yaml.encode(
            {
                "apiVersion": "config.trainer.kubeflow.org/v1alpha1",
                "kind": "Configuration",
                "health": {"healthProbeBindAddress": f"{HOST}:{place.health_port}"},
                "metrics": {"bindAddress": "0"},
                "webhook": {"host": HOST, "port": place.webhook_port},
                "leaderElection": {"leaderElect": False},
                "certManagement": {"enable": False},
                "clientConnection": {"qps": 500, "burst": 1000},
            }
        )
    )
    return [f"--config={config}"]


TRAINER = Operator(
    name="trainer",
    program=releases.TRAINER,
    crds=_crds,
    objects=_objects,
    flags=_flags,
    environment=serves_from,
    ready="/readyz",
)
