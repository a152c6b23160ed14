"""Pods as real processes: their setup, the order of their starts, and their ends."""

import asyncio
import errno
import os
from pathlib import Path
from typing import Any

import pytest

from tests.embedded.agent.agent_world import AgentWorld, run_scenario, state
from understudy.embedded.agent.api.pod_types import Container
from understudy.embedded.agent.containers.observed_container import ObservedContainer
from understudy.embedded.agent.pods import pod_manager
from understudy.embedded.agent.pods.pod_containers import PodContainers
from understudy.embedded.agent.pods.pod_worker import PodWorker
from understudy.kinds.annotations import CHECKPOINT_BY
from understudy.objects.resources import CONFIG_MAPS, PODS
from understudy.ports import PatchForm, Ref

BY = "2026-01-31T12:00:00Z"


def shell(name: str, script: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "image": "any", "command": ["sh", "-c", script], **more}


def test_a_pod_runs_logs_and_ends(tmp_path: Path) -> None:
    async def scenario(world: AgentWorld) -> None:
        uid = await world.run_pod("hello", "echo hi; echo oops >&2; exit 3")
        pod = await world.phase("hello", "Succeeded", "Failed")
        assert pod["status"]["phase"] == "Failed"
        terminated = state(pod)["state"]["terminated"]
        assert (terminated["exitCode"], terminated["reason"]) == (3, "Error")
        assert sorted((await world.log(uid)).splitlines()) == ["hi", "oops"]
        await world.cluster.until(lambda: reasons(world, "hello") == ["Created", "Started"])

    run_scenario(tmp_path, scenario)


def reasons(world: AgentWorld, pod: str) -> list[str]:
    return [reason for reason, _ in world.cluster.events(pod)]


def test_a_container_that_ends_before_the_agent_reads_its_files_has_a_started_event(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a busy machine: the agent reads the files only after the container has ended."""
    look = PodContainers._read_files

    def look_when_it_has_ended(containers: PodContainers, container: Container, observed: ObservedContainer) -> None:
        if containers._folder.attempt(container.name, observed.attempt).exit.exists():
            look(containers, container, observed)
        else:
            asyncio.get_running_loop().call_later(0.01, containers.examine, container.name)

    monkeypatch.setattr(PodContainers, "_read_files", look_when_it_has_ended)

    async def scenario(world: AgentWorld) -> None:
        await world.run_pod("hello", "exit 3")
        await world.phase("hello", "Failed")
        await world.cluster.until(lambda: reasons(world, "hello") == ["Created", "Started"])

    run_scenario(tmp_path, scenario)


def test_a_pod_that_cannot_be_handled_at_first_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk may have room a moment later, and no other change of the pod arrives."""
    monkeypatch.setattr(pod_manager, "_LATER", 0.05)
    refusals = [OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))] * 3

    def worker(*given: Any) -> PodWorker:
        if refusals:
            raise refusals.pop()
        return PodWorker(*given)

    monkeypatch.setattr(pod_manager, "PodWorker", worker)

    async def scenario(world: AgentWorld) -> None:
        await world.run_pod("hello", "exit 0")
        await world.phase("hello", "Succeeded")
        assert refusals == []

    run_scenario(tmp_path, scenario)


def test_a_missing_command_is_reported(tmp_path: Path) -> None:
    async def scenario(world: AgentWorld) -> None:
        container = {"name": "main", "command": ["pyhton"]}
        await world.create_pod("typo", {"containers": [container], "restartPolicy": "Never"})
        pod = await world.phase("typo", "Failed")
        terminated = state(pod)["state"]["terminated"]
        assert (terminated["exitCode"], terminated["reason"]) == (128, "StartError")
        assert terminated["message"] == 'exec: "pyhton": executable file not found in $PATH'

    run_scenario(tmp_path, scenario)


def test_a_container_without_a_command_is_refused(tmp_path: Path) -> None:
    async def scenario(world: AgentWorld) -> None:
        container = {"name": "main", "image": "nginx"}
        uid = await world.create_pod("web", {"containers": [container], "restartPolicy": "Never"})
        terminated = state(await world.phase("web", "Failed"))["state"]["terminated"]
        assert terminated["reason"] == "ImageNotPulled"
        assert "image 'nginx' is not pulled" in terminated["message"]
        assert terminated["message"] in await world.log(uid)

    run_scenario(tmp_path, scenario)


def test_args_without_a_command_name_their_program_as_with_images_that_have_no_entrypoint(tmp_path: Path) -> None:
    async def scenario(world: AgentWorld) -> None:
        args = ["sh", "-c", "echo $(WHO)"]
        container = {"name": "main", "image": "busybox", "args": args, "env": [{"name": "WHO", "value": "hello"}]}
        uid = await world.create_pod("echo", {"containers": [container], "restartPolicy": "Never"})
        await world.phase("echo", "Succeeded", "Failed")
        assert await world.log(uid) == "hello\n"

    run_scenario(tmp_path, scenario)


def test_args_for_an_entrypoint_that_is_not_known_are_refused_in_words(tmp_path: Path) -> None:
    async def scenario(world: AgentWorld) -> None:
        container = {"name": "main", "image": "nginx", "args": ["--verbose"]}
        await world.create_pod("web", {"containers": [container], "restartPolicy": "Never"})
        terminated = state(await world.phase("web", "Failed"))["state"]["terminated"]
        assert (terminated["exitCode"], terminated["reason"]) == (128, "ImageNotPulled")
        assert 'exec: "--verbose": executable file not found in $PATH' in terminated["message"]
        assert "args without a command, and image 'nginx' is not pulled" in terminated["message"]

    run_scenario(tmp_path, scenario)


def test_the_event_that_images_are_not_pulled_is_recorded_once(tmp_path: Path) -> None:
    async def scenario(world: AgentWorld) -> None:
        await world.cluster.until(lambda: "ImagesNotPulled" in dict(world.cluster.events("node-0")))

    run_scenario(tmp_path, scenario)


def test_variables_come_from_everywhere_and_build_on_each_other(tmp_path: Path) -> None:
    async def scenario(world: AgentWorld) -> None:
        data = {"metadata": {"name": "settings"}, "data": {"COLOUR": "blue", "SHAPE": "round"}}
        await world.cluster.create(Ref(CONFIG_MAPS, "default"), data)
        env = [
            {"name": "GREETING", "value": "hello $(POD) $(COLOUR) $(UNSET) $$(POD)"},
            {"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            {"name": "LATER", "value": "$(POD) on $(NODE)"},
            {"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
            {"name": "TASTE", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "SHAPE"}}},
            {"name": "CPUS", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
            {"name": "EMPTY", "valueFrom": {"secretKeyRef": {"name": "none", "key": "x", "optional": True}}},
        ]
        main = {
            "name": "main",
            "command": ["sh", "-c", 'echo "$GREETING|$LATER|$TASTE|$CPUS|${EMPTY-unset}|$HOSTNAME|$0"', "$(POD)!"],
            "env": env,
            "envFrom": [{"configMapRef": {"name": "settings"}}],
        }
        uid = await world.create_pod("vars", {"containers": [main], "restartPolicy": "Never"})
        await world.phase("vars", "Succeeded")
        said = "hello $(POD) blue $(UNSET) $(POD)|vars on $(NODE)|round|8|unset|vars|vars!\n"
        assert await world.log(uid) == said

    run_scenario(tmp_path, scenario)


def test_a_pod_gets_the_address_of_the_api_and_few_variables_of_the_agent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "of the user")

    async def scenario(world: AgentWorld) -> None:
        address = "$KUBERNETES_SERVICE_HOST:$KUBERNETES_SERVICE_PORT"
        uid = await world.run_pod("env", f"echo {address} ${{AWS_SECRET_ACCESS_KEY-none}}; python -c 'print(1)'")
        await world.phase("env", "Succeeded")
        assert await world.log(uid) == "127.0.0.1:16443 none\n1\n"

    run_scenario(tmp_path, scenario)


def test_a_missing_config_map_is_waited_for(tmp_path: Path) -> None:
    async def scenario(world: AgentWorld) -> None:
        main = shell("main", "echo $A", envFrom=[{"configMapRef": {"name": "late"}}])
        uid = await world.create_pod("waits", {"containers": [main], "restartPolicy": "Never"})
        await world.cluster.until(lambda: "containerStatuses" in world.cluster.pod("waits")["status"])
        waiting = state(world.cluster.pod("waits"))["state"]["waiting"]
        assert waiting == {"reason": "CreateContainerConfigError", "message": 'configmap "late" not found'}
        await world.cluster.create(Ref(CONFIG_MAPS, "default"), {"metadata": {"name": "late"}, "data": {"A": "now"}})
        await world.phase("waits", "Succeeded")
        assert await world.log(uid) == "now\n"

    run_scenario(tmp_path, scenario)


def test_init_containers_run_before_the_others(tmp_path: Path) -> None:
    async def scenario(world: AgentWorld) -> None:
        mounts = [{"name": "shared", "mountPath": "/shared"}]
        spec = {
            "volumes": [{"name": "shared", "emptyDir": {}}],
            "initContainers": [
                shell("one", "echo one >> /shared/order", volumeMounts=mounts),
                shell("two", "echo two >> /shared/order", volumeMounts=mounts),
            ],
            "containers": [shell("main", "cat /shared/order", volumeMounts=mounts)],
            "restartPolicy": "Never",
        }
        uid = await world.create_pod("staged", spec)
        pod = await world.phase("staged", "Succeeded")
        assert await world.log(uid) == "one\ntwo\n"
        assert [one["ready"] for one in pod["status"]["initContainerStatuses"]] == [True, True]
        assert not Path("/shared").exists(), "mount points are seen by the pod alone"

    run_scenario(tmp_path, scenario)


def test_a_sidecar_ends_after_the_other_containers(tmp_path: Path) -> None:
    async def scenario(world: AgentWorld) -> None:
        sidecar = shell("side", "trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.05; done")
        spec = {
            "initContainers": [{**sidecar, "restartPolicy": "Always"}],
            "containers": [shell("main", "exit 0")],
            "restartPolicy": "Never",
        }
        uid = await world.create_pod("pair", spec)
        pod = await world.phase("pair", "Succeeded", "Failed")
        assert pod["status"]["phase"] == "Succeeded"
        assert await world.log(uid, "side") == "up\nbye\n"

    run_scenario(tmp_path, scenario)


def test_a_container_that_fails_is_tried_again(tmp_path: Path) -> None:
    async def scenario(world: AgentWorld) -> None:
        script = "echo try; test -e /state/been && exit 0; touch /state/been; exit 1"
        main = shell("main", script, volumeMounts=[{"name": "state", "mountPath": "/state"}])
        spec = {"volumes": [{"name": "state", "emptyDir": {}}], "containers": [main], "restartPolicy": "OnFailure"}
        uid = await world.create_pod("again", spec)
        pod = await world.phase("again", "Succeeded")
        assert state(pod)["restartCount"] == 1
        assert state(pod)["lastState"]["terminated"]["exitCode"] == 1
        assert await world.log(uid, previous=True) == "try\n"

    run_scenario(tmp_path, scenario)


def test_a_container_that_keeps_failing_backs_off(tmp_path: Path) -> None:
    async def scenario(world: AgentWorld) -> None:
        await world.run_pod("crash", "exit 7", restartPolicy="Always")
        await world.cluster.until(lambda: "BackOff" in dict(world.cluster.events("crash")))
        await world.cluster.until(lambda: "waiting" in state(world.cluster.pod("crash"))["state"])
        status = state(world.cluster.pod("crash"))
        assert status["state"]["waiting"]["reason"] == "CrashLoopBackOff"
        assert (status["restartCount"], status["lastState"]["terminated"]["exitCode"]) == (1, 7)

    run_scenario(tmp_path, scenario)


def test_the_working_folder_is_the_pods_own_unless_it_says_otherwise(tmp_path: Path) -> None:
    async def scenario(world: AgentWorld) -> None:
        containers = [
            shell("own", "pwd; echo x > kept; ls"),
            shell("etc", "pwd", workingDir="/etc"),
            shell("missing", "pwd", workingDir="/no/such/folder"),
        ]
        uid = await world.create_pod("where", {"containers": containers, "restartPolicy": "Never"})
        await world.phase("where", "Succeeded")
        root = str(world.folder.pods / uid / "root")
        assert await world.log(uid, "own") == f"{root}\nkept\n"
        assert await world.log(uid, "etc") == "/etc\n"
        assert await world.log(uid, "missing") == f"{root}\n"
        await world.cluster.until(lambda: "NotAsAsked" in dict(world.cluster.events("where")))
        noted = dict(world.cluster.events("where"))["NotAsAsked"]
        assert noted == f"working folder /no/such/folder: No such file or directory; started in {root} instead"

    run_scenario(tmp_path, scenario)


def test_the_termination_message_is_in_the_status(tmp_path: Path) -> None:
    async def scenario(world: AgentWorld) -> None:
        containers = [
            shell("file", "echo -n disk is full > /dev/termination-log; exit 1"),
            shell("log", "echo from the log; exit 1", terminationMessagePolicy="FallbackToLogsOnError"),
        ]
        await world.create_pod("words", {"containers": containers, "restartPolicy": "Never"})
        pod = await world.phase("words", "Failed")
        assert state(pod, "file")["state"]["terminated"]["message"] == "disk is full"
        assert state(pod, "log")["state"]["terminated"]["message"] == "from the log"
        assert not os.path.exists("/dev/termination-log")

    run_scenario(tmp_path, scenario)


def test_the_active_deadline_of_a_pod(tmp_path: Path) -> None:
    async def scenario(world: AgentWorld) -> None:
        await world.run_pod("slow", "sleep 1000", activeDeadlineSeconds=1)
        pod = await world.phase("slow", "Failed")
        assert pod["status"]["reason"] == "DeadlineExceeded"

    run_scenario(tmp_path, scenario)


def test_processes_left_behind_end_with_their_container(tmp_path: Path) -> None:
    async def scenario(world: AgentWorld) -> None:
        script = "setsid sh -c 'echo $$$$; touch up; exec sleep 1000' & until test -e up; do sleep 0.01; done"
        uid = await world.run_pod("messy", script)
        await world.phase("messy", "Succeeded")
        pid = int((await world.log(uid)).strip())
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)

    run_scenario(tmp_path, scenario)


def test_a_pod_that_is_asked_to_save_finds_the_request_in_a_file_while_it_stands(tmp_path: Path) -> None:
    """As training code reads it."""

    async def scenario(world: AgentWorld) -> None:
        script = "until grep checkpoint-by $UNDERSTUDY_ANNOTATIONS; do sleep 0.02; done; "
        script += "while test -e $UNDERSTUDY_ANNOTATIONS; do sleep 0.02; done; echo withdrawn; sleep 600"
        uid = await world.run_pod("train", script)
        await world.phase("train", "Running")
        ref = Ref(PODS, "default", "train")
        asked, withdrawn = ({"metadata": {"annotations": {CHECKPOINT_BY: note}}} for note in (BY, None))
        await world.cluster.patch(ref, asked, form=PatchForm.MERGE)
        await world.logged(uid, f'{CHECKPOINT_BY}="{BY}"')
        await world.cluster.patch(ref, withdrawn, form=PatchForm.MERGE)
        await world.logged(uid, "withdrawn")

    run_scenario(tmp_path, scenario)
