"""The scenarios: each is a cluster, the gangs on it, and which nodes fail in which way."""

from collections.abc import Awaitable, Callable, Mapping, Sequence

import msgspec

from bench.hotswap.bench_cluster import pools
from bench.hotswap.gangs import DEAF, FOREVER, LEADERS, Gang
from bench.hotswap.node_faults import freeze_nodes, kill_nodes
from bench.hotswap.rendezvous import Program, Rendezvous
from understudy.embedded.cluster_folder import ClusterFolder
from understudy.embedded.clusters.pools import Pool

HERO, VICTIM = "train", "modest"
Fault = Callable[[ClusterFolder, Sequence[str]], Awaitable[float]]


class Shape(msgspec.Struct, frozen=True):
    """The sizes given on the command line."""

    processes: int = 8  # pods to a node
    grace: int = 0  # seconds the victim needs; 0: it ends at once
    load: bool = False
    kind: str = "jobset"
    import_seconds: float = 1.5  # of a library that stands in for a large one


class Scenario(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    pools: Sequence[Pool]
    gangs: Sequence[Gang]
    lost: Mapping[str, int]  # of each of these gangs, how many nodes fail at once
    fail: Fault = kill_nodes
    targets: Mapping[str, float]  # figure -> at most how many milliseconds
    conditions: Sequence[str] = ()
    rendezvous: Rendezvous | None = None  # where members meet; it is over when they have
    understudies: int = 0  # that hold themselves ready
    settling: float = 0.0  # seconds that a process which runs is given to load what it will need

    @property
    def sizes(self) -> dict[str, int]:
        return {gang.name: gang.size for gang in self.gangs}


def kill_spare(shape: Shape) -> Scenario:
    limits = {"p99_ms": 600.0} if shape.load else {"p50_ms": 100.0, "p99_ms": 300.0}
    return Scenario(
        name="kill-spare",
        pools=pools(2, 2, shape.processes),
        gangs=[Gang(name=HERO, size=2 * shape.processes)],
        lost={HERO: 1},
        targets=limits,
        conditions=["kill -9 of a node and all processes of its pods; a spare is at hand"],
    )


def freeze(shape: Shape) -> Scenario:
    return Scenario(
        name="freeze",
        pools=pools(2, 2, shape.processes),
        gangs=[Gang(name=HERO, size=2 * shape.processes)],
        lost={HERO: 1},
        fail=freeze_nodes,
        targets={"p99_ms": 3500.0},
        conditions=["a node and all processes of its pods stand still; no connection is closed; a spare is at hand"],
    )


def victim(shape: Shape) -> Scenario:
    deaf = shape.grace > 0
    modest = Gang(
        name=VICTIM,
        size=shape.processes,
        priority="bench-low",
        command=DEAF if deaf else FOREVER,
        grace=shape.grace if deaf else None,
    )
    how = f"ignores SIGTERM and has {shape.grace} s of grace" if deaf else "ends at once on SIGTERM"
    return Scenario(
        name="victim",
        pools=pools(3, 0, shape.processes),
        gangs=[Gang(name=HERO, size=2 * shape.processes), modest],
        lost={HERO: 1},
        targets={"p99_ms": shape.grace * 1e3 + 300.0 if deaf else 600.0},
        conditions=[f"no spare: a gang of lower priority has the only other node, and {how}"],
    )


def burst(shape: Shape) -> Scenario:
    """Eight of eleven nodes fail, and each gang keeps one."""
    failed = {"train-a": 3, "train-b": 3, "train-c": 2}
    return Scenario(
        name="burst",
        pools=pools(11, 8, shape.processes),
        gangs=[Gang(name=name, size=(nodes + 1) * shape.processes) for name, nodes in failed.items()],
        lost=failed,
        targets={},
        conditions=["eight nodes of three gangs are killed at once; each gang keeps one node; spares for all"],
    )


def warm(shape: Shape, program: Program, understudies: int) -> Scenario:
    """A member on each of two nodes. The one that is not rank 0 fails, again and again."""
    member = Gang(
        name=HERO,
        size=2,
        command=program.command(LEADERS[shape.kind].format(HERO)),
        env={"PYTHONPATH": program.places},
        notes={"understudy.dev/warm": str(understudies)} if understudies else {},
    )
    return Scenario(
        name="warm",
        pools=pools(2, 2, 1),
        gangs=[member],
        lost={HERO: 1},
        targets={"p99_ms": 150.0} if understudies else {},
        conditions=[f"each member imports {program.library}, and is there when it has met rank 0"],
        rendezvous=program.rendezvous,
        understudies=understudies,
    )


SCENARIOS: Mapping[str, Callable[[Shape], Scenario]] = {
    "kill-spare": kill_spare,
    "freeze": freeze,
    "victim": victim,
    "burst": burst,
}
