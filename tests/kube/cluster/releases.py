"""The releases that a test cluster uses. Those of etcd and Kubernetes are in tests/kube/programs/go.mod."""

import functools
import re
from pathlib import Path

import msgspec

PROGRAMS = Path(__file__).parents[1] / "programs"


class Program(msgspec.Struct, frozen=True):
    name: str  # of the file, the same as in the project's own builds
    module: str
    package: str
    version: str = ""  # none: go.mod says
    addition: str = ""  # a file of ours that is compiled into a package of theirs, under this path in their module

    @property
    def release(self) -> str:
        return self.version or required()[self.module]

    @property
    def folder(self) -> str:
        """The name in the cache. Another release, or one with a file added, has another name."""
        return f"{self.name}@{self.release}" + ("+ours" if self.addition else "")


_KUBERNETES = "k8s.io/kubernetes"
_MPI = "github.com/kubeflow/mpi-operator"
_TRAINING = "github.com/kubeflow/training-operator"
_TRAINER = "github.com/kubeflow/trainer/v2"

ETCD = Program("etcd", "go.etcd.io/etcd/server/v3", "go.etcd.io/etcd/server/v3")
APISERVER = Program("kube-apiserver", _KUBERNETES, f"{_KUBERNETES}/cmd/kube-apiserver")
CONTROLLERS = Program("kube-controller-manager", _KUBERNETES, f"{_KUBERNETES}/cmd/kube-controller-manager")
SCHEDULER = Program("kube-scheduler", _KUBERNETES, f"{_KUBERNETES}/cmd/kube-scheduler")
KWOK = Program("kwok", "sigs.k8s.io/kwok", "sigs.k8s.io/kwok/cmd/kwok", "v0.8.0")
JOBSET = Program("jobset", "sigs.k8s.io/jobset", "sigs.k8s.io/jobset", "v0.12.0")
TRAINING = Program("training-operator.v1", _TRAINING, f"{_TRAINING}/cmd/training-operator.v1", "v1.9.3")
MPI = Program(
    "mpi-operator", _MPI, f"{_MPI}/cmd/mpi-operator", "v0.8.0", addition="cmd/mpi-operator/app/health_port.go"
)
TRAINER = Program("trainer-controller-manager", _TRAINER, f"{_TRAINER}/cmd/trainer-controller-manager", "v2.1.0")


# For the tests of the chart, and for those beside Kueue. These are skipped where they are missing.
BUILD_EXTRAS = "UNDERSTUDY_BUILD_EXTRAS"  # set: they are built as well, which takes minutes more
HELM = Program("helm", "helm.sh/helm/v3", "helm.sh/helm/v3/cmd/helm", "v3.19.5")
KUEUE = Program("kueue", "sigs.k8s.io/kueue", "sigs.k8s.io/kueue/cmd/kueue", "v0.19.0")
EXTRAS = (HELM, KUEUE)

ALL = (ETCD, APISERVER, SCHEDULER, CONTROLLERS, KWOK, JOBSET, MPI, TRAINING, TRAINER)


@functools.cache
def required() -> dict[str, str]:
    """The modules that go.mod names directly, with their versions."""
    text = (PROGRAMS / "go.mod").read_text()
    lines = re.findall(r"^\t(\S+) (v\S+)$", text, re.MULTILINE)
    return dict(lines)
