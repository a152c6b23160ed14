"""What a test cluster contains: everything, unless a test says otherwise."""

from collections.abc import Mapping, Sequence

import msgspec

OPERATORS = ("jobset", "training", "mpi", "trainer")
EXTRA_OPERATORS = ("kueue",)  # to be asked for


class SchedulerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """One kube-scheduler: its name in pods, and how many requests a second it may send."""

    name: str = "default-scheduler"  # the schedulerName of its pods
    gates: Mapping[str, bool] = {}
    qps: float = 50.0  # 50 and 100 are its own defaults
    burst: int = 100
    flags: Sequence[str] = ()


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    scheduler: SchedulerSettings | None = SchedulerSettings()
    kwok: bool = True
    operators: Sequence[str] = OPERATORS
    lease_seconds: int = 40  # of nodes; renewed every quarter of it, as kubelets do
    node_lifecycle: bool = True  # without it no controller marks a silent node as not ready
    grace: str = ""  # how long a node may be silent, such as 10s; none: the controller's own default
    durable: bool = False  # whether etcd waits for the disk; nothing here need outlive the machine
    gates: Mapping[str, bool] = {}  # of kube-apiserver and kube-controller-manager
    apis: Sequence[str] = ()  # such as scheduling.k8s.io/v1alpha2=true, beside those that are on by default
    apiserver_flags: Sequence[str] = ()
    controller_flags: Sequence[str] = ()


def gate_flags(gates: Mapping[str, bool]) -> list[str]:
    if not gates:
        return []
    return ["--feature-gates=" + ",".join(f"{name}={str(on).lower()}" for name, on in sorted(gates.items()))]
