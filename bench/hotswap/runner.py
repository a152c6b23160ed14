"""Plays a scenario: makes nodes fail, waits until the gangs are whole, restores the nodes, and records each moment."""

import asyncio
import time
from collections.abc import Callable, Mapping

import msgspec

from bench.hotswap import gangs
from bench.hotswap.api_objects import Pod
from bench.hotswap.cluster_watch import ClusterWatch
from bench.hotswap.invariant_monitor import Monitor, Verdict, monitoring
from bench.hotswap.node_faults import recover_nodes
from bench.hotswap.scenarios import Scenario
from bench.hotswap.timeline import Incident, Moments, recorded
from understudy.client import KubeClient, connect
from understudy.embedded.cluster_folder import ClusterFolder
from understudy.ports import Ref

UNDERSTUDIES_LIMIT = 20.0
Progress = Callable[[int, Moments], None]


class ScenarioResult(msgspec.Struct, frozen=True):
    moments: list[Moments]
    swaps: list[int]  # of each incident, how many swaps were reported
    recorded: list[Moments]  # of each gang in each incident, as the cluster has it
    plans: list[int]  # of each incident, how many moments of decision were recorded
    moved: int  # members on healthy nodes that were moved all the same
    verdict: Verdict


async def play(folder: ClusterFolder, scenario: Scenario, kind: str, count: int, progress: Progress) -> ScenarioResult:
    async with connect(folder.kubeconfig) as client, monitoring(folder.kubeconfig) as watch:
        stage = ClusterWatch(client)
        async with stage.watching():
            if scenario.rendezvous is not None:
                scenario.rendezvous.begin()
            await _submit(client, scenario, kind)
            player = ScenarioRunner(folder, scenario, stage, watch)
            await player.begin()
            for number in range(count):
                progress(number, await player.incident(number))
            found = (player.moments, player.swaps, player.recorded, player.plans, player.moved)
            return ScenarioResult(*found, await watch.verdict())


async def _submit(client: KubeClient, scenario: Scenario, kind: str) -> None:
    documents = [*gangs.priority_classes(), *(gangs.document(gang, kind) for gang in scenario.gangs)]
    for resource, document in documents:
        await client.create(Ref(resource, "default" if resource.namespaced else ""), document)


class ScenarioRunner:
    def __init__(self, folder: ClusterFolder, scenario: Scenario, stage: ClusterWatch, watch: Monitor) -> None:
        self._folder = folder
        self._scenario = scenario
        self._stage = stage
        self._watch = watch
        self.moments: list[Moments] = []
        self.swaps: list[int] = []
        self.recorded: list[Moments] = []
        self.plans: list[int] = []
        self.moved = 0
        self._met = sum(scenario.sizes.values())  # processes of members that have come to their rendezvous

    async def begin(self) -> None:
        """Raises NeverSeen where understudies are wanted and none comes."""
        stage, wanted = self._stage, self._scenario.understudies
        await stage.calm(self._scenario.sizes)
        if self._scenario.rendezvous is not None:
            await self._scenario.rendezvous.past(self._met)
        await stage.until("an understudy", lambda: stage.understudies >= wanted, limit=UNDERSTUDIES_LIMIT)
        await self.calm()

    async def calm(self) -> None:
        await self._stage.calm(self._scenario.sizes, self._scenario.understudies)
        await asyncio.sleep(self._scenario.settling)

    async def incident(self, number: int) -> Moments:
        stage = self._stage
        nodes = self._chosen(number)
        before, counted, known = dict(stage.pods), sum(stage.swaps.values()), set(stage.records)
        stage.unwell_at.clear()
        await self._watch.warn(nodes)
        failed_at = await self._scenario.fail(self._folder, nodes)
        hit = {gang: self._scenario.sizes[gang] for gang in self._scenario.lost}
        await stage.until(f"all members run again without {', '.join(nodes)}", lambda: stage.whole(hit, nodes))
        moments = await self._moments(failed_at, nodes, before)
        await recover_nodes(self._folder, nodes)
        await self.calm()
        self.moments.append(moments)
        self.swaps.append(sum(stage.swaps.values()) - counted)
        self._read_records(known, failed_at)
        stay = {uid for uid, pod in before.items() if pod.gang in hit and pod.node not in nodes}
        self.moved += len(stay - stage.pods.keys())
        stage.forget_the_gone()
        return moments

    def _read_records(self, known: set[str], failed_at: float) -> None:
        fresh = [record for name, record in self._stage.records.items() if name not in known]
        at = failed_at + time.time() - time.monotonic()
        self.recorded += [recorded(record, at) for record in fresh]
        self.plans.append(len({record.decided_at for record in fresh}))

    def _chosen(self, number: int) -> list[str]:
        """Another node of each gang every time; never that of the one at which all others meet."""
        found = []
        for gang, count in self._scenario.lost.items():
            members = self._stage.members(gang).values()
            kept = {pod.node for pod in members if pod.leads} if self._scenario.rendezvous else set()
            nodes = sorted({pod.node for pod in members} - kept)
            found += [nodes[(number + turn) % len(nodes)] for turn in range(count)]
        return found

    async def _moments(self, failed_at: float, nodes: list[str], before: Mapping[str, Pod]) -> Moments:
        stage = self._stage
        members = {uid for gang in self._scenario.lost for uid in stage.members(gang)}
        fresh = members - before.keys()
        late = await stage.alive(fresh)
        hit = {uid: pod for uid, pod in before.items() if pod.gang in self._scenario.lost}
        failed = [uid for uid, pod in hit.items() if pod.node in nodes]
        others = (uid for uid, pod in before.items() if uid not in hit and not pod.is_understudy)
        victims = [uid for uid in others if uid not in stage.pods]
        unwell = [stage.unwell_at[node] for node in nodes if node in stage.unwell_at]
        found = Incident(failed_at, unwell, *([stage.traces[uid] for uid in uids] for uids in (failed, fresh, victims)))
        moments = found.moments()
        if late is not None:
            moments["running"] = (late - failed_at) * 1e3
        if self._scenario.rendezvous is not None:
            self._met += 1
            moments["rendezvous"] = (await self._scenario.rendezvous.past(self._met) - failed_at) * 1e3
        return moments
