"""A training script that saves its work when it is stopped ends with the same result as one that was never stopped."""

import sys
from functools import partial
from pathlib import Path

from tests.embedded.cluster_monitor import Document
from tests.embedded.end_to_end.test_jobs import log_of, running
from tests.embedded.end_to_end.training_manifests import has, role, status_of, torch, training
from tests.embedded.manifests import STAYS
from tests.embedded.real_cluster import RealCluster, node, play
from tests.eventually import eventually_async
from understudy.kinds.training_operator.jaxjob import JAX_JOBS
from understudy.objects.resources import PODS

STEPS = 400
# The master holds the model, sends it to the workers at every step, and goes where their gradients point, rank by rank.
# A worker reads only its own part of the data. Half way the master waits for a file, so that it can be stopped in time.
SCRIPT = """
import json, os, pathlib, signal, socket, struct, sys, time
saved, go, steps = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), int(sys.argv[3])
rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
address = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
told_to_go = []
signal.signal(signal.SIGTERM, lambda *_: told_to_go.append(True))

def receive(peer):
    found = b""
    while len(found) < 8:
        piece = peer.recv(8 - len(found))
        if not piece:
            raise ConnectionResetError
        found += piece
    return struct.unpack("d", found)[0]

def save(step, model):
    aside = saved.with_suffix(".new")
    aside.write_text(json.dumps([step, model]))
    aside.replace(saved)

def lead():
    step, model = json.loads(saved.read_text()) if saved.exists() else [0, 1.0]
    print("begins at", step, flush=True)
    peers = {}
    server = socket.create_server(address)
    while len(peers) < size - 1:
        peer = server.accept()[0]
        peers[receive(peer)] = peer
    while step < steps:
        try:
            for peer in peers.values():
                peer.sendall(struct.pack("d", model))
            for worker in sorted(peers):
                model -= 0.01 * receive(peers[worker])
        except OSError:
            sys.exit("a worker is gone, and with it this step")
        step += 1
        while step == steps // 2 and not (go.exists() or told_to_go):
            time.sleep(0.01)
        if told_to_go or step % 100 == 0:
            save(step, model)
        if told_to_go:
            sys.exit("told to go")
    print("ends with", model, flush=True)

def follow():
    while True:
        try:
            peer = socket.create_connection(address)
            break
        except ConnectionRefusedError:
            time.sleep(0.01)
    peer.sendall(struct.pack("d", rank))
    while True:
        try:
            model = receive(peer)
            peer.sendall(struct.pack("d", 2 * (model - rank * 0.1) + model**3))
        except OSError:
            sys.exit(0)

lead() if rank == 0 else follow()
"""


def descent(name: str, saved: Path, go: Path) -> Document:
    """A master and two workers, each of whom is tried once and takes a GPU."""
    program = [sys.executable, "-c", SCRIPT, str(saved), str(go), str(STEPS)]
    ranks = [role(program, count, "Never", priority="low", gpus=1) for count in (1, 2)]
    return torch(name, *ranks, backoffLimit=0)


async def result(cluster: RealCluster, name: str) -> list[str]:
    await cluster.monitor.until(f"{name} is done", partial(has, cluster.monitor, name, "Succeeded"))
    master = cluster.monitor.find(PODS, f"{name}-master-0")
    assert master is not None
    return (await log_of(cluster, master)).splitlines()


def test_a_preempted_script_goes_on_from_where_it_was_and_ends_the_same(tmp_path: Path) -> None:
    calm, go = tmp_path / "calm", tmp_path / "go"
    calm.touch()

    async def scenario(cluster: RealCluster) -> None:
        monitor = cluster.monitor
        await cluster.priorities(low=1, high=2)
        await cluster.create(descent("calm", tmp_path / "model of calm", calm))
        begins, undisturbed = await result(cluster, "calm")
        assert begins == "begins at 0"
        await cluster.create(descent("disturbed", tmp_path / "model of disturbed", go))
        await monitor.until("it runs", lambda: running(monitor, "disturbed", 3))
        # A master that still waits for its workers cannot save when it is told to go.
        await eventually_async((tmp_path / "model of disturbed").exists)
        await cluster.create(training("JAXJob", "hero", {"Worker": role(STAYS, 3, priority="high", gpus=1)}))
        await monitor.until("the hero runs", lambda: running(monitor, "hero", 3))
        assert not monitor.pods_of("disturbed")
        go.touch()
        await cluster.delete(JAX_JOBS, "hero", propagation="Background")
        begins, ends = await result(cluster, "disturbed")
        step = int(begins.split()[-1])
        assert 0 < step <= STEPS // 2
        assert ends == undisturbed
        assert "restarts" not in status_of(monitor, "disturbed")

    play(tmp_path, [node(name, gpu="1") for name in ("one", "two", "three")], scenario)
