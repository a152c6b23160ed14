"""Counts the pods of a gang as they change, one by one: who has a seat, and who runs."""

from collections.abc import Container, Iterable

from understudy.kinds.gangs.lone_pod import is_live
from understudy.objects.pods import Pod


class Tally:
    """Knows the live pods of one gang. To look at all of them for each that changes would cost large gangs dear."""

    def __init__(self, pods: Iterable[Pod]) -> None:
        self._nodes: dict[str, str] = {}  # pod -> node, of those that have a seat
        self._running: set[str] = set()
        for pod in pods:
            self.put(pod)

    def put(self, pod: Pod) -> None:
        name = pod.metadata.name
        if not is_live(pod) or not pod.spec.node_name:
            self.remove(pod)
            return
        self._nodes[name] = pod.spec.node_name
        if pod.status.phase == "Running":
            self._running.add(name)
        else:
            self._running.discard(name)

    def remove(self, pod: Pod) -> None:
        self._nodes.pop(pod.metadata.name, None)
        self._running.discard(pod.metadata.name)

    @property
    def seated(self) -> int:
        return len(self._nodes)

    @property
    def running(self) -> int:
        return len(self._running)

    def any_on(self, nodes: Container[str]) -> bool:
        return any(node in nodes for node in self._nodes.values())
