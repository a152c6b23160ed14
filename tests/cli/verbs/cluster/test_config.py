"""`understudy config`: what is in force, and where it is from."""

import asyncio
import json
from collections.abc import Iterator

import msgspec
import pytest
import yaml

from tests.cli.homes import make_cluster
from tests.cli.shell import Shell
from tests.cli.verbs.test_plan_files_on_cluster import PATIENCE, free_port
from tests.embedded.manifests import job
from understudy.client import connect
from understudy.embedded.cluster_folder import folder_of
from understudy.objects.resources import EVENTS, JOBS
from understudy.ports import ChangeType, Ref


def rows(shell: Shell, *arguments: str) -> dict[str, list[str]]:
    code, out, err = shell.run("config", *arguments)
    assert (code, err) == (0, "")
    head, *lines = (line.split(maxsplit=2) for line in out.splitlines())
    assert head == ["SETTING", "VALUE", "FROM"]
    return {line[0]: line[1:] for line in lines}


def test_every_value_tells_where_it_is_from(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    shell.write(understudy="policy: {backoff: 20}")
    monkeypatch.setenv("UNDERSTUDY_HEALTH_LEASE_LOST", "4")
    found = rows(shell, "--settings", "understudy.yaml")
    assert found["home"] == [str(shell.folder / "home"), "UNDERSTUDY_HOME"]
    assert found["policy.backoff"] == ["20.0", "understudy.yaml (--settings)"]
    assert found["health.leaseLost"] == ["4.0", "UNDERSTUDY_HEALTH_LEASE_LOST"]
    assert found["policy.lendSpares"] == ["true", "default"]


def test_it_tells_which_cluster_the_verbs_talk_to(shell: Shell) -> None:
    make_cluster("mine", port=17000)
    assert rows(shell)["server"] == ["https://127.0.0.1:17000", "the embedded cluster of this machine"]
    found = rows(shell, "--cluster", "mine", "-n", "research")
    assert found["server"] == ["https://127.0.0.1:17000", "--cluster"]
    assert found["namespace"] == ["research", "--namespace"]


def test_no_cluster_is_something_to_see(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(shell.folder))
    assert rows(shell)["server"][0] == "<none>"


def test_with_a_cluster_it_shows_what_that_one_runs_with(shell: Shell) -> None:
    make_cluster("mine", loop={"policy": {"minRuntime": 7.0}})
    found = rows(shell, "--cluster", "mine")
    assert found["policy.minRuntime"] == ["7.0", "understudy up"]
    assert found["health.notReadyLost"] == ["5.0", "default of embedded clusters"]
    assert found["policy.backoff"] == ["10.0", "default"]
    assert found["podAccess"] == ["service-account", "default"]
    make_cluster("open", pod_access="admin")
    assert rows(shell, "--cluster", "open")["podAccess"] == ["admin", "understudy up"]


def test_programs_read_the_same(shell: Shell) -> None:
    shell.write(understudy="policy: {spares: [{count: 1}]}")
    arguments = ("config", "--settings", "understudy.yaml", "-o")
    document = json.loads(shell.run(*arguments, "json")[1])
    spares = [{"count": 1, "labels": {}, "topology": "", "per": "", "lend": None}]
    assert document["settings"]["policy.spares"] == {"value": spares, "from": "understudy.yaml (--settings)"}
    assert yaml.safe_load(shell.run(*arguments, "yaml")[1]) == document


def test_bad_settings_are_refused(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "no such cluster" in shell.refuses("config", "--cluster", "none")
    make_cluster("mine")
    assert "give one of them" in shell.refuses("config", "--cluster", "mine", "--settings", "x.yaml")
    monkeypatch.setenv("UNDERSTUDY_POLICY_BACKOFF", "long")
    assert "UNDERSTUDY_POLICY_BACKOFF=long: expected a number" in shell.refuses("config")


@pytest.fixture
def stopping(shell: Shell) -> Iterator[Shell]:
    yield shell
    shell.run("down", "--all", "--now")


def reason_to_wait(name: str) -> str:
    """Submits a job that wants two whole nodes, and returns what its pods are told."""

    async def told() -> str:
        async with asyncio.timeout(PATIENCE), connect(folder_of(name).kubeconfig) as client:
            await client.create(Ref(JOBS, "default"), job("wide", pods=2, gpus=4))
            async for change in client.follow(EVENTS, fields="reason=FailedScheduling"):
                if change.type is not ChangeType.SYNCED:
                    return str(msgspec.json.decode(change.raw)["message"])
        raise AssertionError("the watch has ended")

    return asyncio.run(told())


def test_the_scheduler_of_a_cluster_is_given_settings_and_keeps_them(stopping: Shell) -> None:
    shell = stopping
    shell.write(
        cluster="name: c\npools: [{name: a, count: 2, accelerators: {nvidia.com/gpu: 4}}]",
        careful="policy: {lendSpares: false, spares: [{count: 1}]}",
        plain="",
        wrong="policy: {spare: 1}",
    )
    assert "policy.spare: no such setting" in shell.refuses("up", "--settings", "wrong.yaml", "-f", "cluster.yaml")
    up = ("up", "--detach", "-f", "cluster.yaml", "--port", free_port())
    assert shell.run(*up, "--settings", "careful.yaml")[0] == 0
    assert "spare" in reason_to_wait("c")
    assert shell.run(*up)[0] == 0, "who gives no settings asks for no others"
    assert "it has other settings" in shell.refuses(*up, "--settings", "plain.yaml")
    assert rows(shell, "--cluster", "c")["policy.lendSpares"] == ["false", "understudy up"]
