"""Gives a pod what it needs before any of its containers can start: address, names, devices, volumes, folders."""

import contextlib
from pathlib import Path

import msgspec

from understudy.embedded.agent import account, records
from understudy.embedded.agent.addresses import NoAddress
from understudy.embedded.agent.downward import PodFacts
from understudy.embedded.agent.household import Household
from understudy.embedded.agent.launching import Outfit
from understudy.embedded.agent.names import Resident
from understudy.embedded.agent.pods import Pod, TokenFile, Volume
from understudy.embedded.agent.projections import BadVolume, safe_path
from understudy.embedded.agent.records import Record
from understudy.embedded.agent.sources import held_in
from understudy.embedded.agent.volumes import Place, Storage
from understudy.embedded.shim.layout import PodFolder
from understudy.objects.resources import CLAIMS
from understudy.ports import Ref, Refused

_NOT_FOUND = 404
_NO_TOKEN = "failed to fetch token"


def admit(house: Household, pod: Pod, folder: PodFolder, now: float) -> Record:
    """Address and devices. Raises Exhausted, NoAddress; then nothing was given."""
    meta = pod.metadata
    record = Record(
        namespace=meta.namespace,
        name=meta.name,
        node=pod.spec.node_name,
        shares=house.devices.take(pod),
        address=address_of(house, pod),
        started_at=now,
    )
    for path in (folder.root, folder.containers):
        path.mkdir(mode=0o755, parents=True, exist_ok=True)
    records.save(folder, record)
    return record


def address_of(house: Household, pod: Pod) -> str:
    """Raises NoAddress."""
    return house.addresses.take(pod.metadata.uid, f"{pod.metadata.namespace}/{pod.metadata.name}")


def make_known(house: Household, pod: Pod) -> None:
    """Before anything of the pod runs: those bound together are to find each other from the first moment on."""
    with contextlib.suppress(NoAddress):  # it is said when the pod is to start
        house.machine.directory.arrive(_resident(pod, address_of(house, pod)))


def _resident(pod: Pod, address: str) -> Resident:
    return Resident(
        uid=pod.metadata.uid,
        namespace=pod.metadata.namespace,
        name=pod.metadata.name,
        hostname=pod.hostname,
        address=address,
        subdomain=pod.spec.subdomain,
        labels=pod.metadata.labels,
    )


async def outfit(house: Household, pod: Pod, folder: PodFolder, record: Record) -> Outfit:
    """Raises BadVolume, and what the cluster raises."""
    node = house.nodes[record.node]
    facts = PodFacts(pod=pod, address=record.address, host=node.address, allocatable=node.allocatable)
    storage = Storage(folder, house.folder.claims)
    wants_account = account.is_wanted(pod)
    if wants_account:
        await _furnish(house, pod, folder)
    return Outfit(
        folder=folder,
        facts=facts,
        places={volume.name: await _place(house, storage, facts, volume) for volume in pod.spec.volumes},
        shares=record.shares,
        hosts=_hosts(house, pod, folder, record),
        account=folder.account if wants_account else None,
    )


async def _furnish(house: Household, pod: Pod, folder: PodFolder) -> None:
    try:
        await account.furnish(house.credentials, pod, folder, house.authority)
    except Refused as refusal:
        raise BadVolume(f'MountVolume.SetUp failed for volume "kube-api-access" : {_NO_TOKEN}: {refusal}') from refusal


async def _place(house: Household, storage: Storage, facts: PodFacts, volume: Volume) -> Place:
    namespace = facts.pod.metadata.namespace
    try:
        if volume.persistent_volume_claim:
            await _claim(house, namespace, volume.persistent_volume_claim.claim_name)
        holdings = await house.library.fetch(namespace, held_in(volume))
        tokens = await _tokens(house, facts.pod, volume, storage.pod.volumes / volume.name)
        return storage.place(volume, msgspec.structs.replace(facts, tokens=tokens), holdings)
    except BadVolume as problem:
        raise BadVolume(f'MountVolume.SetUp failed for volume "{volume.name}" : {problem}') from problem


async def _tokens(house: Household, pod: Pod, volume: Volume, place: Path) -> dict[TokenFile, str]:
    try:
        return {
            file: await house.credentials.obtain(pod, file, place / safe_path(file.path))
            for file in account.token_files(volume.projected)
        }
    except Refused as refusal:
        raise BadVolume(f"{_NO_TOKEN}: {refusal}") from refusal


async def _claim(house: Household, namespace: str, name: str) -> None:
    try:
        await house.cluster.get(Ref(CLAIMS, namespace, name))
    except Refused as refusal:
        if refusal.code != _NOT_FOUND:
            raise
        raise BadVolume(f'persistentvolumeclaim "{name}" not found') from refusal


def _hosts(house: Household, pod: Pod, folder: PodFolder, record: Record) -> Path:
    directory = house.machine.directory
    if pod.spec.host_aliases:
        return directory.private_hosts(_resident(pod, record.address), pod.spec.host_aliases, folder.hosts)
    return directory.hosts_of(record.namespace)


def discharge(house: Household, uid: str) -> None:
    """Devices and names come back when nothing of the pod runs any more. Its address stays its own until it is gone."""
    house.machine.directory.leave(uid)
    house.credentials.forget(uid)
    if house.devices.release(uid):
        house.on_freed()


def forget(house: Household, folder: PodFolder, uid: str) -> None:
    """The pod is gone from the API: nothing of it remains."""
    discharge(house, uid)
    house.addresses.release(uid)
    house.remains.leave(folder)
