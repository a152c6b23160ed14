"""The pod groups of other schedulers, as definitions of kinds without their controllers.

The API server serves those of Kubernetes itself where its feature gate is on.
"""

from collections.abc import Sequence

import msgspec

from tests.kube.cluster.api import Api, Object
from tests.kube.cluster.operators.operator import wait_served
from tests.kube.cluster.processes import Process
from tests.kube.cluster.programs import release_of
from tests.kube.cluster.releases import APISERVER
from tests.kube.cluster.settings import Settings
from understudy.objects.resources import COSCHEDULING_GROUPS, VOLCANO_GROUPS, Resource

FIRST = (1, 37)  # Kubernetes that serves its own in the version that our tests write


def served(settings: Settings) -> Settings:
    """The settings with Kubernetes' own pod groups, if it has them."""
    if release_of(APISERVER) < FIRST:
        return settings
    return msgspec.structs.replace(settings, gates={"GenericWorkload": True}, apis=("scheduling.k8s.io/v1beta1=true",))


def define(api: Api, alive: Sequence[Process]) -> None:
    made = [_definition(kind) for kind in (COSCHEDULING_GROUPS, VOLCANO_GROUPS)]
    for definition in made:
        api.create(definition)
    for definition in made:
        wait_served(api, definition, alive)


def _definition(kind: Resource) -> Object:
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": kind.version, "served": True, "storage": True, "schema": {"openAPIV3Schema": anything}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"{kind.plural}.{kind.group}",
            "annotations": {"api-approved.kubernetes.io": "unapproved, a test's"},
        },
        "spec": {
            "group": kind.group,
            "scope": "Namespaced",
            "names": {"plural": kind.plural, "kind": kind.kind},
            "versions": [version],
        },
    }
