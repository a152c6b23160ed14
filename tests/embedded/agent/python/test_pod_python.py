"""The Python of pods: what they see of the user's Python, and where they install packages."""

import asyncio
import importlib.metadata
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.embedded.agent.agent_world import AgentWorld, run_scenario
from tests.embedded.agent.python.small_packages import add_module, add_script, virtual_environment, wheel
from understudy.embedded.agent.python.interpreter import own_folders
from understudy.embedded.agent.python.layered_environment import path_of_pods
from understudy.embedded.agent.python.pip_turns import is_pip
from understudy.embedded.agent.python.pod_python import PodPythons, find_layers
from understudy.embedded.cluster_folder import PythonScope
from understudy.objects.resources import JOBS
from understudy.ports import Ref

OWN_BIN = os.path.dirname(sys.executable)
INSTALL = "pip install --quiet --no-index --no-deps --disable-pip-version-check"


def use_path(monkeypatch: pytest.MonkeyPatch, *folders: str | Path) -> None:
    """The PATH of the user's shell."""
    rest = path_of_pods(os.environ["PATH"])
    monkeypatch.setenv("PATH", os.pathsep.join([*map(str, folders), rest]))


def environment(place: Path, name: str = "pod", *, shared: bool = False) -> Mapping[str, str]:
    """The variables of a pod, by the PATH of this process."""
    path = os.environ["PATH"]
    layers = asyncio.run(find_layers(place / "python", path))
    assert layers is not None
    made = layers.environment(place / name, shared=shared)
    return {"PATH": path, "HOME": str(place), **made.variables(path_of_pods(path))}


def said(variables: Mapping[str, str], script: str) -> str:
    done = subprocess.run(
        ["sh", "-c", script], env=variables, cwd=variables["HOME"], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_pip_in_a_pod_leaves_the_environment_of_understudy_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_path(monkeypatch, OWN_BIN)  # as where Understudy is installed into the environment that is active
    older = wheel(tmp_path / "wheels", "msgspec", "0.0.1")
    before = importlib.metadata.version("msgspec")

    async def scenario(world: AgentWorld) -> None:
        uid = await world.run_pod("p", f"{INSTALL} {older} && python -c 'import msgspec; print(msgspec.version)'")
        await world.phase("p", "Succeeded", "Failed")
        assert "0.0.1" in await world.log(uid)
        own = [sys.executable, "-c", "import importlib.metadata as m; print(m.version('msgspec'))"]
        assert subprocess.run(own, capture_output=True, text=True, check=True).stdout.strip() == before

    run_scenario(tmp_path, scenario)


def test_pods_have_the_packages_and_programs_of_the_users_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = virtual_environment(tmp_path / "venv")
    add_module(programs, "torch", "version = 'two'\n")
    add_script(programs, "torchrun", "import sys, torch; print(torch.version, sys.prefix)\n")
    use_path(monkeypatch, programs)
    pod = environment(tmp_path)
    assert said(pod, "torchrun") == f"two {tmp_path / 'pod'}"
    assert said(pod, "python -c 'import torch; print(torch.version)'") == "two"


def test_a_script_of_the_user_runs_with_the_packages_of_the_pod(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = virtual_environment(tmp_path / "venv")
    add_script(programs, "launch", "import extra; print(extra.version)\n")
    use_path(monkeypatch, OWN_BIN, programs)
    extra = wheel(tmp_path / "wheels", "extra", "1.0", program="say-extra")
    pod = environment(tmp_path)
    said(pod, f"{INSTALL} {extra}")
    assert said(pod, "say-extra") == "extra 1.0"
    use_path(monkeypatch, programs)
    add_module(programs, "extra", "version = 'the one of the user'\n")
    assert said(environment(tmp_path, "other"), "launch") == "the one of the user"


def test_training_code_finds_understudy_train_and_nothing_else_of_understudy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_path(monkeypatch, virtual_environment(tmp_path / "venv"))
    pod = environment(tmp_path)
    assert said(pod, "python -c 'import understudy.train as t; print(t.STOPPED)'")
    missing = "python -c 'import understudy.embedded' 2>&1 | tail -1; python -c 'import msgspec' 2>&1 | tail -1"
    assert said(pod, missing).count("ModuleNotFoundError") == 2


def test_programs_of_understudys_own_environment_are_not_on_the_path_of_pods() -> None:
    folders = path_of_pods(os.pathsep.join([OWN_BIN, "/usr/bin", OWN_BIN])).split(os.pathsep)
    assert folders == (["/usr/bin"] if own_folders() else [OWN_BIN, "/usr/bin", OWN_BIN])


def test_a_program_that_the_user_installs_later_is_found_by_the_next_pod(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = virtual_environment(tmp_path / "venv")
    use_path(monkeypatch, programs)

    async def scenario(world: AgentWorld) -> None:
        await world.run_pod("before", "torchrun")
        assert (await world.phase("before", "Succeeded", "Failed"))["status"]["phase"] == "Failed"
        add_script(programs, "torchrun", "import sys; print(sys.prefix)\n")
        uid = await world.run_pod("after", "torchrun")
        await world.phase("after", "Succeeded", "Failed")
        assert f"{uid}/python" in await world.log(uid)

    run_scenario(tmp_path, scenario)


def test_members_of_a_job_share_what_one_of_them_installs_where_the_annotation_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_path(monkeypatch, OWN_BIN)
    extra = wheel(tmp_path / "wheels", "extra", "1.0")

    async def scenario(world: AgentWorld) -> None:
        job = Ref(JOBS, "default", "train")
        await world.cluster.create(Ref(JOBS, "default"), {"metadata": {"name": "train"}})

        async def member(name: str, script: str) -> str:
            spec = {"containers": [{"name": "main", "image": "any", "command": ["sh", "-c", script]}]}
            meta: dict[str, Any] = {
                "labels": {"batch.kubernetes.io/job-name": "train"},
                "annotations": {"understudy.dev/python-env": "job"},
            }
            uid = await world.create_pod(name, {**spec, "restartPolicy": "Never"}, "default", **meta)
            await world.phase(name, "Succeeded", "Failed")
            return await world.log(uid)

        await member("first", f"{INSTALL} {extra}")
        assert "1.0" in await member("second", "python -c 'import extra; print(extra.version)'")
        (shared,) = (world.folder.python / "jobs").iterdir()
        pythons = PodPythons(world.folder.python, world.cluster, PythonScope.POD, os.environ["PATH"])
        await pythons.sweep()
        assert shared.exists()
        await world.cluster.erase(job)
        await pythons.sweep()
        assert not shared.exists()
        await pythons.close()

    run_scenario(tmp_path, scenario)


def test_an_unknown_scope_is_named_with_the_known_ones(tmp_path: Path) -> None:
    async def scenario(world: AgentWorld) -> None:
        spec = {"containers": [{"name": "main", "image": "any", "command": ["true"]}]}
        await world.create_pod("p", spec, annotations={"understudy.dev/python-env": "team"})
        await world.cluster.until(lambda: "is none of pod, job, namespace, cluster" in str(world.cluster.pod("p")))

    run_scenario(tmp_path, scenario)


def test_pips_of_a_shared_environment_go_one_after_the_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_path(monkeypatch, OWN_BIN)
    wheels = [wheel(tmp_path / "wheels", "extra", f"1.{number}") for number in range(4)]
    pod = environment(tmp_path, shared=True)
    pips = [
        subprocess.Popen(
            ["sh", "-c", f"{INSTALL} {one}"], env=pod, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        for one in wheels
    ]
    for pip in pips:
        _, errors = pip.communicate(timeout=120)
        assert pip.returncode == 0, errors
    installed = said(pod, "python -c 'import extra; print(extra.version)'")
    records = list((tmp_path / "pod").glob("lib/python*/site-packages/extra-*.dist-info"))
    assert [record.name for record in records] == [f"extra-{installed}.dist-info"]


def test_what_a_killed_pip_left_is_installed_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_path(monkeypatch, OWN_BIN)
    extra = wheel(tmp_path / "wheels", "extra", "1.0")
    pod = environment(tmp_path, shared=True)
    said(pod, f"{INSTALL} {extra}")
    (module,) = (tmp_path / "pod").glob("lib/python*/site-packages/extra.py")
    module.unlink()
    said(pod, f"{INSTALL} {extra}")
    assert not module.exists()  # pip sees its records, and believes them
    (tmp_path / "pod" / "pip.unfinished").touch()
    said(pod, f"{INSTALL} {extra}")
    assert module.exists()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (["-m", "pip", "install"], True),
        (["-X", "dev", "/env/bin/pip3", "install"], True),
        (["-u", "train.py", "pip"], False),
        (["-m", "torch.distributed.run", "-m", "pip"], False),
        (["/env/pip/__pip-runner__.py", "install"], False),
        (["-c", "import pip"], False),
        ([], False),
    ],
)
def test_a_command_line_that_runs_pip_is_known(line: list[str], expected: bool) -> None:
    assert is_pip(line) is expected
