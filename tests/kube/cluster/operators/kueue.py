"""Kueue with its webhooks. Its certificate rotation finds a certificate that it need not renew."""

from collections.abc import Sequence

import msgspec

from tests.kube.cluster import releases
from tests.kube.cluster.api import Object
from tests.kube.cluster.operators.operator import Operator, Place, documents
from tests.kube.cluster.operators.webhooks import certificates, on_loopback, rotated, serves_from
from tests.kube.cluster.processes import HOST
from tests.kube.cluster.programs import source

NAMESPACE = "kueue-system"
SERVICE, SECRET = "kueue-webhook-service", "kueue-webhook-server-cert"
FRAMEWORKS = ("batch/job", "jobset.x-k8s.io/jobset", "pod")
CONVERTED = ("clusterqueues", "cohorts", "localqueues", "multikueueclusters", "workloads")  # between its versions


def _crds() -> list[Object]:
    folder = source(releases.KUEUE) / "config/components/crd/bases"
    return [crd for path in sorted(folder.glob("*.yaml")) for crd in documents(path)]


def _objects(place: Place) -> list[Object]:
    configurations = documents(source(releases.KUEUE) / "config/components/webhook/manifests.yaml")
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
        rotated(SECRET, NAMESPACE, place.identities),
        *(_conversion(kind, place) for kind in CONVERTED),
        *(_named(on_loopback(one, place.webhook_port, place.identities)) for one in configurations),
    ]


def _named(configuration: Object) -> Object:
    """Its configuration, with only the kinds that it queues: the others have no webhook here."""
    configuration["metadata"]["name"] = f"kueue-{configuration['metadata']['name']}"
    served = {"jobs", "jobsets", "pods"}
    configuration["webhooks"] = [
        webhook
        for webhook in configuration["webhooks"]
        if "kueue.x-k8s.io" in webhook["rules"][0]["apiGroups"] or served & set(webhook["rules"][0]["resources"])
    ]
    return configuration


def _conversion(kind: str, place: Place) -> Object:
    client = {"url": f"https://{HOST}:{place.webhook_port}/convert", "caBundle": place.identities.bundle()}
    webhook = {"clientConfig": client, "conversionReviewVersions": ["v1"]}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind}.kueue.x-k8s.io"},
        "spec": {"conversion": {"strategy": "Webhook", "webhook": webhook}},
    }


def _flags(place: Place) -> Sequence[str]:
    config = place.folder / "config.yaml"
    config.write_bytes(
        msgspec.yaml.encode(
            {
                "apiVersion": "config.kueue.x-k8s.io/v1beta2",
                "kind": "Configuration",
                "namespace": NAMESPACE,
                "health": {"healthProbeBindAddress": f"{HOST}:{place.health_port}"},
                "metrics": {"bindAddress": "0"},
                "webhook": {"host": HOST, "port": place.webhook_port, "certDir": str(certificates(place))},
                "leaderElection": {"leaderElect": False},
                "internalCertManagement": {
                    "enable": True,
                    "webhookServiceName": SERVICE,
                    "webhookSecretName": SECRET,
                },
                "clientConnection": {"qps": 500, "burst": 1000},
                "integrations": {"frameworks": list(FRAMEWORKS)},
                "featureGates": {"VisibilityOnDemand": False},  # a server that listens everywhere
            }
        )
    )
    return [f"--config={config}"]


KUEUE = Operator(
    name="kueue",
    program=releases.KUEUE,
    crds=_crds,
    objects=_objects,
    flags=_flags,
    environment=serves_from,
    ready="/readyz",
)
