"""Warm start: an understudy that holds on this machine becomes the pod that it stands in for.

Its processes, folder and devices become those of the pod at one moment: when the two folders are exchanged, and the
understudy's becomes a link to the pod's. Before it, nothing has happened. After it, every step that is left can be
repeated, by this agent or the next one.
"""

import asyncio
import logging
import os
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Protocol

import msgspec

from understudy.embedded.agent.api.config_objects import sources_of_environment
from understudy.embedded.agent.api.pod_types import Container, Pod
from understudy.embedded.agent.containers import attempts, device_manager
from understudy.embedded.agent.containers.launch_spec import ContainerAttempt, build_launch
from understudy.embedded.agent.pods import pod_records, pod_setup
from understudy.embedded.agent.pods.dependencies import PodDependencies
from understudy.embedded.agent.pods.pod_containers import PodContainers
from understudy.embedded.agent.pods.pod_records import PodRecord
from understudy.embedded.shim import container_files, linux
from understudy.embedded.shim.container_files import Launch
from understudy.embedded.shim.pod_folders import BadName, PodFolder, pod_folder
from understudy.embedded.warm_start.warm_launch import activate, write_activation
from understudy.kinds.annotations import STEPS_IN, WARM_FOR
from understudy.objects.resources import PODS
from understudy.ports import Ref, Refused, Unreachable

_PAUSE = 1.0
_GONE = (HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT)

log = logging.getLogger(__name__)


class Kept(Protocol):
    """A pod with its worker."""

    @property
    def pod(self) -> Pod: ...

    @property
    def containers(self) -> PodContainers: ...

    def hand_over(self) -> None: ...


def is_replaced(pods: Path, uid: str) -> bool:
    """Whether this was an understudy that has become another pod."""
    return pod_folder(pods, uid).path.is_symlink()


def start_order(pods: Iterable[Pod]) -> list[Pod]:
    """Pods that have ended come first and release resources; pods with an understudy come after their understudies."""
    return sorted(pods, key=lambda pod: (not pod.is_over, STEPS_IN in pod.metadata.annotations))


def understudy_of(pod: Pod, workers: Mapping[str, Kept]) -> Kept | None:
    return workers.get(pod.metadata.annotations.get(STEPS_IN, ""))


def take_over(deps: PodDependencies, pod: Pod, understudy: Kept | None) -> bool:
    """Whether the pod has taken over its understudy, now or before; else it starts cold."""
    uid, held_as = pod.metadata.uid, pod.metadata.annotations.get(STEPS_IN, "")
    try:
        folder, link = pod_folder(deps.folder.pods, uid), pod_folder(deps.folder.pods, held_as).path
    except BadName:
        return False
    if not link.is_symlink():
        if understudy is None or (why := _why_not(deps, pod, understudy)):
            log.info("pod %s starts cold: %s", pod.title, why if understudy else "its understudy is not there")
            return False
        if not _exchange_folders(folder, link, understudy):
            return False
        deps.devices.hand_over(held_as, uid)
        deps.machine.directory.remove_pod(held_as)
        deps.addresses.release(held_as)
        deps.token_manager.forget(held_as)
    elif os.readlink(link) != uid:
        return False  # the understudy has become another pod
    _save_taken_over(deps, pod, folder, held_as)
    return True


def _why_not(deps: PodDependencies, pod: Pod, understudy: Kept) -> str:
    other, observations = understudy.pod, understudy.containers.observations
    if WARM_FOR not in other.metadata.annotations or other.spec.node_name != pod.spec.node_name:
        return f"pod {other.title} is no understudy of its own"
    if other.is_going or other.is_over or deps.machine.tool is not None:
        return f"understudy {other.title} has to go itself"
    if [_containers_and_devices(one) for one in pod.all_containers()] != [
        _containers_and_devices(one) for one in other.all_containers()
    ]:
        return f"understudy {other.title} is made of other containers"
    for container in pod.spec.containers:
        observed = observations.get(container.name)
        if observed is None or not observed.is_running or observed.stop is not None:
            return f"understudy {other.title} does not hold"
    return ""


def _containers_and_devices(container: Container) -> tuple[str, dict[str, int]]:
    return container.name, device_manager.requested_devices(container)


def _exchange_folders(folder: PodFolder, link: Path, understudy: Kept) -> bool:
    if folder.path.is_symlink():
        folder.path.unlink()  # left by an agent that was killed between the two steps
    try:
        folder.path.symlink_to(folder.path.name)
        linux.exchange(folder.path, link)
    except OSError as problem:
        log.warning("pod %s cannot have the folder of its understudy: %s", folder.path.name, problem)
        folder.path.unlink(missing_ok=True)
        return False
    understudy.hand_over()
    return True


def _save_taken_over(deps: PodDependencies, pod: Pod, folder: PodFolder, held_as: str) -> None:
    """The pod keeps the address of its own name: peers that knew the member before find it where it was."""
    record = pod_records.load_record(folder)
    if record is None or record.held_as != held_as:
        meta = pod.metadata
        shares = deps.devices.hand_over(meta.uid, meta.uid)
        address, now = pod_setup.address_for(deps, pod), deps.now()
        _reset_start_times(pod, folder, now)
        pod_records.save_record(
            folder, PodRecord(meta.namespace, meta.name, pod.spec.node_name, address, now, shares, held_as)
        )


def _reset_start_times(pod: Pod, folder: PodFolder, now: float) -> None:
    """Containers count as started now: before, they ran for the understudy."""
    for container in pod.spec.containers:
        attempt = folder.attempt(container.name, max(folder.attempts(container.name), default=0))
        state = attempts.state_of(attempt)
        if state is not None:
            container_files.write(attempt.state, msgspec.structs.replace(state, started_at=now))


async def activate_pod(deps: PodDependencies, pod: Pod) -> None:
    """Activates every container of the pod that still holds; repeated until it succeeds."""
    folder = pod_folder(deps.folder.pods, pod.metadata.uid)
    while folder.record.exists():
        try:
            await _activate_containers(deps, pod, folder)
            return
        except Exception as problem:  # a volume whose ConfigMap is missing, or an API that does not answer: it may pass
            log.warning("pod %s: its understudy has to wait for its activation: %r", pod.title, problem)
        await asyncio.sleep(_PAUSE)


async def _activate_containers(deps: PodDependencies, pod: Pod, folder: PodFolder) -> None:
    record = pod_records.load_record(folder)
    if record is None:
        return
    setup = await pod_setup.set_up_pod(deps, pod, folder, record)
    for container in pod.spec.containers:
        number = max(folder.attempts(container.name), default=-1)
        attempt = folder.attempt(container.name, number)
        held = container_files.read(attempt.launch, Launch)
        if held is None or not held.hold_folder:
            continue
        if not attempt.activation.exists():
            config_data = await deps.config_reader.fetch(pod.metadata.namespace, sources_of_environment(container))
            launch = build_launch(deps.machine, setup, ContainerAttempt(container, number, 0.0, attempt), config_data)
            kept = {"cgroups": held.cgroups, "address_space": held.address_space, "hold_folder": held.hold_folder}
            container_files.write(attempt.launch, msgspec.structs.replace(launch, **kept))
            write_activation(attempt, launch)
        activate(attempt)  # also where an earlier agent has written the activation: it may have been killed right after


async def delete_understudy(deps: PodDependencies, understudy: Pod, grace: int | None) -> None:
    """Deletes the understudy from the API."""
    meta = understudy.metadata
    while True:
        try:
            await deps.cluster.delete(Ref(PODS, meta.namespace, meta.name), grace=grace, uid=meta.uid)
            return
        except Refused as refusal:
            if refusal.code in _GONE:
                return
            log.warning("removal of pod %s: %s", understudy.title, refusal)
        except Unreachable:
            pass
        await asyncio.sleep(_PAUSE)
