"""A seed into a scenario: small clusters, a few jobs of all kinds, and some of everything that can go wrong."""

import random

from msgspec.structs import replace

from understudy.simulate.scenario import Event, JobPlan, Lateness, NodePlan, Scenario
from understudy.simulate.workloads import FIRST_VERSION, PRIORITIES

PROCESS_FAULTS = (
    "kill", "kill-at-write", "pause", "cut-off", "break-watches", "refuse", "lose-answers", "lose-requests",
)  # fmt: skip
NODE_FAULTS = ("power-off", "partition", "hang", "reboot", "delete-node", "unready", "notice", "drain", "cordon")
LATE_RESOURCES = ("", "pods", "nodes", "jobs.batch", "jobsets.jobset.x-k8s.io", "leases.coordination.k8s.io")
CODES = (409, 429, 500, 503)
READ_CODES = (429, 500, 503)
CALM = 0.25  # share of seeds without faults: users and operators alone
SPOT = 0.25  # share of seeds with spot nodes
NOTICES = 0.35  # share of the seeds with notices
RETURNS = 0.3  # share of the seeds with a real cluster, faults and enough time in which nodes return to a full cluster
OLD = 0.35  # share of the clusters with operators of their own that serve MPIJobs in their first version
SHUFFLED = 0.3  # share of the seeds with faults in which callbacks that are ready together are shuffled
URGENT = 0.04  # share of the seeds in which a more important gang meets one that starts in stages


def generate(seed: int) -> Scenario:
    chance = random.Random(seed)
    mode = chance.choice(("embedded", "kube"))
    nodes = _nodes(chance, mode)
    until = chance.choice((40.0, 80.0, 120.0))
    jobs = _jobs(chance, nodes)
    events = [event for job in jobs for event in _life_of(chance, job, until)]
    calm = chance.random() < CALM
    processes = ("replica-1", "replica-2") if mode == "kube" else ("control",)
    if not calm:
        events += _faults(chance, processes, nodes, until)
    scenario = Scenario(
        seed=seed,
        mode=mode,
        noise=chance.randrange(1 << 30),
        faults_until=until,
        nodes=nodes,
        jobs=jobs,
        events=tuple(sorted(events, key=lambda event: event.at)),
        late=() if calm else _late(chance, processes),
        outside=mode == "embedded" and chance.random() < 0.3,
        operator_pace=chance.choice((0.05, 0.5, 3.0)),
    )
    scenario = _with_spot_nodes(random.Random(f"{seed} capacity"), scenario)
    if not calm:
        scenario = _with_return(random.Random(f"{seed} returns"), scenario)
        scenario = _with_more_faults(random.Random(f"{seed} more faults"), scenario, processes)
    scenario = _with_first_version(random.Random(f"{seed} first version"), scenario)
    scenario = _with_notices(random.Random(f"{seed} notices"), scenario)
    return _with_urgent_gang(random.Random(f"{seed} urgent"), scenario)


def _with_notices(chance: random.Random, scenario: Scenario) -> Scenario:
    """Nodes get notices with a deadline, which may be shortened or withdrawn; some at the end, when all else is calm.
    Some jobs report checkpoints, and most of those save when they are asked."""
    if chance.random() >= NOTICES:
        return scenario
    until, events = scenario.faults_until, list(scenario.events)
    for _ in range(chance.randint(1, 4)):
        node, late = chance.choice(scenario.nodes).name, chance.random() < 0.6
        at = until + chance.uniform(60.0, 140.0) if late else chance.uniform(5.0, until)
        ends = int(chance.random() < 0.6)
        events.append(_announcement(chance, at, node, ends))
        if chance.random() < 0.3:
            events.append(_announcement(chance, at + chance.uniform(0.0, 30.0), node, ends))
        if not ends and chance.random() < 0.5:
            events.append(Event(round(at + chance.uniform(0.1, 60.0), 3), "withdraw", node))
    jobs = []
    for job in scenario.jobs:
        saves, answers = chance.choice((0.0, 2.0, 20.0, 60.0)), chance.random() < 0.8
        jobs.append(replace(job, saves_within=saves, answers=answers))
    return replace(scenario, jobs=tuple(jobs), events=tuple(sorted(events, key=lambda event: event.at)))


def _announcement(chance: random.Random, at: float, node: str, ends: int) -> Event:
    seconds = chance.choice((chance.uniform(1.0, 30.0), chance.uniform(30.0, 120.0)))
    return Event(round(at, 3), "announce", node, round(seconds, 2), ends)


def _with_spot_nodes(chance: random.Random, scenario: Scenario) -> Scenario:
    """Some slices, or some nodes, are spot capacity, and jobs have rules about it."""
    if chance.random() >= SPOT:
        return scenario
    whole = chance.random() < 0.7
    slices = {name: chance.random() < 0.5 for name in sorted({node.slice for node in scenario.nodes})}
    nodes = [replace(node, spot=slices[node.slice] if whole else chance.random() < 0.5) for node in scenario.nodes]
    jobs = [
        replace(
            job,
            capacity=chance.choice(("", "", "spot", "on-demand", "prefer-spot")),
            max_spot=chance.choice((-1, 0, 1, 2)),
            one_kind=chance.random() < 0.3,
        )
        for job in scenario.jobs
    ]
    return replace(scenario, nodes=tuple(nodes), jobs=tuple(jobs))


def _with_return(chance: random.Random, scenario: Scenario) -> Scenario:
    """A gang wants all nodes. Those of one slice are silent until they are given up, and return while it waits for them
    and its old containers still run there."""
    until = scenario.faults_until
    if scenario.mode != "kube" or until < 80.0 or chance.random() >= RETURNS:
        return scenario
    does, place, at = chance.choice(("partition", "hang")), chance.choice(scenario.nodes).slice, 5.0
    begin, seconds = round(chance.uniform(at + 10.0, until - 60.0), 3), round(chance.uniform(45.0, 58.0), 2)
    amount = scenario.nodes[0].accelerators
    gang = JobPlan("large", "Job", size=len(scenario.nodes), accelerators=amount, priority=PRIORITIES[-1], grace=30)
    events = [Event(at, "submit", gang.name)]
    events += [Event(begin, does, node.name, seconds) for node in scenario.nodes if node.slice == place]
    return replace(
        scenario,
        jobs=(*scenario.jobs, gang),
        events=tuple(sorted((*scenario.events, *events), key=lambda event: event.at)),
    )


def _with_more_faults(chance: random.Random, scenario: Scenario, processes: tuple[str, ...]) -> Scenario:
    """Crashes at later writes, reads that fail, clocks of replicas that differ or are set, shuffled callbacks.

    They draw from numbers of their own, so that each seed has kept what it had before there were these faults."""
    until = scenario.faults_until
    events = [
        replace(event, number=int(7 * 10 ** chance.random()))
        if event.does == "kill-at-write" and chance.random() < 0.6
        else event
        for event in scenario.events
    ]
    if chance.random() < 0.2:
        events.append(Event(round(chance.uniform(0.2, until), 3), "kill-at-write", chance.choice(processes), 0.0, 1))
        events[-1] = replace(events[-1], number=int(10 ** (2 * chance.random())))
    for _ in range(chance.choice((0, 0, 0, 1, 2))):
        at, process = round(chance.uniform(0.2, until), 3), chance.choice(processes)
        if chance.random() < 0.5:
            events.append(Event(at, "refuse-reads", process, chance.randint(1, 3), chance.choice(READ_CODES)))
        else:
            events.append(Event(at, "lose-reads", process, number=chance.randint(1, 3)))
    if scenario.mode == "kube" and chance.random() < 0.4:
        events += [Event(0.0, "set-clock", process, round(chance.uniform(-30, 30), 3)) for process in processes]
        if chance.random() < 0.5:
            at, ahead = round(chance.uniform(1.0, until), 3), round(chance.uniform(-45, 45), 3)
            events.append(Event(at, "set-clock", chance.choice(processes), ahead))
    shuffled = chance.random() < SHUFFLED
    return replace(scenario, events=tuple(sorted(events, key=lambda event: event.at)), shuffled=shuffled)


def _with_first_version(chance: random.Random, scenario: Scenario) -> Scenario:
    """A cluster serves MPIJobs in one version. The product's controllers, in embedded mode, work on the newest."""
    if not (scenario.mode == "kube" or scenario.outside) or chance.random() >= OLD:
        return scenario
    jobs = (replace(job, stages=FIRST_VERSION) if job.kind == "MPIJob" else job for job in scenario.jobs)
    return replace(scenario, jobs=tuple(jobs))


def _with_urgent_gang(chance: random.Random, scenario: Scenario) -> Scenario:
    """All nodes are full when a gang starts in stages, and while it waits for its next pods, a more important one needs
    a seat that is held for it. No other gang is a cheaper victim."""
    if len(scenario.nodes) < 2 or chance.random() >= URGENT:
        return scenario
    amount, parts = scenario.nodes[0].accelerators, chance.randint(2, min(3, len(scenario.nodes)))
    stages, rest = chance.choice(("InOrder", "dependsOn")), len(scenario.nodes) - parts
    jobs = [
        JobPlan("staged", "JobSet", parts=parts, accelerators=amount, priority=PRIORITIES[-2], stages=stages),
        JobPlan("urgent", "Job", accelerators=amount, priority=PRIORITIES[-1], grace=chance.choice((1, 30))),
        JobPlan("filler", "Job", size=rest, accelerators=amount, priority=PRIORITIES[-1]),
    ][: 3 if rest else 2]
    at = round(chance.uniform(1.0, scenario.faults_until - 30.0), 3)
    slow = round(at + 2.0 + chance.uniform(0.5, 3.0) + 8.0 * scenario.operator_pace, 3)
    kept = {node.name for node in scenario.nodes} | {"", "control", "replica-1", "replica-2"}
    events = [event for event in scenario.events if event.target in kept]
    events += [Event(at, "submit", "filler")] if rest else []
    events += [Event(at + 2.0, "submit", "staged"), Event(at + 2.0, "no-pods", "staged", 25.0, 1)]
    events += [Event(slow, "submit", "urgent")]
    return replace(scenario, jobs=tuple(jobs), events=tuple(sorted(events, key=lambda event: event.at)))


def _nodes(chance: random.Random, mode: str) -> tuple[NodePlan, ...]:
    slices = chance.randint(2, 4)
    size = chance.randint(1, 3) if slices < 4 else chance.randint(1, 2)
    amount = chance.choice((1, 4))
    skews = mode == "kube" and chance.random() < 0.5
    spare = chance.random() < 0.2
    return tuple(
        NodePlan(
            name=f"n{number}-{index}",
            slice=f"s{number}",
            accelerators=amount,
            skew=round(chance.uniform(-30, 30), 3) if skews else 0.0,
            spare=spare and number == slices - 1,
        )
        for number in range(slices)
        for index in range(size)
    )


def _jobs(chance: random.Random, nodes: tuple[NodePlan, ...]) -> tuple[JobPlan, ...]:
    return tuple(_job(chance, f"j{number}", nodes) for number in range(chance.randint(2, 5)))


def _job(chance: random.Random, name: str, nodes: tuple[NodePlan, ...]) -> JobPlan:
    kind = chance.choice(("Job", "JobSet", "JobSet", "PyTorchJob", "MPIJob", "TrainJob"))
    per_slice = sum(node.slice == "s0" for node in nodes)
    amount = nodes[0].accelerators
    size, parts, topology, stages = chance.randint(1, max(2, len(nodes) // 2)), 1, "", ""
    accelerators = chance.choice((1, amount))
    if kind == "JobSet":
        parts = chance.randint(1, 3)
        size = chance.randint(1, 2)
        topology = chance.choice(("", "exclusive", "exclusive", "required"))
        stages = chance.choice(("", "", "InOrder", "dependsOn"))
    elif chance.random() < 0.3:
        topology = chance.choice(("exclusive", "required"))
    if topology:
        size = chance.randint(1, per_slice * (amount // accelerators))
    if kind == "MPIJob":
        stages = chance.choice(("", "WaitForWorkersReady"))
    members = min(size * parts, 8)
    elastic = kind in ("PyTorchJob", "Job") and members > 1 and not topology and chance.random() < 0.2
    return JobPlan(
        name=name,
        kind=kind,
        size=min(size, 4),
        parts=parts,
        accelerators=accelerators,
        priority=chance.choice(PRIORITIES),
        preempts=chance.random() < 0.9,
        topology=topology,
        stages=stages,
        minimum=chance.randint(1, members - 1) if elastic else 0,
        claim=f"claim-{chance.randrange(2)}" if chance.random() < 0.15 else "",
        duration=round(chance.uniform(5, 60), 1) if chance.random() < 0.25 else 0.0,
        grace=chance.choice((1, 5, 30)),
        tolerates=chance.random() < 0.7,
    )


def _life_of(chance: random.Random, job: JobPlan, until: float) -> list[Event]:
    at = round(chance.choice((0.5, chance.uniform(0.5, until * 0.8))), 3)
    events = [Event(at, "submit", job.name)]

    def later() -> float:
        return round(chance.uniform(at + 0.01, until), 3)

    if chance.random() < 0.12:
        events.append(Event(later(), "delete", job.name))
    elif chance.random() < 0.15:
        first = later()
        events.append(Event(first, "suspend", job.name))
        if chance.random() < 0.7:
            events.append(Event(round(chance.uniform(first, until), 3), "resume", job.name))
    if chance.random() < 0.1:
        events.append(Event(later(), "crash", job.name))
    if chance.random() < 0.15:
        seconds = chance.choice((0.0, round(chance.uniform(1, 60), 1)))
        begin = at if chance.random() < 0.7 else later()
        number = chance.randint(0, max(1, job.size * job.parts - 1))
        events.append(Event(round(max(0.0, begin - 0.001), 3), "no-pods", job.name, seconds, number))
    if job.claim and chance.random() < 0.6:
        events.append(Event(round(chance.uniform(0.1, until), 3), "claim", job.claim, number=chance.randrange(2)))
    return events


def _faults(
    chance: random.Random, processes: tuple[str, ...], nodes: tuple[NodePlan, ...], until: float
) -> list[Event]:
    events = []
    for _ in range(chance.randint(0, 4)):
        at, process = round(chance.uniform(0.2, until), 3), chance.choice(processes)
        does = chance.choice(PROCESS_FAULTS)
        seconds = round(chance.choice((chance.uniform(0.1, 3), chance.uniform(3, 30), chance.uniform(30, 60))), 2)
        number = chance.choice(CODES) if does == "refuse" else chance.randint(1, 6)
        if does == "refuse":
            seconds = chance.randint(1, 4)
        if does in ("lose-answers", "lose-requests"):
            number = chance.randint(1, 3)
        events.append(Event(at, does, process, seconds, number))
    for _ in range(chance.randint(0, 3)):
        at, node = round(chance.uniform(0.5, until), 3), chance.choice(nodes).name
        does = chance.choice(NODE_FAULTS)
        seconds = round(chance.choice((chance.uniform(1, 20), chance.uniform(25, 90))), 2)
        events.append(Event(at, does, node, seconds))
        if does == "cordon" and chance.random() < 0.5:
            events.append(Event(round(chance.uniform(at, until), 3), "uncordon", node))
    if chance.random() < 0.25:
        events += _silence_of_all(chance, nodes, until)
    return events


def _silence_of_all(chance: random.Random, nodes: tuple[NodePlan, ...], until: float) -> list[Event]:
    """The API or the agent of all nodes is away. A node that died before that must not come back to life by it."""
    does = chance.choice(("server-down", "leases-stop"))
    if until < 80.0 or chance.random() < 0.4:
        return [Event(round(chance.uniform(1, until), 3), does, "", round(chance.uniform(1, 60), 2))]
    dies = chance.uniform(0.5, until - 72.0)
    stops = dies + chance.uniform(25.0, 48.0)
    lasts = chance.uniform(22.0, until - stops)
    return [
        Event(round(dies, 3), "power-off", chance.choice(nodes).name),
        Event(round(stops, 3), does, "", round(lasts, 2)),
    ]


def _late(chance: random.Random, processes: tuple[str, ...]) -> tuple[Lateness, ...]:
    found = []
    for process in processes:
        for resource in LATE_RESOURCES:
            if chance.random() < 0.2:
                seconds = round(chance.choice((0.05, 0.5, 3.0)) * chance.uniform(0.5, 1.0), 3)
                found.append(Lateness(process, resource, seconds, coalesces=bool(resource) and chance.random() < 0.5))
    return tuple(found)
