"""All pods of this machine: passes changes of pods in the API and messages of shims on to one worker a pod."""

import asyncio
import logging
import os
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import msgspec

from understudy.embedded.agent.api.pod_types import Container, Pod, PodMetadata, PodSpec, decode_pod
from understudy.embedded.agent.containers.attempts import has_running_shim
from understudy.embedded.agent.containers.resource_usage import UsageMeter
from understudy.embedded.agent.nodes.node_failure import NodeFailures
from understudy.embedded.agent.nodes.node_registration import NodeRegistry
from understudy.embedded.agent.pods import pod_records, warm_start
from understudy.embedded.agent.pods.dependencies import PodDependencies
from understudy.embedded.agent.pods.pod_setup import forget_pod
from understudy.embedded.agent.pods.pod_worker import PodWorker
from understudy.embedded.agent.processes.fork_server_connection import ExecProcess, ShimMessage
from understudy.embedded.agent.volumes import service_account_token
from understudy.embedded.agent_protocol import GOING, ExecRequest, Failure, UsageReport
from understudy.embedded.shim import messages
from understudy.embedded.shim.pod_folders import BadName, PodFolder, pod_folder
from understudy.kinds.annotations import STEPS_IN
from understudy.ports import Change, ChangeType

log = logging.getLogger(__name__)
_LATER = 1.0


class PodManager:
    def __init__(self, deps: PodDependencies, registry: NodeRegistry) -> None:
        self._deps = deps
        self._registry = registry
        self._workers: dict[str, PodWorker] = {}
        self._initial: dict[str, Pod] | None = {}  # the pods of the initial list, until it is complete; None afterwards
        self._synced = asyncio.Event()  # set once the initial list of pods is complete
        self._failed: dict[str, Pod] = {}  # handling failed for a passing reason and is tried again
        self._on_failed_nodes: dict[str, Pod] = {}  # pods bound to nodes that have failed
        self._tasks: set[asyncio.Task[None]] = set()
        self._removed: set[str] = set()  # ended and reported; finalizers still keep them in the API
        self._uids_by_name: dict[str, set[str]] = {}  # by namespace and name, the uids of the pods that have a worker
        self._waiting: dict[str, Pod] = {}  # by namespace and name, pods that wait for the end of an earlier one
        self._node_failures = NodeFailures(deps, registry, self._workers_on)
        self._usage_meter = UsageMeter()
        deps.on_freed = self._retry_refused
        deps.node_processes.listener = self
        registry.has_heartbeats = deps.node_processes.has_heartbeats

    # Messages about nodes

    def heartbeat(self, node: str, moment: float) -> None:
        self._node_failures.heartbeat(node, moment)

    def silent(self, node: str) -> None:
        self._node_failures.silent(node)

    def died(self, node: str) -> None:
        log.info("node %s: its process has ended, and what ran there is killed", node)
        self._node_failures.died(node)

    def _workers_on(self, node: str) -> list[PodWorker]:
        return [worker for worker in self._workers.values() if worker.pod.spec.node_name == node]

    # Changes of pods and messages of shims

    def shim_message(self, message: ShimMessage) -> None:
        uid, container = _pod_and_container(Path(message.folder))
        worker = self._workers.get(uid)
        if worker is None:
            return
        if isinstance(message, messages.ShimForked):
            worker.containers.forked(container, message.shim)
        else:
            worker.containers.examine(container)

    def changed(self, change: Change) -> None:
        if change.type is ChangeType.SYNCED:
            self._handle_initial()
            return
        try:
            pod = decode_pod(change.raw)
            pod_folder(self._deps.folder.pods, pod.metadata.uid)
        except (msgspec.DecodeError, BadName) as problem:
            log.error("a pod cannot be read: %s", problem)
            return
        if pod.spec.node_name not in self._registry.names:
            return
        if change.type is ChangeType.DELETED:
            self._deps.ended.note(pod.metadata.uid, change.raw)
            self._deleted(pod.metadata.uid)
        elif self._initial is not None:
            self._initial[pod.metadata.uid] = pod
        else:
            self._updated(pod)

    def _handle_initial(self) -> None:
        """Handles the complete initial list: first the pods that have ended, which release resources.

        Folders without a pod are orphans.
        """
        pods, self._initial = self._initial, None
        if pods is None:
            return
        for uid, folder in pod_records.found_pod_folders(self._deps.folder.pods):
            if uid not in pods:
                log.warning("pod %s is no longer in the cluster; its processes are killed", uid)
                self._end_orphan(uid, folder)
        for pod in warm_start.start_order(pods.values()):
            self._updated(pod)
        self._synced.set()

    def _end_orphan(self, uid: str, folder: PodFolder) -> None:
        self._add_worker(_pod_from_folder(uid, folder)).pod_deleted()

    def _updated(self, pod: Pod) -> None:
        """Handles a pod, again later where the disk is full or too many files are open."""
        uid = pod.metadata.uid
        self._failed.pop(uid, None)
        try:
            self._handle(pod)
        except OSError as problem:
            log.error("pod %s cannot be handled yet: %s", pod.title, problem)
            self._failed[uid] = pod
            asyncio.get_running_loop().call_later(_LATER, self._try_again, uid)

    def _try_again(self, uid: str) -> None:
        if uid in self._failed:
            self._updated(self._failed[uid])

    def _handle(self, pod: Pod) -> None:
        uid = pod.metadata.uid
        if uid in self._workers:
            self._workers[uid].update(pod)
        elif warm_start.is_replaced(self._deps.folder.pods, uid):
            self._remove(pod, 0)
        elif pod.spec.node_name in self._registry.failed:
            self._on_failed_nodes[uid] = pod
        elif uid not in self._removed and self._needs_worker(pod):
            self._start_worker(pod)
        elif pod.is_over and self._deps.devices.release(uid):
            self._deps.on_freed()

    def _needs_worker(self, pod: Pod) -> bool:
        folder = pod_folder(self._deps.folder.pods, pod.metadata.uid)
        return not pod.is_over or pod.is_going or has_running_shim(folder)

    def _start_worker(self, pod: Pod) -> None:
        """Starts a worker, but not while an earlier pod of the same name may run: both would have one identity."""
        if self._uids_by_name.get(_full_name(pod)):
            self._waiting[_full_name(pod)] = pod
            return
        self._deps.node_processes.begin(pod.spec.node_name)
        taken_over = STEPS_IN in pod.metadata.annotations and self._take_over(pod)
        worker = self._add_worker(pod)
        if self._node_failures.is_silent(pod.spec.node_name):
            worker.pause()
        worker.wake_up()
        if taken_over:
            self._begin_task(warm_start.activate_pod(self._deps, pod))
        else:
            folder = pod_folder(self._deps.folder.pods, pod.metadata.uid)
            service_account_token.adopt_tokens(self._deps.token_manager, pod, folder, self._deps.authority)

    def _add_worker(self, pod: Pod) -> PodWorker:
        worker = self._workers[pod.metadata.uid] = PodWorker(self._deps, pod, self._done)
        self._uids_by_name.setdefault(_full_name(pod), set()).add(worker.uid)
        return worker

    def _remove_worker(self, worker: PodWorker) -> None:
        self._workers.pop(worker.uid, None)
        left = self._uids_by_name.get(_full_name(worker.pod), set())
        left.discard(worker.uid)
        if not left:
            self._uids_by_name.pop(_full_name(worker.pod), None)

    def _take_over(self, pod: Pod) -> bool:
        """Whether the understudy has become this pod. One that cannot is deleted, so that its seat is free."""
        understudy = warm_start.understudy_of(pod, self._workers)
        taken_over = warm_start.take_over(self._deps, pod, understudy)
        if understudy is not None:
            if taken_over:
                self._remove_worker(self._workers[understudy.pod.metadata.uid])
            self._remove(understudy.pod, 0 if taken_over else None)
        return taken_over

    def _remove(self, understudy: Pod, grace: int | None) -> None:
        self._begin_task(warm_start.delete_understudy(self._deps, understudy, grace))

    def _begin_task(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _deleted(self, uid: str) -> None:
        self._removed.discard(uid)
        self._failed.pop(uid, None)
        if warm_start.is_replaced(self._deps.folder.pods, uid):
            return
        stranded = self._on_failed_nodes.pop(uid, None)
        if self._initial is not None:
            self._initial.pop(uid, None)
        if uid in self._workers:
            self._workers[uid].pod_deleted()
            return
        self._waiting = {title: pod for title, pod in self._waiting.items() if pod.metadata.uid != uid}
        folder = pod_folder(self._deps.folder.pods, uid)
        if stranded is not None and has_running_shim(folder):
            self._end_orphan(uid, folder)
        elif folder.path.exists():
            forget_pod(self._deps, folder, uid)

    def _done(self, worker: PodWorker) -> None:
        self._remove_worker(worker)
        if worker.pod.is_going:
            self._removed.add(worker.uid)
        if _full_name(worker.pod) not in self._uids_by_name and _full_name(worker.pod) in self._waiting:
            self._updated(self._waiting.pop(_full_name(worker.pod)))

    def _retry_refused(self) -> None:
        for worker in list(self._workers.values()):
            worker.retry()

    # Requests at the agent's socket

    def enter(self, request: ExecRequest, streams: tuple[int, int, int]) -> ExecProcess:
        worker = self._workers.get(request.pod_uid)
        if worker is not None and request.neighbour:
            worker = self._other_pod(worker, request.neighbour)
        name = request.container or (worker.pod.spec.containers[0].name if worker is not None else "")
        if worker is None or worker.pod.container(name) is None:
            raise LookupError(f'container "{name or request.neighbour}" is not on this machine')
        if self._node_failures.is_silent(worker.pod.spec.node_name):
            raise LookupError(f'node "{worker.pod.spec.node_name}" does not answer')
        return worker.containers.enter(name, request.command, streams, tty=request.tty)

    def _other_pod(self, worker: PodWorker, name: str) -> PodWorker | None:
        """The pod of that name that is not being deleted. A pod that has to end itself may not enter its neighbours."""
        wanted = (worker.pod.metadata.namespace, name)
        found = [k for k in self._workers.values() if (k.pod.metadata.namespace, k.pod.metadata.name) == wanted]
        staying = next((other for other in found if not other.pod.is_going), None)
        if worker.pod.is_doomed or (found and staying is None):
            raise LookupError(f'pod "{worker.pod.metadata.name if worker.pod.is_doomed else name}" {GOING}')
        return staying

    async def usage(self) -> UsageReport:
        """Of all running containers, but those on nodes that do not answer."""
        if (tool := self._deps.machine.tool) is not None:
            raise LookupError(f"containers are run by {tool.name}: see {tool.name} stats")
        return await self._usage_meter.report(
            {
                (uid, name): shim
                for uid, worker in self._workers.items()
                if not self._node_failures.is_silent(worker.pod.spec.node_name)
                for name, shim in worker.containers.shims()
            }
        )

    async def fail_node(self, name: str, how: Failure) -> None:
        """Waits for the initial list of pods, since the processes of all pods on the node are killed with it."""
        self._check(name)
        await self._synced.wait()
        self._node_failures.fail(name, how)

    async def recover_node(self, name: str) -> None:
        """An unplugged node continues. Any other is like a rebooted machine: its pods have ended and start again."""
        self._check(name)
        await self._synced.wait()
        if not await self._node_failures.recover(name):
            return
        self._kill_stopped_pods(name)
        for worker in self._workers_on(name):
            await worker.wait_until_killed()
            if worker.is_deleted:
                continue
            await worker.close()
            self._remove_worker(worker)
            self._on_failed_nodes[worker.uid] = worker.pod
        self._deps.node_processes.begin(name)
        known = self._registry.recover(name)
        for uid, pod in list(self._on_failed_nodes.items()):
            if pod.spec.node_name == name:
                self._updated(self._on_failed_nodes.pop(uid))
        await known

    def _kill_stopped_pods(self, name: str) -> None:
        """Kills processes that were stopped with their node under an earlier agent: others have replaced them."""
        for uid, pod in list(self._on_failed_nodes.items()):
            if pod.spec.node_name == name and has_running_shim(pod_folder(self._deps.folder.pods, uid)):
                self._add_worker(self._on_failed_nodes.pop(uid)).kill_with_node()

    def _check(self, name: str) -> None:
        if name not in self._registry.names:
            raise LookupError(f"node {name!r} is not one of this machine")

    async def close(self) -> None:
        """Stops all workers; the processes of pods keep running."""
        self._failed.clear()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*(worker.close() for worker in self._workers.values()))


def _full_name(pod: Pod) -> str:
    """Namespace and name: a recreated pod has the same."""
    return f"{pod.metadata.namespace}/{pod.metadata.name}"


def _pod_and_container(folder: Path) -> tuple[str, str]:
    """The uid of the pod and the container of a shim. The folder of an understudy that became a pod is a link to it."""
    pod = folder.parents[2]
    return os.readlink(pod) if pod.is_symlink() else pod.name, folder.parent.name


def _pod_from_folder(uid: str, folder: PodFolder) -> Pod:
    """A pod that is no longer in the API, as far as its folder describes it."""
    record = pod_records.load_record(folder)
    names = sorted(os.listdir(folder.containers)) if folder.containers.is_dir() else []
    meta = PodMetadata(uid=uid) if record is None else PodMetadata(record.name, record.namespace, uid)
    containers = tuple(Container(name) for name in names)
    return Pod(meta, PodSpec(containers, node_name="" if record is None else record.node))
