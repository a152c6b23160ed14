"""Node failures: turns the death, the silence and the return of a node's process into actions on its pods.

When a node dies, its processes are killed before the API is told. The pods of a silent node are left alone: the node
may come back and go on. Only pods that are deleted meanwhile are killed, so that none runs beside its replacement.
"""

import math
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from understudy.embedded.agent.containers.runtimes import PROCESS
from understudy.embedded.agent.nodes.node_processes import NodeProcesses
from understudy.embedded.agent.nodes.node_registration import NodeRegistry
from understudy.embedded.agent.processes.fencing import ProcessSweeper
from understudy.embedded.agent_protocol import Failure


class Machine(Protocol):
    """What failures of nodes depend on."""

    @property
    def node_processes(self) -> NodeProcesses: ...

    @property
    def sweeper(self) -> ProcessSweeper: ...

    @property
    def container_runtime(self) -> str: ...


class NodePod(Protocol):
    """A pod on a node that fails or recovers."""

    @property
    def uids(self) -> Sequence[str]: ...

    def freeze(self) -> None: ...

    def pause(self) -> None: ...

    def resume(self) -> None: ...

    def kill_with_node(self) -> bool: ...


class NodeFailures:
    def __init__(self, machine: Machine, registry: NodeRegistry, pods_of: Callable[[str], Sequence[NodePod]]) -> None:
        """`pods_of` returns the pods of a node."""
        self._machine = machine
        self._registry = registry
        self._pods_of = pods_of
        self._silent_since: dict[str, float] = dict.fromkeys(registry.unplugged, 0.0)

    def is_silent(self, node: str) -> bool:
        return node in self._silent_since

    def heartbeat(self, node: str, moment: float) -> None:
        if node in self._registry.unplugged:
            return
        if moment > self._silent_since.get(node, math.inf):  # older heartbeats were sent before the node fell silent
            self._resume(node)
        self._registry.heartbeat(node, moment)

    def silent(self, node: str) -> None:
        self._silent_since[node] = time.time()
        for pod in self._pods_of(node):
            pod.pause()

    def died(self, node: str) -> None:
        """Kills the processes before the report: no replacement may start while they run."""
        self._kill_pods(node)
        if node not in self._registry.unplugged:
            self._registry.report_gone(node)
        self._registry.fail(node)

    def fail(self, node: str, how: Failure) -> None:
        if node in self._registry.failed:
            return
        if how == "kill":
            self._machine.node_processes.end(node)
            self.died(node)
            return
        if how == "freeze" and self._machine.container_runtime != PROCESS:
            runtime = self._machine.container_runtime
            raise LookupError(f"only processes can be made to hang, not containers of {runtime}")
        if how == "freeze" and self._machine.node_processes.has_heartbeats(node):
            self._machine.node_processes.freeze(node)
            for pod in self._pods_of(node):
                pod.freeze()
        else:
            self._registry.unplug(node)
        self.silent(node)

    async def recover(self, node: str) -> bool:
        """Whether the pods of the node have to start anew; else they go on, or the node had not failed."""
        if self._machine.node_processes.hangs(node):
            self._machine.node_processes.end(node)
            self._kill_pods(node)
            self._registry.fail(node)
        elif node in self._registry.unplugged:
            known = self._registry.recover(node)
            self._resume(node)
            await known
        return node in self._registry.failed

    def _resume(self, node: str) -> None:
        self._silent_since.pop(node, None)
        for pod in self._pods_of(node):
            pod.resume()

    def _kill_pods(self, node: str) -> None:
        """Processes without a shim are searched in the background; until they are killed, no container is started."""
        self._silent_since.pop(node, None)
        for pod in self._pods_of(node):
            if not pod.kill_with_node():
                for uid in pod.uids:
                    self._machine.sweeper.request(uid)
