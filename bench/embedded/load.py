"""`python -m bench.embedded.load`: creates pods from many connections as quickly as they are taken; JSON result.

Runs as a process of its own, so that it does not share an interpreter with what it measures.
"""

import argparse
import asyncio
import sys
import time
from collections.abc import Sequence
from typing import Any

import msgspec
import uvloop

from bench.embedded.http_client import Line, Target, lines_to, loaded

PODS = "/api/v1/namespaces/default/pods?fieldValidation=Strict&fieldManager=bench"


def pod(name: str, sent: float = 0.0) -> dict[str, Any]:
    """A worker pod as a training operator would create it: about 2 KB in the store."""
    index = name.rpartition("-")[2]
    variables = {"MASTER_ADDR": "train-master-0", "MASTER_PORT": "23456", "WORLD_SIZE": "64", "RANK": index}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "labels": {"app": "bench", "training.kubeflow.org/job-name": "train", "training.kubeflow.org/index": index},
            "annotations": {"bench/sent": repr(sent)},
        },
        "spec": {
            "restartPolicy": "Never",
            "schedulingGates": [{"name": "bench/never-scheduled"}],
            "containers": [
                {
                    "name": "pytorch",
                    "image": "registry.example/train:1",
                    "command": ["python", "-u", "/srv/train.py", "--epochs", "10"],
                    "env": [{"name": key, "value": value} for key, value in variables.items()],
                    "ports": [{"name": "rendezvous", "containerPort": 23456}],
                    "resources": {"limits": {"cpu": "4", "memory": "16Gi", "nvidia.com/gpu": "1"}},
                    "volumeMounts": [{"name": "scratch", "mountPath": "/scratch"}],
                }
            ],
            "volumes": [{"name": "scratch", "emptyDir": {}}],
            "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
            "nodeSelector": {"cloud.google.com/gke-nodepool": "slice-1"},
        },
    }


async def create(target: Target, prefix: str, count: int, connections: int, pace: float) -> dict[str, Any]:
    """`pace` above 0: so many a second altogether, evenly; 0: as quickly as they are taken."""
    numbers = iter(range(count))
    latencies: list[float] = []
    began = 0.0

    async def worker(line: Line) -> None:
        for number in numbers:
            if pace:
                await asyncio.sleep(max(0.0, began + number / pace - time.perf_counter()))
            body = msgspec.json.encode(pod(f"{prefix}-{number}", time.monotonic()))
            request = target.request("POST", PODS, body)
            sent = time.perf_counter()
            answer = await line.ask(request)
            latencies.append(time.perf_counter() - sent)
            if answer.status != 201:
                raise RuntimeError(f"a create was answered {answer.status}: {answer.body[:300]!r}")

    async with lines_to(target, connections) as lines:
        began = time.perf_counter()
        await asyncio.gather(*(worker(line) for line in lines))
        elapsed = time.perf_counter() - began
    return {"created": len(latencies), "seconds": elapsed, "latencies": sorted(latencies)}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.embedded.load", description=__doc__)
    parser.add_argument("target", help="file that says where the server is")
    parser.add_argument("--prefix", default="pod")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--pace", type=float, default=0.0, help="creates a second; 0: as quickly as they are taken")
    options = parser.parse_args(arguments)
    job = create(loaded(options.target), options.prefix, options.count, options.connections, options.pace)
    sys.stdout.buffer.write(msgspec.json.encode(uvloop.run(job)))


if __name__ == "__main__":
    main()
