"""The state of the demo's cluster: which process runs on which node, which nodes are lost, and what has changed."""

from collections.abc import Iterator, Mapping

import msgspec

from understudy.model.nodes import Verdict
from understudy.model.snapshot import Snapshot
from understudy.objects.pods import Pod


class DemoProcess(msgspec.Struct, frozen=True):
    """One running process of a job."""

    job: str
    namespace: str
    pod: str
    uid: str
    node: str

    @property
    def name(self) -> str:
        """The place of the process in its job, which outlives the pod."""
        return self.pod.rpartition("-")[0]


class DemoState(msgspec.Struct, frozen=True):
    processes: Mapping[str, DemoProcess] = {}  # by uid
    lost: Mapping[str, str] = {}  # node -> why
    sizes: Mapping[str, int] = {}  # job -> processes when it is complete

    def of(self, job: str) -> list[DemoProcess]:
        """The processes that count as running. A process on a lost node does not count: its state is unknown."""
        found = (each for each in self.processes.values() if each.job == job and each.node not in self.lost)
        return sorted(found, key=lambda each: each.name)

    def complete(self, job: str) -> bool:
        return len(self.of(job)) == self.sizes.get(job)


def demo_state(snapshot: Snapshot, pods: Mapping[str, list[Pod]]) -> DemoState:
    """The state of the demo; `pods` are those of its jobs."""
    health = {name: snapshot.nodes[name].node.health for name in snapshot.unhealthy if name in snapshot.nodes}
    return DemoState(
        processes={pod.metadata.uid: _process(pod, job) for job, found in pods.items() for pod in found if _runs(pod)},
        lost={name: each.cause for name, each in health.items() if each.verdict is Verdict.LOST},
        sizes={job: snapshot.gangs[job].size for job in pods if job in snapshot.gangs},
    )


def _runs(pod: Pod) -> bool:
    return pod.status.phase == "Running" and pod.metadata.deletion_timestamp is None


def _process(pod: Pod, job: str) -> DemoProcess:
    meta = pod.metadata
    return DemoProcess(job, meta.namespace, meta.name, meta.uid, pod.spec.node_name)


def state_changes(before: DemoState, after: DemoState) -> Iterator[str]:
    for node, why in sorted(after.lost.items()):
        if node not in before.lost:
            yield f"{node} is lost: {why}"
    for node in sorted(before.lost.keys() - after.lost.keys()):
        yield f"{node} is back"
    for each in _by_name(before.processes, after.processes):
        yield f"{each.name} is taken off {each.node}"
    for each in _by_name(after.processes, before.processes):
        yield f"{each.name} runs on {each.node}"


def _by_name(those: Mapping[str, DemoProcess], without: Mapping[str, DemoProcess]) -> list[DemoProcess]:
    return sorted((each for uid, each in those.items() if uid not in without), key=lambda each: each.name)
