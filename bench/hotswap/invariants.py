"""Checks what must never happen while gangs are repaired: turns observed pods, jobs and processes into violations."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

import msgspec

from bench.hotswap.api_objects import Job, Place, Pod, held_name
from bench.hotswap.process_table import PodProcess
from bench.hotswap.replay import JobState, PodState, replayed

IN_FLIGHT = 0.5  # seconds within which a bind or an eviction reaches all watches
KINDS = {
    "partial_start": "a process of a gang ran before all its members had seats or held ones",
    "partly_seated": "a gang without a failed node had seats for some members and neither seats nor held ones for"
    " others, or of those that were taken off failed nodes before any had a new seat some had one and others not,"
    " longer than a bind is in flight; or a process lived on after its grace while others of its gang were gone",
    "accelerator_twice": "two pods had living processes that were given the same accelerator",
    "two_of_a_name": "two pods of one place of a gang, or of one name, had living processes",
    "jobs_lost": "a job failed, was gone, or was not whole at the end",
}

Living = Mapping[str, list[PodProcess]]  # by the uid of the pod


class CheckedGang(msgspec.Struct):
    pods: dict[str, Pod] = {}  # by uid
    places: set[Place] = set()  # all that were ever seen
    size: int = 0  # as its job says; 0: the job has not been seen yet
    held: frozenset[str] = frozenset()  # members for which a seat is held
    seen: list[PodState | JobState] = []  # all states there were of its pods and its job
    failed: dict[Place, str] = {}  # places that lose their pod, of this uid, with its node
    lots: list[set[Place]] = []  # of the failed places, those that were noticed together: they get new seats together
    uneven_since: float | None = None
    reported: bool = False  # of this time of being uneven

    def seated(self) -> dict[Place, str]:
        """By place, the uid of the pod that sits there. A dead pod keeps its seat until its death is detected."""
        return {pod.place: uid for uid, pod in self.pods.items() if pod.stays and pod.node}


class InvariantChecker:
    def __init__(self) -> None:
        self.violations: list[tuple[str, str]] = []
        self._gangs: dict[str, CheckedGang] = {}
        self._jobs: dict[str, Job] = {}
        self._ever: dict[str, Pod] = {}  # every pod there was, by the uid its processes are known by
        self._reported: set[tuple[str, ...]] = set()

    # What is seen

    def pod(self, pod: Pod, gone: bool, now: float) -> None:
        self._ever[pod.body] = pod
        if not pod.gang:
            return
        gang = self._gangs.setdefault(pod.gang, CheckedGang())
        gang.places.add(pod.place)
        gang.seen.append(pod.observed(gone))
        if gone:
            gang.pods.pop(pod.uid, None)
        else:
            gang.pods[pod.uid] = pod
        self._weigh(gang, now)

    def job(self, name: str, job: Job, gone: bool, now: float = 0.0) -> None:
        gang = self._gangs.setdefault(job.metadata.name, CheckedGang())
        gang.seen.append(job.observed(name.partition(" ")[0], gone))
        gang.size, gang.held = job.spec.pods, frozenset() if gone else job.held
        self._weigh(gang, now)
        if gone:
            self._jobs.pop(name, None)
        else:
            self._jobs[name] = job
        if gone or job.failed:
            self._report("jobs_lost", f"{name} {'is gone' if gone else 'has failed'}", name)

    def fail(self, nodes: Iterable[str]) -> None:
        """Announces nodes that fail now: the seats on them are lost."""
        dead = set(nodes)
        for gang in self._gangs.values():
            for uid, pod in gang.pods.items():
                if pod.node in dead:
                    gang.failed[pod.place] = uid
                    for lot in gang.lots:
                        lot.discard(pod.place)

    def processes(self, living: Living, now: float, wall: float) -> Iterator[tuple[str, ...]]:
        """Checks all living processes, and reports pairs of pods that share what they must not: the caller looks again.

        A process in no list of this cluster belongs to another cluster on the same machine.
        """
        living = {uid: bodies for uid, bodies in living.items() if uid in self._ever}
        for name, gang in self._gangs.items():
            self._weigh(gang, now)
            self._overstaying(name, gang, living, wall)
        yield from _shared(self._by_place(living), "two_of_a_name")
        yield from _shared(_by_device(living), "accelerator_twice")

    def report_violation(self, suspicion: tuple[str, ...]) -> None:
        """Reports two pods that were both seen to live in a second look, after they had been seen in the first."""
        kind, what, *uids = suspicion
        names = " and ".join(self._title(uid) for uid in uids)
        self._report(kind, f"{what}: {names} live at the same time", *uids)

    def uneven(self, now: float) -> list[str]:
        """Gangs that seem to be partly seated for too long. Changes may still be on their way to this process, and it
        may not have had a turn. So the caller asks the cluster, and passes the answer to `ask_again`."""
        return [
            name
            for name, gang in self._gangs.items()
            if gang.uneven_since is not None and now - gang.uneven_since > IN_FLIGHT and not gang.reported
        ]

    def ask_again(self, name: str, pods: Iterable[Pod], held: frozenset[str] = frozenset()) -> None:
        """Judges a gang that seemed uneven by all pods that exist now, and the members for which seats are held."""
        gang = self._gangs[name]
        there = msgspec.structs.replace(gang, pods={pod.uid: pod for pod in pods if pod.gang == name}, held=held)
        seated = there.seated()
        if _uneven(there, seated):
            gang.reported = True
            members = max(gang.size, len(gang.places))
            self.violations.append(("partly_seated", f"{name}: {len(seated)} of {members} have seats"))
        else:
            gang.uneven_since = None

    def end(self, pods: Iterable[Pod]) -> None:
        """Checks all pods that exist at the end, of which this process need not have seen the last changes."""
        there = list(pods)
        for name, gang in self._gangs.items():
            if not gang.places:
                continue  # a child Job, whose pods are of another gang
            for words in replayed(name, gang.size, gang.seen).partial_starts() if gang.size else ():
                self.violations.append(("partial_start", words))
            running = {pod.place for pod in there if pod.gang == name and pod.runs}
            if running != gang.places:
                self._report("jobs_lost", f"{name}: {len(running)} of {len(gang.places)} run at the end", name)

    def counts(self) -> dict[str, int]:
        return {kind: sum(kind == one for one, _ in self.violations) for kind in KINDS}

    # What it means

    def _weigh(self, gang: CheckedGang, now: float) -> None:
        seated = gang.seated()
        if not seated or seated.keys() == gang.places:  # whole, except for losses that were not detected yet
            gang.failed = {place: uid for place, uid in gang.failed.items() if seated.get(place) == uid}
            gang.lots = []
        _sort_into_lots(gang, seated)
        if not _uneven(gang, seated):
            gang.uneven_since, gang.reported = None, False
        elif gang.uneven_since is None:
            gang.uneven_since = now

    def _overstaying(self, name: str, gang: CheckedGang, living: Living, wall: float) -> None:
        if len(gang.pods) == len(gang.places):
            return
        for uid, pod in gang.pods.items():
            ends = pod.metadata.deletion_timestamp
            if ends and pod.body in living and wall > datetime.fromisoformat(ends).timestamp() + 1.0 + IN_FLIGHT:
                self._report("partly_seated", f"{name}: {pod.metadata.name} lives on after its grace", uid)

    def _by_place(self, living: Living) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for uid in living:
            if (pod := self._ever.get(uid)) is not None:
                for place in {pod.place, (pod.metadata.namespace, pod.metadata.name)}:
                    found.setdefault("/".join(place), []).append(uid)
        return found

    def _title(self, uid: str) -> str:
        pod = self._ever.get(uid)
        return f"pod {uid}" if pod is None else f"{pod.metadata.name} ({uid[:8]}, on {pod.node})"

    def _report(self, kind: str, words: str, *about: str) -> None:
        """Reports each violation once."""
        if (kind, *about) not in self._reported:
            self._reported.add((kind, *about))
            self.violations.append((kind, words))


def _sort_into_lots(gang: CheckedGang, seated: Mapping[Place, str]) -> None:
    """Groups the places that lost their seats together. A loss that is noticed after the first new seats of a lot were
    given begins another lot."""
    noticed = gang.failed.keys() - seated.keys() - set().union(*gang.lots)
    if noticed and (not gang.lots or gang.lots[-1] & seated.keys()):
        gang.lots.append(set())
    if noticed:
        gang.lots[-1] |= noticed


def _uneven(gang: CheckedGang, seated: Mapping[Place, str]) -> bool:
    """Whether a gang is partly seated. A held seat counts as taken; a member whose pod was never seen counts as
    missing."""
    missing = {place for place in gang.places - seated.keys() if held_name(place) not in gang.held}
    unheard = gang.size - len(gang.places | seated.keys()) - len(gang.held - {held_name(one) for one in gang.places})
    if seated and unheard > 0:
        return True
    if not missing or not seated:
        return False
    return bool(missing - gang.failed.keys()) or any(lot & missing and lot - missing for lot in gang.lots)


def _by_device(living: Living) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for uid, bodies in living.items():
        for device in {device for body in bodies for device in body.devices}:
            found.setdefault(device, []).append(uid)
    return found


def _shared(holders: Mapping[str, list[str]], kind: str) -> Iterator[tuple[str, ...]]:
    for what, uids in holders.items():
        if len(uids) > 1:
            yield (kind, what, *sorted(uids))
