"""JobSet's controller with its webhooks, which use the cluster's certificate instead of their own."""

from collections.abc import Sequence

import msgspec

from tests.kube.cluster import releases
from tests.kube.cluster.api import Object
from tests.kube.cluster.operators.operator import Operator, Place, documents
from tests.kube.cluster.operators.webhooks import on_loopback, patched
from tests.kube.cluster.processes import HOST
from tests.kube.cluster.programs import source


def _crds() -> list[Object]:
    return documents(source(releases.JOBSET) / "config/components/crd/bases/jobset.x-k8s.io_jobsets.yaml")


def _objects(place: Place) -> list[Object]:
    folder = source(releases.JOBSET) / "config/components/webhook"
    patches = {
        "MutatingWebhookConfiguration": "mutating-patch.yaml",
        "ValidatingWebhookConfiguration": "validating-patch.yaml",
    }
    made = []
    for configuration in documents(folder / "manifests.yaml"):
        patched(configuration, folder / "patches" / patches[configuration["kind"]])
        configuration["metadata"]["name"] = f"jobset-{configuration['metadata']['name']}"
        made.append(on_loopback(configuration, place.webhook_port, place.identities))
    return made


def _flags(place: Place) -> Sequence[str]:
    config = place.folder / "config.yaml"
    config.write_bytes(
        msgspec.yaml.encode(
            {
                "apiVersion": "config.jobset.x-k8s.io/v1alpha1",
                "kind": "Configuration",
                "leaderElection": {"leaderElect": False},
                "internalCertManagement": {"enable": False},
                "webhook": {
                    "host": HOST,
                    "port": place.webhook_port,
                    "certDir": str(place.identities.folder),
                },
            }
        )
    )
    return [
        f"--config={config}",
        "--metrics-bind-address=0",
        f"--health-probe-bind-address={HOST}:{place.health_port}",
    ]


JOBSET = Operator(
    name="jobset",
    program=releases.JOBSET,
    crds=_crds,
    objects=_objects,
    flags=_flags,
    environment=lambda _: {},
    ready="/readyz",
)
