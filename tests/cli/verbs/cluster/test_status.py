"""`understudy status`: every cluster, in text and as JSON."""

import json
import os

from tests.cli.homes import make_cluster
from tests.cli.shell import Shell
from tests.embedded.clusters.settings import node
from understudy.cli.verbs.cluster.status import as_text
from understudy.embedded.clusters.process_lock import AGENT, CONTROL, SERVER, SUPERVISOR, LockHolder, hold_lock
from understudy.embedded.clusters.report import UP, ClusterReport


def test_without_any_cluster(shell: Shell) -> None:
    assert shell.run("status") == (0, "There is no cluster; `understudy up` makes one.\n", "")


def test_clusters_that_are_down(shell: Shell) -> None:
    one, two = make_cluster("one"), make_cluster("two", nodes=(node("a"), node("b")))
    assert shell.run("status")[1].splitlines() == [
        "one: down",
        "  nodes       1",
        f"  kubeconfig  {one.kubeconfig}",
        "  stored      0 bytes",
        "",
        "two: down",
        "  nodes       2",
        f"  kubeconfig  {two.kubeconfig}",
        "  stored      0 bytes",
    ]


def test_a_cluster_that_runs_well() -> None:
    parts = {
        SUPERVISOR: LockHolder(10, 100.0),
        SERVER: LockHolder(11, 101.0),
        CONTROL: LockHolder(12, 101.0),
        AGENT: LockHolder(13, 220.0),
    }
    report = ClusterReport(
        name="slices",
        state=UP,
        server="https://127.0.0.1:16443",
        kubeconfig="/k",
        parts=parts,
        nodes=10,
        ready_nodes=9,
        pods={"Pending": 2, "Running": 8},
        stored_bytes=3 << 20,
    )
    assert as_text([report], 221.0).splitlines() == [
        "slices: up",
        "  server      https://127.0.0.1:16443",
        "  nodes       9 of 10 ready",
        "  pods        2 pending, 8 running",
        "  kubeconfig  /k",
        "  stored      3.0 MiB",
        "  parts       supervisor 10 (2m 1s), server 11 (2m), control 12 (2m), agent 13 (1s)",
    ]


def test_a_cluster_whose_api_does_not_answer(shell: Shell) -> None:
    folder = make_cluster("default", port=1)
    with hold_lock(folder.processes / AGENT):
        out = shell.run("status")[1]
    assert "default: partly up\n" in out
    assert "nodes       unknown: 127.0.0.1:1: connection refused\n" in out
    assert f"agent {os.getpid()} (0s)" in out
    assert "no supervisor runs, so no part is restarted; `understudy up` takes over" in out


def test_json_for_programs(shell: Shell) -> None:
    folder = make_cluster("default", port=1)
    with hold_lock(folder.processes / AGENT):
        [cluster] = json.loads(shell.run("status", "-o", "json")[1])["clusters"]
    assert cluster["name"] == "default"
    assert cluster["state"] == "partly up"
    assert cluster["kubeconfig"] == str(folder.kubeconfig)
    assert cluster["parts"]["server"] is None
    assert cluster["parts"]["agent"]["pid"] == os.getpid()
    assert cluster["readyNodes"] is None


def test_one_cluster_by_name(shell: Shell) -> None:
    make_cluster("one")
    make_cluster("two")
    assert shell.run("status", "--name", "two")[1].startswith("two: down\n")
    assert shell.refuses("status", "--name", "tow") == "understudy: --name tow: no such cluster; did you mean two?"
