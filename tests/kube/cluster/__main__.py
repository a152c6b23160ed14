"""`make kube-up`: a test cluster in the foreground until Ctrl-C; or, with `programs`, only what it needs is built."""

import argparse
import os
import signal
import sys
import threading
from collections.abc import Sequence

from tests.kube.cluster import programs
from tests.kube.cluster.processes import Ended
from tests.kube.cluster.releases import ALL, BUILD_EXTRAS, EXTRAS
from tests.kube.cluster.running import Cluster, cluster
from tests.kube.cluster.settings import OPERATORS, SchedulerSettings, Settings

GLANCE = 1.0  # seconds between two looks at whether all still run


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    if not programs.at_hand():
        print(programs.HOW_TO, file=sys.stderr)
        return 0 if options.do == "programs" else 1  # the tests are skipped then, with the same line
    try:
        if options.do == "up":
            programs.have_all()
            return _up(options)
        programs.have_all((*ALL, *EXTRAS) if os.environ.get(BUILD_EXTRAS) else ALL)
        return 0
    except programs.NoPrograms as problem:
        print(problem, file=sys.stderr)
        return 0 if options.do == "programs" else 1
    except (Ended, TimeoutError) as problem:
        print(problem, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def _up(options: argparse.Namespace) -> int:
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    settings = Settings(
        operators=OPERATORS if options.operators else (),
        scheduler=SchedulerSettings() if options.scheduler else None,
        lease_seconds=options.lease_seconds,
        grace=options.grace,
    )
    with cluster(settings) as made:
        _populate(made, options)
        print(_told(made), flush=True)
        while not stop.wait(GLANCE):
            for process in made.processes:
                process.check()
        print("taking it down ...", flush=True)
    return 0


def _populate(made: Cluster, options: argparse.Namespace) -> None:
    resources = {"cpu": "64", "memory": "256Gi", "pods": "110", options.resource: str(options.accelerators)}
    if options.slices:
        made.nodes.add_slices(options.slices, options.nodes // options.slices, resources=resources)
    else:
        made.nodes.add(*(f"node-{i}" for i in range(options.nodes)), resources=resources)


def _told(made: Cluster) -> str:
    runs = "\n".join(f"  {process.name:<26} pid {process.pid:<8} {process.log}" for process in made.processes)
    releases = ", ".join(f"{program.name} {program.release}" for program in ALL)
    return f"""\
A Kubernetes cluster on loopback. Its nodes are simulated: pods are shown as running, and no process is started.
{runs}
({releases})

In another terminal:
  export KUBECONFIG={made.kubeconfig}
  kubectl get nodes
  understudy serve           schedules what has `schedulerName: understudy`
  kubectl label node NAME kwok.x-k8s.io/node-     a node dies silently; kwok.x-k8s.io/node=fake brings it back

Ctrl-C takes everything down."""


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.kube.cluster", description=__doc__)
    parser.add_argument("do", nargs="?", choices=("up", "programs"), default="up")
    parser.add_argument("--nodes", type=int, default=16, metavar="N", help="default: 16")
    parser.add_argument("--slices", type=int, default=0, metavar="N", help="in so many groups; default: none")
    parser.add_argument("--accelerators", type=int, default=8, metavar="N", help="of every node; default: 8")
    parser.add_argument("--resource", default="nvidia.com/gpu", help="their name; default: nvidia.com/gpu")
    parser.add_argument("--lease-seconds", type=int, default=40, metavar="N", help="of nodes' leases; default: 40")
    parser.add_argument(
        "--grace", default="", metavar="10s", help="until a silent node is unknown; default: Kubernetes'"
    )
    parser.add_argument(
        "--no-operators", dest="operators", action="store_false", help="without the job kinds' operators"
    )
    parser.add_argument("--no-scheduler", dest="scheduler", action="store_false", help="without kube-scheduler")
    options = parser.parse_args(arguments)
    if options.slices and options.nodes % options.slices:
        parser.error(f"--nodes {options.nodes} cannot be had in {options.slices} slices of one size")
    return options


if __name__ == "__main__":
    sys.exit(main())
