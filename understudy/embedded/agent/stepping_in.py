"""An understudy that holds on this machine becomes the pod it steps in for: its processes, folder and devices are that
pod's from one moment on.

That moment is when the two folders change places: the understudy's becomes a link to the other's. Before it, nothing
has happened; after it, everything that is left to do can be done again, by this agent or the next one.
"""

import asyncio
import logging
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Protocol

import msgspec

from understudy.embedded.agent import attempts, devices, outfitting, records
from understudy.embedded.agent.crew import Crew
from understudy.embedded.agent.household import Household
from understudy.embedded.agent.launching import Attempt, launch_of
from understudy.embedded.agent.pods import Container, Pod
from understudy.embedded.agent.records import Record
from understudy.embedded.agent.sources import named_by
from understudy.embedded.shim import linux, orders
from understudy.embedded.shim.layout import BadName, PodFolder, pod_folder
from understudy.embedded.shim.orders import Launch
from understudy.embedded.wings.holding import call, write_cue
from understudy.kinds.annotations import STEPS_IN, WARM_FOR
from understudy.objects.resources import PODS
from understudy.ports import Ref, Refused, Unreachable

_PAUSE = 1.0
_GONE = (404, 409)

log = logging.getLogger(__name__)


class Kept(Protocol):
    """A pod with its keeper."""

    @property
    def pod(self) -> Pod: ...

    @property
    def crew(self) -> Crew: ...

    def retire(self) -> None: ...


def has_stepped_in(pods: Path, uid: str) -> bool:
    """Whether this was an understudy that is another pod now."""
    return pod_folder(pods, uid).path.is_symlink()


def in_order(pods: Iterable[Pod]) -> list[Pod]:
    """Whoever has ended gives back first; whoever steps in comes last, when those who let them are known."""
    return sorted(pods, key=lambda pod: (not pod.is_over, STEPS_IN in pod.metadata.annotations))


def understudy_of(pod: Pod, keepers: Mapping[str, Kept]) -> Kept | None:
    return keepers.get(pod.metadata.annotations.get(STEPS_IN, ""))


def take_over(house: Household, pod: Pod, understudy: Kept | None) -> bool:
    """Whether the pod has, now or before, become what its understudy was; else it has to start from nothing."""
    uid, held_as = pod.metadata.uid, pod.metadata.annotations.get(STEPS_IN, "")
    try:
        folder, link = pod_folder(house.folder.pods, uid), pod_folder(house.folder.pods, held_as).path
    except BadName:
        return False
    if not link.is_symlink():
        if understudy is None or (why := _why_not(house, pod, understudy)):
            log.info("pod %s starts from nothing: %s", pod.title, why if understudy else "its understudy is not there")
            return False
        if not _changed_places(folder, link, understudy):
            return False
        house.devices.hand_over(held_as, uid)
        house.machine.directory.leave(held_as)
        house.addresses.release(held_as)
        house.credentials.forget(held_as)
    elif os.readlink(link) != uid:
        return False  # it stepped in for somebody else
    _put_on_record(house, pod, folder, held_as)
    return True


def _why_not(house: Household, pod: Pod, understudy: Kept) -> str:
    other, sights = understudy.pod, understudy.crew.sights
    if WARM_FOR not in other.metadata.annotations or other.spec.node_name != pod.spec.node_name:
        return f"pod {other.title} is no understudy of its own"
    if other.is_going or other.is_over or house.machine.tool is not None:
        return f"understudy {other.title} has to go itself"
    if [_needs(one) for one in pod.all_containers()] != [_needs(one) for one in other.all_containers()]:
        return f"understudy {other.title} is made of other containers"
    for container in pod.spec.containers:
        sight = sights.get(container.name)
        if sight is None or not sight.is_running or sight.stop is not None:
            return f"understudy {other.title} does not hold"
    return ""


def _needs(container: Container) -> tuple[str, dict[str, int]]:
    return container.name, devices.wanted(container)


def _changed_places(folder: PodFolder, link: Path, understudy: Kept) -> bool:
    if folder.path.is_symlink():
        folder.path.unlink()  # left by an agent that was killed on the way
    try:
        folder.path.symlink_to(folder.path.name)
        linux.exchange(folder.path, link)
    except OSError as problem:
        log.warning("pod %s cannot have the folder of its understudy: %s", folder.path.name, problem)
        folder.path.unlink(missing_ok=True)
        return False
    understudy.retire()
    return True


def _put_on_record(house: Household, pod: Pod, folder: PodFolder, held_as: str) -> None:
    """With an address of its own: whoever knew the member before finds it where it was."""
    record = records.load(folder)
    if record is None or record.held_as != held_as:
        meta = pod.metadata
        shares = house.devices.hand_over(meta.uid, meta.uid)
        address, now = outfitting.address_of(house, pod), house.now()
        _begin_anew(pod, folder, now)
        records.save(folder, Record(meta.namespace, meta.name, pod.spec.node_name, address, now, shares, held_as))


def _begin_anew(pod: Pod, folder: PodFolder, now: float) -> None:
    """Its containers run since now: what they did before was not the pod's."""
    for container in pod.spec.containers:
        attempt = folder.attempt(container.name, max(folder.attempts(container.name), default=0))
        state = attempts.state_of(attempt)
        if state is not None:
            orders.write(attempt.state, msgspec.structs.replace(state, started_at=now))


async def give_cues(house: Household, pod: Pod) -> None:
    """Tells every container of the pod that holds still whom it stands in for; as often as needed."""
    folder = pod_folder(house.folder.pods, pod.metadata.uid)
    while folder.record.exists():
        try:
            await _give_cues(house, pod, folder)
            return
        except Exception as problem:  # a volume that lacks something, an API that does not answer: it may pass
            log.warning("pod %s: its understudy has to wait for its cue: %r", pod.title, problem)
        await asyncio.sleep(_PAUSE)


async def _give_cues(house: Household, pod: Pod, folder: PodFolder) -> None:
    record = records.load(folder)
    if record is None:
        return
    outfit = await outfitting.outfit(house, pod, folder, record)
    for container in pod.spec.containers:
        number = max(folder.attempts(container.name), default=-1)
        attempt = folder.attempt(container.name, number)
        held = orders.read(attempt.launch, Launch)
        if held is None or not held.wings:
            continue
        if not attempt.cue.exists():
            holdings = await house.library.fetch(pod.metadata.namespace, named_by(container))
            launch = launch_of(house.machine, outfit, Attempt(container, number, 0.0, attempt), holdings)
            kept = {"cgroups": held.cgroups, "address_space": held.address_space, "wings": held.wings}
            orders.write(attempt.launch, msgspec.structs.replace(launch, **kept))
            write_cue(attempt, launch)
        call(attempt)  # also where an agent before this one has written the cue: it may have come no further


async def remove(house: Household, understudy: Pod, grace: int | None) -> None:
    """From the cluster: for good, or once it has ended."""
    meta = understudy.metadata
    while True:
        try:
            await house.cluster.delete(Ref(PODS, meta.namespace, meta.name), grace=grace, uid=meta.uid)
            return
        except Refused as refusal:
            if refusal.code in _GONE:
                return
            log.warning("removal of pod %s: %s", understudy.title, refusal)
        except Unreachable:
            pass
        await asyncio.sleep(_PAUSE)
