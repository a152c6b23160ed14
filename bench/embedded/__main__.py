"""`python -m bench.embedded`: what the embedded cluster does in a second, beside a kube-apiserver if one is at hand."""

import argparse
import contextlib
from collections.abc import Callable, Iterator, Sequence

import msgspec

from bench.embedded import api_measures, cluster_measures, crowd, servers
from bench.embedded.api_measures import Figures
from bench.embedded.servers import Running
from tests.kube.cluster.programs import ASSETS

PEER_RATIO = 4.0
# What each figure has to reach: at least, or at most.
AT_LEAST = {"creates_per_second": 3000.0}
AT_MOST = {
    "create_p99_ms": 25.0,
    "watch_p99_ms": 5.0,
    "list_1000_ms": 5.0,
    "resident_mb_at_10000_pods": 250.0,
    "request_to_process_p99_ms": 150.0,
    "first_pod_seconds": 2.0,
    "start_during_creation_ratio": 2.0,
    "start_beside_ratio": 2.0,
    "gang_deleted_seconds": 60.0,
}


class Sizes(msgspec.Struct, frozen=True):
    creates: int = 20_000
    peer_creates: int = 6_000
    watched: int = 2_000
    lists: tuple[int, ...] = (1_000, 5_000)
    held: int = 10_000
    started: int = 200
    nodes: int = 1_000
    pods: int = 5_000
    crowd: int = 10_000
    crowd_starts: int = 20


QUICK = Sizes(
    creates=1_000,
    peer_creates=1_000,
    watched=200,
    lists=(100, 1_000),
    held=1_000,
    started=10,
    nodes=50,
    pods=50,
    crowd=300,
    crowd_starts=3,
)
PACE = 200.0  # creates a second while the lateness of watches is measured


def main(arguments: Sequence[str] | None = None) -> None:
    options = _options(arguments)
    sizes = QUICK if options.quick else Sizes()
    wanted = options.measure or list(_MEASURES)
    for name in wanted:
        for who, figures in _MEASURES[name](sizes):
            if options.json:
                print(msgspec.json.encode({"measure": name, "who": who, **figures}).decode(), flush=True)
            else:
                _show(name, who, figures)


def _api(sizes: Sizes) -> Iterator[tuple[str, Figures]]:
    """Creates, watches and lists: the API server alone, and the real one in the same run."""
    ours = _measured(servers.ours(), sizes, sizes.creates)
    yield "ours", ours
    if not servers.peer_at_hand():
        return
    theirs = _measured(servers.kubernetes(), sizes, sizes.peer_creates)
    yield "kube-apiserver", theirs
    yield "ratio", {"creates_ratio": ours["creates_per_second"] / theirs["creates_per_second"]}


def _measured(server: contextlib.AbstractContextManager[Running], sizes: Sizes, creates: int) -> Figures:
    with server as running:
        api_measures.creates(running, creates // 10)  # warms both sides up
        figures = api_measures.creates(running, creates)
        figures |= api_measures.watching(running, sizes.watched, PACE)
        return figures | api_measures.lists(running, sizes.lists)


def _memory(sizes: Sizes) -> Iterator[tuple[str, Figures]]:
    with servers.ours() as running:
        yield "ours", api_measures.memory(running, sizes.held)


def _start(_: Sizes) -> Iterator[tuple[str, Figures]]:
    yield "ours", cluster_measures.first_pod()


def _running(sizes: Sizes) -> Iterator[tuple[str, Figures]]:
    yield "ours", cluster_measures.applied_to_running(sizes.started)


def _held(sizes: Sizes) -> Iterator[tuple[str, Figures]]:
    yield "ours", cluster_measures.held(sizes.nodes, sizes.pods)


def _crowd(sizes: Sizes) -> Iterator[tuple[str, Figures]]:
    yield "ours", crowd.crowd(sizes.crowd, sizes.crowd_starts)


_MEASURES: dict[str, Callable[[Sizes], Iterator[tuple[str, Figures]]]] = {
    "api": _api,
    "memory": _memory,
    "start": _start,
    "running": _running,
    "held": _held,
    "crowd": _crowd,
}


def _show(measure: str, who: str, figures: Figures) -> None:
    print(f"{measure}, {who}")
    for name, value in figures.items():
        print(f"  {name:<34} {value:>12,.2f}  {_verdict(who, name, value)}".rstrip(), flush=True)


def _verdict(who: str, name: str, value: float) -> str:
    if name == "creates_ratio":
        return f"at least {PEER_RATIO:g}: {'met' if value >= PEER_RATIO else 'MISSED'}"
    if who != "ours":
        return ""
    if name in AT_LEAST:
        return f"at least {AT_LEAST[name]:g}: {'met' if value >= AT_LEAST[name] else 'MISSED'}"
    if name in AT_MOST:
        return f"at most {AT_MOST[name]:g}: {'met' if value <= AT_MOST[name] else 'MISSED'}"
    return ""


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    about = f"{__doc__} Where {ASSETS} has etcd and kube-apiserver, or `make test-kube` built them, both are measured."
    parser = argparse.ArgumentParser(prog="python -m bench.embedded", description=about)
    parser.add_argument("--measure", choices=list(_MEASURES), action="append", help="default: all; may be repeated")
    parser.add_argument("--quick", action="store_true", help="small numbers, to see that it works")
    parser.add_argument("--json", action="store_true", help="one JSON line a result")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
