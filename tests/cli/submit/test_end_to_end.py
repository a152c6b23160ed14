"""Jobs submitted by command to a cluster that really runs, with code that is really fetched."""

import asyncio
import contextlib
import io
import subprocess
from pathlib import Path

import pytest

from tests.embedded.cluster_monitor import PATIENCE
from tests.embedded.end_to_end.test_jobs import condition, running
from tests.embedded.real_cluster import RealCluster, example_nodes, node, play
from tests.embedded.shared_cluster import SharedClusters
from understudy.kinds.training_operator.pytorchjob import PYTORCH_JOBS
from understudy.main import main
from understudy.objects.resources import CONFIG_MAPS, JOBS, MPI_JOBS, PODS, SERVICES

CLASSES = """
apiVersion: scheduling.k8s.io/v1beta1
kind: PriorityClass
metadata: {name: critical}
value: 1100000
---
apiVersion: scheduling.k8s.io/v1beta1
kind: PriorityClass
metadata: {name: medium}
value: 1000000
"""
SCRIPT = """
import os, sys, time
print("rank", os.environ["RANK"], "of", os.environ["WORLD_SIZE"], "runs", *sys.argv, flush=True)
time.sleep(600)
"""


async def code_of(cluster: RealCluster, line: str, *more: str) -> int:
    """The exit code of the command, which has a thread of its own: it brings its own loop."""
    return await asyncio.to_thread(main, [*line.split(), f"--kubeconfig={cluster.folder.kubeconfig}", *more])


async def printed(cluster: RealCluster, line: str, *more: str) -> str:
    """By one command at a time: there is one stdout for all threads."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert await code_of(cluster, line, *more) == 0
    return out.getvalue()


async def said(cluster: RealCluster, pod: str, *lines: str) -> None:
    """Reads what a container writes until all of these lines were written."""
    missing, written = set(lines), b""
    async with asyncio.timeout(PATIENCE):
        async for piece in cluster.client.stream(PODS.path("default", pod, "log") + "?follow=true"):
            written += piece
            missing -= set(written.decode(errors="replace").splitlines())
            if not missing:
                return
    raise AssertionError(f"{pod} did not write {missing}, but {written!r}")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "mnist-pytorch"
    folder.mkdir()
    (folder / "mnist.py").write_text(SCRIPT)
    author = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    for arguments in (("init",), ("add", "."), ("commit", "-m", "first")):
        subprocess.run(["git", *author, *arguments], cwd=folder, check=True, capture_output=True)
    return folder


def test_an_important_pytorchjob_takes_the_place_of_a_larger_one(tmp_path: Path, repository: Path) -> None:
    """Seed 004, with a repository of this machine in the place of the remote one."""
    (tmp_path / "classes.yaml").write_text(CLASSES)
    source = f"--sync-mode=git --sync-source={repository}"
    medium, critical = "pytorch-priority-medium", "pytorch-priority-critical"

    async def scenario(cluster: RealCluster) -> None:
        see = cluster.monitor
        await printed(cluster, f"apply -f {tmp_path / 'classes.yaml'}")
        out = await printed(
            cluster,
            f"--loglevel info submit pytorch --name={medium} --gpus=4 --workers=3 --image=i --priority=medium {source}",
            "python /root/code/mnist-pytorch/mnist.py --backend gloo --epochs 200",
        )
        assert out == f"pytorchjob.kubeflow.org/{medium} created\n"
        await see.until("three of medium", lambda: running(see, medium, 3))
        script = "/root/code/mnist-pytorch/mnist.py --backend gloo --epochs 200"
        await said(cluster, f"{medium}-worker-1", f"rank 2 of 3 runs {script}")
        await printed(
            cluster,
            f"submit pytorch --name={critical} --gpus=1 --image=any {source} --priority=critical",
            "python /root/code/mnist-pytorch/mnist.py --backend gloo --epochs 50",
        )
        await see.until("critical", lambda: running(see, critical))
        await see.until("medium stands back, whole", lambda: not see.pods_of(medium))
        assert condition(see.find(PYTORCH_JOBS, medium), "Suspended")

    play(tmp_path, example_nodes("three-by-four"), scenario)


def test_mpijobs_as_arena_submits_them(shared: SharedClusters, tmp_path: Path) -> None:
    """Seed 001. The one that makes room ends as failed, since it asked to."""
    (tmp_path / "classes.yaml").write_text(CLASSES)

    async def scenario(cluster: RealCluster) -> None:
        see = cluster.monitor
        await printed(cluster, f"apply -f {tmp_path / 'classes.yaml'}")
        flags = "--gpus=1 --workers=1 --image=registry.aliyuncs.com/tensorflow-samples/horovod:0.13.11"
        medium = f"submit mpi --name=medium --priority=medium {flags} --on-preemption=fail"
        assert await printed(cluster, medium, "mpirun tail -f /dev/null") == "mpijob.kubeflow.org/medium created\n"
        await see.until("medium runs", lambda: condition(see.find(MPI_JOBS, "medium"), "Running"))
        names = sorted(pod["metadata"]["name"] for pod in see.pods_of("medium"))
        assert [name.rpartition("-")[0] for name in names] == ["medium-launcher", "medium-worker"]
        await printed(cluster, f"submit mpi --name=critical --priority=critical {flags}", "mpirun tail -f /dev/null")
        await see.until("critical runs", lambda: condition(see.find(MPI_JOBS, "critical"), "Running"))
        await see.until("medium failed", lambda: condition(see.find(MPI_JOBS, "medium"), "Failed"))

    shared.play(example_nodes("one-gpu"), scenario)


def test_files_of_this_machine_reach_the_job_and_go_with_it(shared: SharedClusters, tmp_path: Path) -> None:
    (tmp_path / "app.conf").write_text("learning rate: 3\n")

    async def scenario(cluster: RealCluster) -> None:
        see = cluster.monitor
        flags = f"--name=j --config-file={tmp_path / 'app.conf'}:/etc/app/app.conf --share-memory=64Mi --tensorboard"
        line = "cat /etc/app/app.conf; echo > /dev/shm/understudy-test; pwd; sleep 600"
        await printed(cluster, f"submit job {flags}", line)
        [pod] = await see.until("it runs", lambda: running(see, "j"))
        await said(cluster, pod["metadata"]["name"], "learning rate: 3", "/root")
        assert not Path("/dev/shm/understudy-test").exists()
        assert len(left(cluster)) == 4
        await cluster.delete(JOBS, "j", propagation="Background")
        await see.until("all is gone", lambda: not left(cluster))

    def left(cluster: RealCluster) -> list[str]:
        found = [one for kind in (PODS, CONFIG_MAPS, SERVICES) for one in cluster.monitor.all(kind)]
        return [one["metadata"]["name"] for one in found if one["metadata"]["name"].startswith("j-")]

    shared.play([node("a")], scenario)


@pytest.mark.parametrize(("line", "code"), [("exit 0", 0), ("exit 3", 1)])
def test_wait_reports_how_the_job_ended(shared: SharedClusters, line: str, code: int) -> None:
    async def scenario(cluster: RealCluster) -> None:
        assert await code_of(cluster, "submit job --name=j --wait", line) == code

    shared.play([node("a")], scenario)


SOME_KINDS = ("tf", "pytorch", "xgboost", "paddle", "jax", "jobset", "mpi --mpi-version=v1")
SLOW_KINDS = ("job", "mpi --mpi-version=v2beta1", "mpi --mpi-version=v1alpha1")  # a Job's second pod comes after 10 s


def test_a_retry_is_a_second_try(shared: SharedClusters, tmp_path: Path) -> None:
    """For every kind."""

    async def submit(cluster: RealCluster, number: int, kind: str, retry: int) -> int:
        name = f"k{number}-{retry}"
        line = f"test -e {tmp_path / name} || {{ touch {tmp_path / name}; exit 1; }}"
        return await code_of(cluster, f"submit {kind} --name={name} --retry={retry} --wait", line)

    async def scenario(cluster: RealCluster) -> None:
        second = [submit(cluster, number, kind, 1) for number, kind in enumerate(SOME_KINDS + SLOW_KINDS)]
        only = [submit(cluster, number, kind, 0) for number, kind in enumerate(SOME_KINDS)]
        codes = await asyncio.gather(*second, *only)
        assert dict(zip(SOME_KINDS + SLOW_KINDS, codes, strict=False)) == dict.fromkeys(SOME_KINDS + SLOW_KINDS, 0)
        assert codes[len(second) :] == [1] * len(only)

    shared.play([node("a")], scenario)
