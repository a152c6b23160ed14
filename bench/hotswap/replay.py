"""A gang through the revisions of the store: which members had seats, held seats, or were done, and since when.

Revisions are the order in which things happened, however late the news of them came.
"""

from collections.abc import Iterable, Iterator

import msgspec


class PodState(msgspec.Struct, frozen=True, kw_only=True):
    """One state of a pod."""

    revision: int
    uid: str
    name: str
    gang: str  # the name of its job
    place: str  # in the gang; outlives the pod
    island: str = ""  # of its members that sit in one domain
    arrived: float = 0.0  # when the news came, by the monotonic clock
    node: str = ""
    nominated: str = ""
    phase: str = ""
    leaving: bool = False
    running: bool = False  # all containers are said to run
    gone: bool = False  # the object was deleted
    reason: str = ""  # why it waits
    disruption: str = ""  # the reason of its DisruptionTarget

    @property
    def stays(self) -> bool:
        return not self.gone and not self.leaving and self.phase != "Failed"


class JobState(msgspec.Struct, frozen=True, kw_only=True):
    """One state of a job of any kind."""

    revision: int
    kind: str
    name: str
    uid: str = ""
    arrived: float = 0.0
    holds: tuple[str, ...] = ()  # places for which a seat is held
    hold_nodes: tuple[str, ...] = ()
    suspended: bool = False
    requeued: bool = False  # suspended by Understudy, which resumes it
    ended: str = ""  # Complete or Failed
    words: str = ""
    gone: bool = False


def seats_in(note: str) -> list[tuple[str, str]]:
    """Places and nodes of an annotation `understudy.dev/holds`: `place=node`, separated by commas."""
    seats = [seat.partition("=") for seat in note.split(",") if seat]
    return [(place, node) for place, _, node in seats]


class Step(msgspec.Struct, frozen=True):
    """The state of the gang from this revision on."""

    revision: int
    seated: frozenset[str]  # places whose pods have a node and stay
    covered: frozenset[str]  # these, places with held seats, and places that are done
    nodes: frozenset[str]  # on which any of them is, or is to be
    idle: bool  # the job is suspended, has ended, or is gone: its pods are on their way out


class Episode(msgspec.Struct):
    """The time from the first seat of a gang that had none, until it has none again."""

    began: int
    whole: int | None = None  # the first revision at which every member had a seat, a held seat, or was done
    ended: int | None = None

    def has(self, revision: int) -> bool:
        return self.began <= revision and (self.ended is None or revision < self.ended)


class GangReplay(msgspec.Struct):
    name: str
    size: int
    steps: list[Step]
    bound: dict[str, int]  # by pod uid, the revision at which it had a node first
    started: dict[str, int]  # by pod uid, the revision at which its process was said to run, or to have run, first
    left: dict[str, int]  # by pod uid, the revision at which it was on its way out, or gone

    def episodes(self) -> list[Episode]:
        found: list[Episode] = []
        for step in self.steps:
            current = found[-1] if found and found[-1].ended is None else None
            if current is None and step.seated:
                current = Episode(step.revision)
                found.append(current)
            if current is not None and not step.seated:
                current.ended = step.revision
            elif current is not None and current.whole is None and len(step.covered) >= self.size:
                current.whole = step.revision
        return found

    def partial_starts(self) -> Iterator[str]:
        """Episodes in which a process ran before the gang was whole: by the order of the store alone, which is enough
        to report as a violation. A start that was reported only when the gang was whole is not seen here."""
        for episode in self.episodes():
            runs = [(at, uid) for uid, at in self.started.items() if episode.has(self.bound.get(uid, -1))]
            at, uid = min(runs, default=(0, ""))
            if uid and (episode.whole is None or at < episode.whole):
                covered = next(step for step in reversed(self.steps) if step.revision <= at).covered
                later = f"at revision {episode.whole}" if episode.whole is not None else "never"
                yield (
                    f"{self.name}: pod {uid} ran at revision {at} with seats for {len(covered)} of {self.size}"
                    f" members; all had seats or held ones {later}"
                )

    def partial(self) -> Iterator[tuple[Step, Step | None]]:
        """Times in which some members had seats and others neither a seat nor a held one: from a step to a step."""
        since: Step | None = None
        for step in self.steps:
            in_part = bool(step.seated) and len(step.covered) < self.size and not step.idle
            if in_part and since is None:
                since = step
            elif not in_part and since is not None:
                yield since, step
                since = None
        if since is not None:
            yield since, None

    def nodes_between(self, first: int, last: int) -> set[str]:
        """All nodes on which the gang had seats, or was to have some, at any of these revisions."""
        found: set[str] = set()
        for number, step in enumerate(self.steps):
            after = self.steps[number + 1].revision if number + 1 < len(self.steps) else last
            if step.revision <= last and after >= first:
                found |= step.nodes
        return found


def replayed(name: str, size: int, observations: Iterable[PodState | JobState]) -> GangReplay:
    """Replays all observed states of the pods and the job of one gang, which may come in any order."""
    state = _State()
    gang = GangReplay(name, size, [], {}, {}, {})
    for observed in sorted(observations, key=lambda one: one.revision):
        if isinstance(observed, PodState):
            state.put_pod(observed)
            _note(gang, observed)
        else:
            state.jobs[observed.kind] = observed
        step = state.step(observed.revision)
        if gang.steps and gang.steps[-1].revision == step.revision:
            gang.steps[-1] = step
        else:
            gang.steps.append(step)
    return gang


def _note(gang: GangReplay, observed: PodState) -> None:
    if observed.node:
        gang.bound.setdefault(observed.uid, observed.revision)
    if observed.running or observed.phase == "Succeeded":
        gang.started.setdefault(observed.uid, observed.revision)
    if observed.leaving or observed.gone:
        gang.left.setdefault(observed.uid, observed.revision)


class _State:
    def __init__(self) -> None:
        self.pods: dict[str, PodState] = {}
        self.jobs: dict[str, JobState] = {}  # by kind: a TrainJob has a JobSet of its own name
        self.done: set[str] = set()

    def put_pod(self, observed: PodState) -> None:
        if observed.phase == "Succeeded":
            self.done.add(observed.place)
        if observed.gone:
            self.pods.pop(observed.uid, None)
        else:
            self.pods[observed.uid] = observed

    def step(self, revision: int) -> Step:
        stay = [pod for pod in self.pods.values() if pod.stays]
        seated = {pod.place for pod in stay if pod.node}
        nominated = {pod.place for pod in stay if pod.nominated}
        held = {place for job in self.jobs.values() if not job.gone for place in job.holds}
        nodes = {pod.node for pod in stay if pod.node} | {pod.nominated for pod in stay if pod.nominated}
        nodes |= {node for job in self.jobs.values() for node in job.hold_nodes}
        return Step(
            revision,
            frozenset(seated),
            frozenset(seated | nominated | held | self.done),
            frozenset(nodes),
            idle=any(job.gone or job.ended or job.suspended for job in self.jobs.values()),
        )
