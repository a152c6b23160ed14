"""What is sent before what: references lead backwards only."""

import pytest

from understudy.cli.job_types import TYPES
from understudy.cli.submit.apply import rank


@pytest.mark.parametrize("kind", [*TYPES, "Pod", "CronJob"])
@pytest.mark.parametrize(
    "needed",
    [
        "Namespace",
        "CustomResourceDefinition",
        "PriorityClass",
        "StorageClass",
        "ServiceAccount",
        "Secret",
        "ConfigMap",
        "PersistentVolume",
        "PersistentVolumeClaim",
        "RoleBinding",
        "Service",
        "TrainingRuntime",
        "LocalQueue",
        "PodGroup",
    ],
)
def test_what_jobs_and_pods_refer_to_comes_before_them(kind: str, needed: str) -> None:
    assert rank(needed) < rank(kind)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Namespace", "PriorityClass"),
        ("CustomResourceDefinition", "TrainingRuntime"),
        ("StorageClass", "PersistentVolume"),
        ("PersistentVolume", "PersistentVolumeClaim"),
        ("ServiceAccount", "ClusterRoleBinding"),
        ("ClusterRole", "ClusterRoleBinding"),
        ("Role", "RoleBinding"),
        ("Service", "StatefulSet"),
        ("Deployment", "ValidatingWebhookConfiguration"),
    ],
)
def test_references_among_the_others_lead_backwards(first: str, second: str) -> None:
    assert rank(first) < rank(second)
