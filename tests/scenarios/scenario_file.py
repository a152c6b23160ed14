"""Scenarios as data: a YAML file becomes a cluster, the manifests of its jobs, and steps with expectations."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import yaml

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[1]
ROOMY = {"cpu": "64", "memory": "512Gi", "pods": "110"}  # resources of every node unless its pool says otherwise

EVENTS = (
    "delete", "submit", "checkpoint", "crash", "cling", "let_go",
    "fail", "recover", "suspect", "cordon", "uncordon", "withdraw",
)  # fmt: skip

Document = dict[str, Any]


class Domains(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Every `per` nodes share a value of the label `key`."""

    key: str
    per: int


class Pool(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`count` equal nodes: pool-0, pool-1 …; with a topology pool-a-0, pool-a-1, pool-b-0 …, in domains pool-a …"""

    name: str
    count: int
    resources: dict[str, str | int] = {}
    labels: dict[str, str] = {}
    taints: tuple[Document, ...] = ()
    topology: Domains | None = None
    spare: str = ""  # "true": may be lent; "keep": never

    def nodes(self) -> Iterator[Document]:
        for number in range(self.count):
            name, labels = self._named(number)
            labels = {**labels, **self.labels, "kubernetes.io/hostname": name}
            if self.spare:
                labels["understudy.dev/spare"] = self.spare
            yield {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": name, "labels": labels},
                "spec": {"taints": list(self.taints)},
                "status": {
                    "allocatable": {**ROOMY, **self.resources},
                    "conditions": [{"type": "Ready", "status": "True"}],
                },
            }

    def _named(self, number: int) -> tuple[str, dict[str, str]]:
        if self.topology is None:
            return f"{self.name}-{number}", {}
        group, seat = divmod(number, self.topology.per)
        domain = f"{self.name}-{chr(ord('a') + group)}"
        return f"{domain}-{seat}", {self.topology.key: domain}


class Expect(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """What must be true now. Omitted fields are not checked; «since» means since the previous expectation."""

    running: tuple[str, ...] = ()
    waiting: dict[str, str] = {}  # job -> code of the reason; '' accepts any
    says: dict[str, tuple[str, ...]] = {}  # job that waits -> words in its reason
    ended: tuple[str, ...] = ()
    seats: dict[str, tuple[str, ...]] = {}  # job -> exactly the nodes of its pods, in any order
    domains: dict[str, tuple[str, ...]] = {}  # job -> exactly the domains its pods sit in
    avoids: dict[str, tuple[str, ...]] = {}  # job -> nodes without any of its pods
    members: dict[str, int] = {}  # job -> how many of its pods have a seat
    kept: tuple[str, ...] = ()  # jobs none of whose pods moved since
    moved: dict[str, tuple[str, ...]] = {}  # job -> exactly the pods that sit elsewhere than before
    victims: dict[str, str] | None = None  # exactly the victims since, each with its preemptor
    swaps: dict[str, tuple[str, ...]] | None = None  # job -> where exactly replacements came from since
    asked: tuple[str, ...] | None = None  # exactly the jobs that are asked to save a checkpoint
    holds: dict[str, tuple[str, ...]] = {}  # job -> exactly the nodes where seats are held for it
    plans: int | None = None  # how many plans changed anything since


class Step(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """Events, all at one moment; then all parts act until nothing changes; then expectations."""

    submit: tuple[str, ...] = ()
    delete: tuple[str, ...] = ()
    checkpoint: tuple[str, ...] = ()  # these jobs report a checkpoint
    crash: tuple[str, ...] = ()  # these jobs fail by themselves, on healthy nodes
    cling: tuple[str, ...] = ()  # from now on pods of these jobs do not end when they are deleted
    let_go: tuple[str, ...] = ()  # now they do
    fail: tuple[str, ...] = ()
    recover: tuple[str, ...] = ()
    suspect: tuple[str, ...] = ()
    leave: dict[str, float] = {}  # node -> seconds until it goes; it is being drained
    notice: dict[str, float] = {}  # node -> seconds until its machine goes, as its cloud announced just now
    withdraw: tuple[str, ...] = ()  # the notices on these nodes
    cordon: tuple[str, ...] = ()
    uncordon: tuple[str, ...] = ()
    wait: float = 0.0
    expect: Expect | None = None

    def events(self) -> Iterator[tuple[str, str]]:
        """(event, its object), in the order of EVENTS."""
        for field in EVENTS:
            for name in getattr(self, field):
                yield field, name


class Scenario(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    story: str
    cluster: tuple[Pool, ...]
    jobs: tuple[Document | str, ...]  # manifests, or paths to files of them
    steps: tuple[Step, ...]
    priorities: dict[str, int | Document] = {}  # name -> value, or the fields of the PriorityClass
    policy: Document = {}
    budgets: tuple[Document, ...] = ()  # PodDisruptionBudgets
    claims: tuple[str, ...] = ()  # PersistentVolumeClaims whose volumes every node can reach

    def nodes(self) -> list[Document]:
        return [node for pool in self.cluster for node in pool.nodes()]

    def topology_keys(self) -> set[str]:
        return {pool.topology.key for pool in self.cluster if pool.topology is not None}

    def manifests(self) -> list[Document]:
        found: list[Document] = []
        for job in self.jobs:
            found.extend(yaml.safe_load_all((ROOT / job).read_text()) if isinstance(job, str) else [job])
        return found

    def volume_claims(self) -> list[Document]:
        """Claims as users write them, for worlds that create volumes."""
        spec = {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Gi"}}}
        return [
            {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": spec}
            for name in self.claims
        ]

    def bound_claims(self, namespace: str = "default") -> list[Document]:
        """Volumes with their bound claims, for worlds that create none."""
        found: list[Document] = []
        for claim in self.volume_claims():
            name, spec = claim["metadata"]["name"], claim["spec"]
            title = f"{namespace}-{name}"
            volume = {
                "accessModes": spec["accessModes"],
                "capacity": spec["resources"]["requests"],
                "hostPath": {"path": f"/var/lib/{title}"},
                "claimRef": {"namespace": namespace, "name": name},
            }
            found.append({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": title}, "spec": volume})
            found.append({**claim, "spec": {**spec, "storageClassName": "", "volumeName": title}})
        return found

    def priority_classes(self) -> list[Document]:
        return [
            {
                "apiVersion": "scheduling.k8s.io/v1",
                "kind": "PriorityClass",
                "metadata": {"name": name},
                **(given if isinstance(given, dict) else {"value": given}),
            }
            for name, given in self.priorities.items()
        ]


def read(path: Path) -> Scenario:
    return msgspec.convert(yaml.safe_load(path.read_text()), Scenario)


def files() -> list[Path]:
    return sorted(FOLDER.rglob("*.yaml"))
