"""Kubernetes objects: turns documents into typed structs of the fields scheduling uses, and pod specs into Shapes."""

from understudy.objects.cluster import (
    Namespace,
    PersistentVolume,
    PersistentVolumeClaim,
    PodDisruptionBudget,
    PriorityClass,
    StorageClass,
)
from understudy.objects.decoding import KINDS, decode, decode_json
from understudy.objects.errors import BadObject
from understudy.objects.jobs import (
    JAXJob,
    Job,
    JobSet,
    MPIJob,
    PaddleJob,
    PyTorchJob,
    TFJob,
    TrainingRuntime,
    TrainJob,
    XGBoostJob,
)
from understudy.objects.meta import KubeObject
from understudy.objects.nodes import Lease, Node
from understudy.objects.pods import Pod

__all__ = [
    "KINDS",
    "BadObject",
    "JAXJob",
    "Job",
    "JobSet",
    "KubeObject",
    "Lease",
    "MPIJob",
    "Namespace",
    "Node",
    "PaddleJob",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "Pod",
    "PodDisruptionBudget",
    "PriorityClass",
    "PyTorchJob",
    "StorageClass",
    "TFJob",
    "TrainJob",
    "TrainingRuntime",
    "XGBoostJob",
    "decode",
    "decode_json",
]
