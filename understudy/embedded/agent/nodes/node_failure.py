"""Node failures: turns the death, the silence and the return of a node's process into actions on its pods.

When a node dies, its processes are killed before the API is told. The pods of a silent node are left alone: the node
may come back and go on. Only pods that are deleted meanwhile are killed, so that none runs beside its replacement.
"""

import time
from collections.abc import Callable

from understudy.embedded.agent.nodes.node_registration import NodeRegistry
from understudy.embedded.agent.pods.dependencies import PodDependencies
from understudy.embedded.agent.pods.pod_worker import PodWorker
from understudy.embedded.agent_protocol import Failure


class NodeFailures:
    def __init__(
        self, deps: PodDependencies, registry: NodeRegistry, workers: Callable[[str], list[PodWorker]]
    ) -> None:
        """`workers` returns the workers of the pods on a node."""
        self._deps = deps
        self._registry = registry
        self._workers = workers
        self._silent_since: dict[str, float] = dict.fromkeys(registry.unplugged, 0.0)

    def is_silent(self, node: str) -> bool:
        return node in self._silent_since

    def beat(self, node: str, moment: float) -> None:
        if node in self._registry.unplugged:
            return
        if (
            node in self._silent_since and moment > self._silent_since[node]
        ):  # older heartbeats were sent before the node fell silent
            self._wake(node)
        self._registry.beat(node, moment)

    def silent(self, node: str) -> None:
        self._silent_since[node] = time.time()
        for worker in self._workers(node):
            worker.pause()

    def died(self, node: str) -> None:
        """Kills the processes before the report: no replacement may start while they run."""
        self._fall(node)
        if node not in self._registry.unplugged:
            self._registry.report_gone(node)
        self._registry.fail(node)

    def fail(self, node: str, how: Failure) -> None:
        if node in self._registry.failed:
            return
        if how == "kill":
            self._deps.node_processes.end(node)
            self.died(node)
            return
        if how == "freeze" and self._deps.machine.tool is not None:
            raise LookupError(f"only processes can be made to hang, not containers of {self._deps.machine.tool.name}")
        if how == "freeze" and self._deps.node_processes.has_heartbeats(node):
            self._deps.node_processes.freeze(node)
            for worker in self._workers(node):
                worker.containers.freeze()
        else:
            self._registry.unplug(node)
        self.silent(node)

    async def recover(self, node: str) -> bool:
        """Whether the pods of the node have to start anew; else they go on, or the node had not failed."""
        if self._deps.node_processes.hangs(node):
            self._deps.node_processes.end(node)
            self._fall(node)
            self._registry.fail(node)
        elif node in self._registry.unplugged:
            known = self._registry.recover(node)
            self._wake(node)
            await known
        return node in self._registry.failed

    def _wake(self, node: str) -> None:
        self._silent_since.pop(node, None)
        for worker in self._workers(node):
            worker.wake()

    def _fall(self, node: str) -> None:
        """Processes without a shim are searched in the background; until they are killed, no container is started."""
        self._silent_since.pop(node, None)
        for worker in self._workers(node):
            if not worker.kill_with_node():
                for uid in worker.containers.uids:
                    self._deps.sweeper.request(uid)
