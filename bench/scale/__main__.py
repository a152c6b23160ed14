"""`python -m bench.scale`: a scheduler starts on a large cluster, from recorded lists; then events come in."""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from bench.scale import table
from bench.scale.recording import Layout, Recording

ROOT = Path(__file__).resolve().parents[2]
FULL, QUICK = Layout(15_000, 100_000), Layout(512, 3_000)
PAGE = 500
SHARE = {"lightkube": 10, "kubernetes": 20}  # one in so many pages is enough to see how long all would take
PEERS = {"lightkube": "lightkube", "kubernetes": "kubernetes-37"}

Result = dict[str, Any]


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    layout = QUICK if options.quick else FULL
    result: Result = {"nodes": layout.nodes, "pods": layout.pods, "repeats": options.repeats}
    result["decoding"] = _decoding(layout, options)
    with _serving(layout) as (port, sizes):
        result["megabytes"] = round(sum(size for _, size in sizes.values()) / 1e6, 1)
        runs = [_started(port, options.quick) for _ in range(options.repeats)]
    result["start"] = _median(runs)
    result["events"] = table.event_costs(runs[-1]["events"])
    if options.json:
        print(msgspec.json.encode(result).decode())
    else:
        print("\n".join(table.lines(result)))
    return 0


def _decoding(layout: Layout, options: argparse.Namespace) -> Result:
    """Decoding times by method: the best of several processes, since other load only makes them slower."""
    ways = {"ours": sys.executable, "dicts": sys.executable, "standard": sys.executable}
    if options.peers:
        ways |= _peers()
    found: Result = {}
    with tempfile.TemporaryDirectory(prefix="understudy-bench-") as place:
        folder = Path(place)
        _record(layout, folder)
        for way, python in ways.items():
            share = 1 if options.quick else SHARE.get(way, 1)
            command = [python, str(Path(__file__).with_name("decoding.py")), way, str(folder), str(share)]
            times = options.repeats if way == "ours" else 1
            runs = [msgspec.json.decode(_output(command)) for _ in range(times)]
            found[way] = min(runs, key=lambda run: float(run["pods_cpu_seconds"] + run["nodes_cpu_seconds"]))
    return found


def _record(layout: Layout, folder: Path) -> None:
    lists = Recording(layout).lists
    for plural in ("pods", "nodes"):
        for start in range(0, len(lists[plural]), PAGE):
            head = b'{"metadata":{"resourceVersion":"1"},"items":['
            page = head + b",".join(lists[plural][start : start + PAGE]) + b"]}"
            (folder / f"{plural}-{start:07}.json").write_bytes(page)


def _peers() -> dict[str, str]:
    """Each in the environment that its tests made for it; installed where it is not yet."""
    from tests.clients.environments import CLIENTS, interpreter_of

    of = {client.name: client for client in CLIENTS}
    return {way: str(interpreter_of(of[name])) for way, name in PEERS.items()}


@contextmanager
def _serving(layout: Layout) -> Iterator[tuple[int, dict[str, tuple[int, int]]]]:
    command = [sys.executable, "-m", "bench.scale.server", "--nodes", str(layout.nodes), "--pods", str(layout.pods)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            ready = msgspec.json.decode(server.stdout.readline())
            yield ready["port"], ready["sizes"]
        finally:
            server.kill()


def _started(port: int, quick: bool) -> Result:
    seconds = 1 if quick else 8
    phases = [
        f"leases:0:{seconds}",
        f"pods:500:{seconds}",
        f"nodes:50:{seconds}",
        f"persistentvolumeclaims:50:{seconds}",
    ]
    command = [
        sys.executable,
        "-m",
        "bench.scale.scheduler_process",
        "--port",
        str(port),
        "--began",
        str(time.monotonic()),
    ]
    run: Result = msgspec.json.decode(_output([*command, *(f"--phase={phase}" for phase in phases)]))
    return run


def _output(command: list[str]) -> str:
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=_environment()).stdout


def _environment() -> dict[str, str]:
    import os

    return {**os.environ, "PYTHONPATH": str(ROOT)}


def _median(runs: list[Result]) -> Result:
    numbers = [key for key, value in runs[0].items() if isinstance(value, int | float)]
    return {key: statistics.median(run[key] for run in runs) for key in numbers}


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.scale", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a small cluster, to see that it works")
    parser.add_argument("--json", action="store_true", help="one JSON line")
    parser.add_argument("--peers", action="store_true", help="decode with other clients too; installs them")
    parser.add_argument("--repeats", type=int, default=3, help="processes a figure is taken from (default: 3)")
    options = parser.parse_args(arguments)
    if options.repeats < 1:
        parser.error("--repeats must be at least 1")
    return options


if __name__ == "__main__":
    sys.exit(main())
