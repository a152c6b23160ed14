"""Sets a pod up before its containers start: address, names, devices, volumes, folders; and releases all of it."""

import contextlib
import logging
from http import HTTPStatus
from pathlib import Path

import msgspec

from understudy.embedded.agent.api.config_objects import sources_of_volume
from understudy.embedded.agent.api.downward_api import PodFacts, listed
from understudy.embedded.agent.api.pod_types import Pod, TokenProjection, Volume
from understudy.embedded.agent.containers.environment import BadEnvironment
from understudy.embedded.agent.containers.launch_spec import PodSetup
from understudy.embedded.agent.network.address_pool import AddressPoolExhausted
from understudy.embedded.agent.network.pod_dns import NamedPod
from understudy.embedded.agent.pods import pod_records
from understudy.embedded.agent.pods.dependencies import PodDependencies
from understudy.embedded.agent.pods.pod_records import PodRecord
from understudy.embedded.agent.python.layered_environment import PythonEnvironment
from understudy.embedded.agent.python.pod_python import BadScope
from understudy.embedded.agent.volumes import service_account_token
from understudy.embedded.agent.volumes.service_account_token import replace_file
from understudy.embedded.agent.volumes.volume_projection import BadVolume, safe_path
from understudy.embedded.agent.volumes.volumes import PodVolumes, VolumeLocation
from understudy.embedded.shim.pod_folders import PodFolder
from understudy.kinds.annotations import CHECKPOINT_BY
from understudy.objects.resources import CLAIMS
from understudy.ports import Ref, Refused

log = logging.getLogger(__name__)
_NO_TOKEN = "failed to fetch token"


def admit_pod(deps: PodDependencies, pod: Pod, folder: PodFolder, now: float) -> PodRecord:
    """Reserves address and devices. Raises DevicesExhausted and AddressPoolExhausted, and reserves nothing then."""
    meta = pod.metadata
    record = PodRecord(
        namespace=meta.namespace,
        name=meta.name,
        node=pod.spec.node_name,
        shares=deps.devices.take(pod),
        address=address_for(deps, pod),
        started_at=now,
    )
    for path in (folder.root, folder.containers):
        path.mkdir(mode=0o755, parents=True, exist_ok=True)
    pod_records.save_record(folder, record)
    return record


def address_for(deps: PodDependencies, pod: Pod) -> str:
    """Raises AddressPoolExhausted."""
    return deps.addresses.take(pod.metadata.uid, f"{pod.metadata.namespace}/{pod.metadata.name}")


def register_names(deps: PodDependencies, pod: Pod) -> None:
    """Registers the names before the pod runs: pods bound together must find each other from the start."""
    with contextlib.suppress(AddressPoolExhausted):  # reported when the pod is started
        deps.machine.directory.add_pod(_named_pod(pod, address_for(deps, pod)))


def _named_pod(pod: Pod, address: str) -> NamedPod:
    return NamedPod(
        uid=pod.metadata.uid,
        namespace=pod.metadata.namespace,
        name=pod.metadata.name,
        hostname=pod.hostname,
        address=address,
        subdomain=pod.spec.subdomain,
        labels=pod.metadata.labels,
    )


async def set_up_pod(deps: PodDependencies, pod: Pod, folder: PodFolder, record: PodRecord) -> PodSetup:
    """Raises BadVolume, BadEnvironment, OSError, and the exceptions of the cluster."""
    publish_requests(pod, folder)
    node = deps.nodes[record.node]
    facts = PodFacts(pod=pod, address=record.address, host=node.address, allocatable=node.allocatable)
    storage = PodVolumes(folder, deps.folder.claims)
    wants_account = service_account_token.wants_service_account(pod)
    if wants_account:
        await _write_service_account(deps, pod, folder)
    return PodSetup(
        folder=folder,
        facts=facts,
        places={volume.name: await _place(deps, storage, facts, volume) for volume in pod.spec.volumes},
        shares=record.shares,
        python=await _python(deps, pod, folder),
        hosts=_hosts(deps, pod, folder, record),
        account=folder.account if wants_account else None,
    )


async def _python(deps: PodDependencies, pod: Pod, folder: PodFolder) -> PythonEnvironment | None:
    try:
        return None if deps.pythons is None else await deps.pythons.environment_of(pod, folder)
    except BadScope as problem:
        raise BadEnvironment(str(problem)) from problem


async def _write_service_account(deps: PodDependencies, pod: Pod, folder: PodFolder) -> None:
    try:
        await service_account_token.write_service_account(deps.token_manager, pod, folder, deps.authority)
    except Refused as refusal:
        raise BadVolume(f'MountVolume.SetUp failed for volume "kube-api-access" : {_NO_TOKEN}: {refusal}') from refusal


async def _place(deps: PodDependencies, storage: PodVolumes, facts: PodFacts, volume: Volume) -> VolumeLocation:
    namespace = facts.pod.metadata.namespace
    try:
        if volume.persistent_volume_claim:
            await _claim(deps, namespace, volume.persistent_volume_claim.claim_name)
        config_data = await deps.config_reader.fetch(namespace, sources_of_volume(volume))
        tokens = await _tokens(deps, facts.pod, volume, storage.pod.volumes / volume.name)
        return storage.place(volume, msgspec.structs.replace(facts, tokens=tokens), config_data)
    except BadVolume as problem:
        raise BadVolume(f'MountVolume.SetUp failed for volume "{volume.name}" : {problem}') from problem


async def _tokens(deps: PodDependencies, pod: Pod, volume: Volume, place: Path) -> dict[TokenProjection, str]:
    try:
        return {
            file: await deps.token_manager.obtain(pod, file, place / safe_path(file.path))
            for file in service_account_token.token_projections(volume.projected)
        }
    except Refused as refusal:
        raise BadVolume(f"{_NO_TOKEN}: {refusal}") from refusal


async def _claim(deps: PodDependencies, namespace: str, name: str) -> None:
    try:
        await deps.cluster.get(Ref(CLAIMS, namespace, name))
    except Refused as refusal:
        if refusal.code != HTTPStatus.NOT_FOUND:
            raise
        raise BadVolume(f'persistentvolumeclaim "{name}" not found') from refusal


def _hosts(deps: PodDependencies, pod: Pod, folder: PodFolder, record: PodRecord) -> Path:
    directory = deps.machine.directory
    if pod.spec.host_aliases:
        return directory.private_hosts(_named_pod(pod, record.address), pod.spec.host_aliases, folder.hosts)
    return directory.hosts_file_of(record.namespace)


def publish_requests(pod: Pod, folder: PodFolder) -> None:
    """Shows the annotations of a pod that was asked to save a checkpoint to its training code, while it is asked. Most
    pods are never asked, and have no such file."""
    file = folder.annotations
    try:
        if CHECKPOINT_BY not in pod.metadata.annotations:
            file.unlink(missing_ok=True)
        elif folder.root.exists():
            replace_file(file, f"{listed(pod.metadata.annotations)}\n".encode(), 0o644)
    except OSError as problem:  # such as a full disk: the pod then moves without a checkpoint
        log.warning("pod %s is not told that it should save: %s", pod.title, problem)


def release_pod(deps: PodDependencies, uid: str) -> None:
    """Releases devices and names once no process of the pod runs. Its address is kept until the pod is deleted."""
    release_names(deps, uid)
    if deps.devices.release(uid):
        deps.on_freed()


def release_names(deps: PodDependencies, uid: str) -> None:
    """Of a pod that died with its node: it keeps its devices, since it may start again there with what it recorded."""
    deps.machine.directory.remove_pod(uid)
    deps.token_manager.forget(uid)


def forget_pod(deps: PodDependencies, folder: PodFolder, uid: str) -> None:
    """Releases and removes everything of a pod that is deleted from the API."""
    release_pod(deps, uid)
    deps.addresses.release(uid)
    deps.cleanup.add(folder)
