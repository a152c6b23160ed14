"""The users of a chaos run: they submit jobs, in bursts too, suspend, resume and delete them, delete single pods, and
cordon nodes. What each job is meant to be is kept, so that a lost one is found."""

import asyncio
import functools
import random
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec

from tests.chaos import workloads
from tests.chaos.observer import Observer, insist
from tests.chaos.workloads import Shape, Workload
from understudy.client import KubeClient
from understudy.kinds.annotations import HOLDS, REQUEUED_AT
from understudy.objects.resources import NODES, PODS
from understudy.ports import PatchForm, Ref, Refused

MOST_JOBS = 18  # that are there at a time, beside bursts
PAUSE = 0.45  # seconds between two actions, on average
LONGEST_WITHOUT_CLAIM = 10.0  # seconds after its job that a claim comes


class Submission(msgspec.Struct):
    workload: Workload
    at: float
    deleted_at: float | None = None
    suspended: bool = False  # by its user
    meddled: list[float] = []  # when its user suspended, resumed or deleted something of it


class Users:
    def __init__(self, observer: Observer, chance: random.Random, shape: Shape, folder: Path) -> None:
        self.submitted: dict[str, Submission] = {}
        self.cordoned: set[str] = set()
        self.cordons: list[tuple[str, float]] = []  # nodes, and when they were cordoned
        self.actions: dict[str, int] = {}
        self.refusals: list[str] = []
        self._observer = observer
        self._chance = chance
        self._shape = shape
        self._folder = folder
        self._count = 0
        self._missing: list[tuple[float, str]] = []  # claims, and when they are to be made

    @property
    def _client(self) -> KubeClient:
        return self._observer.client

    async def run(self, stop: asyncio.Event) -> None:
        """What has begun is brought to its end, so that it is known what was submitted."""
        actions: dict[str, tuple[int, Callable[[], Awaitable[None]]]] = {
            "submit": (10, self._submit),
            "burst": (1, self._burst),
            "suspend": (2, self._suspend),
            "resume": (2, self._resume),
            "delete": (2, self._delete),
            "delete a pod": (1, self._delete_pod),
            "cordon": (1, self._cordon),
            "uncordon": (2, self._uncordon),
        }
        while not stop.is_set():
            name = self._chance.choices(list(actions), [weight for weight, _ in actions.values()])[0]
            await actions[name][1]()
            await self._make_claims(time.monotonic())
            await asyncio.sleep(self._chance.expovariate(1.0 / PAUSE))

    async def end(self) -> None:
        """All nodes are open, nothing is suspended by its user any more, and no job lacks a claim."""
        await self._make_claims(float("inf"))
        while self.cordoned:
            await self._uncordon()
        for one in self._open():
            if one.suspended:
                await self._pause(one, False)

    # What they do

    async def _submit(self) -> None:
        if len(self._open()) < MOST_JOBS:
            self._count += 1
            await self._create(workloads.draw(self._chance, self._count, self._shape, self._folder))

    async def _burst(self) -> None:
        for _ in range(self._chance.randint(5, 10)):
            self._count += 1
            await self._create(workloads.make("small", self._chance, self._count, self._shape, self._folder))

    async def _create(self, workload: Workload) -> None:
        """Asked again where the answer was lost; it is there already if the first attempt did it."""
        self._did("submit")
        for name in workload.claims:
            late = self._chance.choice([0.0, self._chance.uniform(0.5, LONGEST_WITHOUT_CLAIM)])
            self._missing.append((time.monotonic() + late, name))
        if self._chance.random() < 0.5:
            await self._make_claims(time.monotonic())
        self.submitted[workload.name] = Submission(workload, time.monotonic())
        ref = Ref(workload.resource, "default")
        await self._ask(lambda: self._client.create(ref, workload.document), fine=409)

    async def _make_claims(self, now: float) -> None:
        due = [one for one in self._missing if one[0] <= now]
        self._missing = [one for one in self._missing if one not in due]
        for _, name in due:
            self._did("make a claim")
            resource, document = workloads.claim(name)
            await self._ask(functools.partial(self._client.create, Ref(resource, "default"), document), fine=409)

    async def _suspend(self) -> None:
        found = [one for one in self._open() if one.workload.pause and not one.suspended]
        if found:
            await self._pause(self._chance.choice(found), True)

    async def _resume(self) -> None:
        found = [one for one in self._open() if one.suspended]
        if found:
            await self._pause(self._chance.choice(found), False)

    async def _pause(self, one: Submission, yes: bool) -> None:
        self._did("suspend" if yes else "resume")
        one.meddled.append(time.monotonic())
        one.suspended = yes
        notes = {"metadata": {"annotations": {REQUEUED_AT: None, HOLDS: None}}} if yes else {}
        ref = Ref(one.workload.resource, "default", one.workload.name)
        patch = {**one.workload.paused(yes), **notes}
        await self._ask(lambda: self._client.patch(ref, patch, form=PatchForm.MERGE), fine=404)
        one.meddled.append(time.monotonic())

    async def _delete(self) -> None:
        found = self._open()
        if found:
            one = self._chance.choice(found)
            self._did("delete")
            one.deleted_at = time.monotonic()
            one.meddled.append(one.deleted_at)
            ref = Ref(one.workload.resource, "default", one.workload.name)
            how = self._chance.choice(["Background", "Foreground"])
            await self._ask(lambda: self._client.delete(ref, propagation=how), fine=404)

    async def _delete_pod(self) -> None:
        pods = [pod for pod in self._observer.history.latest_pods().values() if pod.running and not pod.leaving]
        if pods:
            pod = self._chance.choice(sorted(pods, key=lambda one: one.name))
            self._did("delete a pod")
            if (one := self.submitted.get(pod.gang)) is not None:
                one.meddled.append(time.monotonic())
            await self._ask(lambda: self._client.delete(Ref(PODS, "default", pod.name), uid=pod.uid), fine=404)

    async def _cordon(self) -> None:
        nodes = sorted(set(self._observer.history.latest_nodes()) - self.cordoned)
        if nodes and len(self.cordoned) < 2:
            name = self._chance.choice(nodes)
            self.cordoned.add(name)
            self.cordons.append((name, time.monotonic()))
            await self._set_cordon(name, True)

    async def _uncordon(self) -> None:
        if self.cordoned:
            name = self._chance.choice(sorted(self.cordoned))
            await self._set_cordon(name, False)
            self.cordoned.discard(name)

    async def _set_cordon(self, name: str, yes: bool) -> None:
        self._did("cordon" if yes else "uncordon")
        patch = {"spec": {"unschedulable": yes}}
        await self._ask(lambda: self._client.patch(Ref(NODES, "", name), patch, form=PatchForm.MERGE), fine=404)

    # What they know

    def _open(self) -> list[Submission]:
        """Jobs that are not deleted and have not ended, as far as they know."""
        ended = {name for (_, name), job in self._observer.history.latest_jobs().items() if job.ended}
        there = [one for one in self.submitted.values() if one.deleted_at is None]
        return [one for one in there if one.workload.name not in ended]

    def _did(self, what: str) -> None:
        self.actions[what] = self.actions.get(what, 0) + 1

    async def _ask(self, ask: Callable[[], Awaitable[Any]], fine: int) -> None:
        """`fine` is the code that says that it is done already. A conflict is asked again."""
        while True:
            try:
                await insist(ask)
            except Refused as refused:
                if refused.code == 409 and fine != 409:
                    await asyncio.sleep(0.05)
                    continue
                if refused.code != fine:
                    self.refusals.append(f"{refused.code} {refused}")
            return
