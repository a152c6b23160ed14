"""Volumes: what pods see at their mount points, and what changes on the machine."""

import base64
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from tests.embedded.agent.agent_world import AgentWorld, run_scenario
from understudy.embedded.agent.api.downward_api import PodFacts
from understudy.embedded.agent.api.pod_types import HostPathVolume, Pod, PodMetadata, PodSpec, Volume
from understudy.embedded.agent.containers import launch_spec
from understudy.embedded.agent.volumes.volume_projection import BadVolume, ProjectedFile, safe_path, tree_problem
from understudy.embedded.agent.volumes.volumes import PodVolumes, VolumeLocation, subfolder
from understudy.embedded.shim.pod_folders import PodFolder
from understudy.objects.resources import CLAIMS, CONFIG_MAPS, SECRETS
from understudy.ports import Ref

FACTS = PodFacts(Pod(PodMetadata(uid="u"), PodSpec(())), "127.64.0.1", "127.0.0.1")


def spec(script: str, mounts: list[dict[str, Any]], *volumes: dict[str, Any]) -> dict[str, Any]:
    main = {"name": "main", "command": ["sh", "-c", script], "volumeMounts": mounts}
    return {"containers": [main], "volumes": list(volumes), "restartPolicy": "Never"}


async def make(world: AgentWorld) -> None:
    settings = {"metadata": {"name": "settings"}, "data": {"a.txt": "alpha", "b.txt": "beta"}}
    await world.cluster.create(Ref(CONFIG_MAPS, "default"), settings)
    token = base64.b64encode(b"hush").decode()
    await world.cluster.create(Ref(SECRETS, "default"), {"metadata": {"name": "keys"}, "data": {"token": token}})
    await world.cluster.create(Ref(CLAIMS, "default"), {"metadata": {"name": "disk"}})


def test_data_of_the_cluster_as_files(tmp_path: Path) -> None:
    async def scenario(world: AgentWorld) -> None:
        await make(world)
        volumes: list[dict[str, Any]] = [
            {"name": "all", "configMap": {"name": "settings"}},
            {"name": "one", "configMap": {"name": "settings", "items": [{"key": "b.txt", "path": "deep/in/b"}]}},
            {"name": "keys", "secret": {"secretName": "keys"}},
            {
                "name": "self",
                "downwardAPI": {
                    "items": [
                        {"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}},
                        {"path": "name", "fieldRef": {"fieldPath": "metadata.name"}},
                    ]
                },
            },
            {
                "name": "mixed",
                "projected": {
                    "sources": [
                        {"configMap": {"name": "settings", "items": [{"key": "a.txt", "path": "a"}]}},
                        {"secret": {"name": "keys"}},
                        {"serviceAccountToken": {"path": "api-token"}},
                    ]
                },
            },
            {"name": "none", "configMap": {"name": "absent", "optional": True}},
        ]
        mounts = [{"name": one["name"], "mountPath": f"/understudy-test/{one['name']}"} for one in volumes]
        script = (
            "cd /understudy-test; cat all/a.txt one/deep/in/b keys/token self/labels self/name mixed/a mixed/token "
            "mixed/api-token; ls none; stat -c ' %a' keys/token; touch all/x 2>/dev/null || echo read-only"
        )
        uid = await world.create_pod("files", spec(script, mounts, *volumes), labels={"tier": "front"})
        await world.phase("files", "Succeeded", "Failed")
        assert await world.log(uid) == 'alphabetahushtier="front"filesalphahushsecret 600\nread-only\n'
        assert not Path("/understudy-test").exists()

    run_scenario(tmp_path, scenario)


def test_claims_are_folders_that_outlive_pods(tmp_path: Path) -> None:
    async def scenario(world: AgentWorld) -> None:
        await make(world)
        volume = {"name": "disk", "persistentVolumeClaim": {"claimName": "disk"}}
        mounts = [{"name": "disk", "mountPath": "/mnt/disk"}]
        await world.create_pod("writer", spec("echo kept > /mnt/disk/file", mounts, volume))
        await world.phase("writer", "Succeeded")
        await world.delete("writer")
        await world.gone("writer")
        reader = await world.create_pod("reader", spec("cat /mnt/disk/file", mounts, volume))
        await world.phase("reader", "Succeeded")
        assert await world.log(reader) == "kept\n"
        assert (world.folder.claims / "default" / "disk" / "file").read_text() == "kept\n"

    run_scenario(tmp_path, scenario)


def test_a_missing_claim_is_reported_and_waited_for(tmp_path: Path) -> None:
    async def scenario(world: AgentWorld) -> None:
        volume = {"name": "disk", "persistentVolumeClaim": {"claimName": "disk"}}
        await world.create_pod("early", spec("true", [], volume))
        await world.cluster.until(lambda: "FailedMount" in dict(world.cluster.events("early")))
        said = dict(world.cluster.events("early"))["FailedMount"]
        assert said == 'MountVolume.SetUp failed for volume "disk" : persistentvolumeclaim "disk" not found'
        await make(world)
        await world.phase("early", "Succeeded")

    run_scenario(tmp_path, scenario)


def test_sub_paths_and_host_paths(tmp_path: Path) -> None:
    host = tmp_path / "on-the-host"
    host.mkdir()
    (host / "greeting").write_text("from the host\n")

    async def scenario(world: AgentWorld) -> None:
        volumes = (
            {"name": "host", "hostPath": {"path": str(host), "type": "Directory"}},
            {"name": "file", "hostPath": {"path": str(host / "greeting"), "type": "File"}},
            {"name": "scratch", "emptyDir": {}},
        )
        mounts: list[dict[str, Any]] = [
            {"name": "host", "mountPath": "/understudy-host", "readOnly": True},
            {"name": "file", "mountPath": "/understudy-file"},
            {"name": "scratch", "mountPath": "/understudy-scratch", "subPath": "part/of/it"},
            {"name": "scratch", "mountPath": "/understudy-scratch/whole"},
        ]
        script = (
            "cat /understudy-host/greeting /understudy-file; touch /understudy-host/x || echo read-only; "
            "touch /understudy-scratch/y; ls /understudy-scratch/whole/part/of/it"
        )
        uid = await world.create_pod("parts", spec(script + " 2>&1", mounts, *volumes))
        await world.phase("parts", "Succeeded", "Failed")
        log = await world.log(uid)
        assert log.startswith("from the host\nfrom the host\n")
        assert "read-only\n" in log
        assert "whole\ny\n" in log
        assert sorted(os.listdir(host)) == ["greeting"]

    run_scenario(tmp_path, scenario)


def test_a_mount_point_next_to_files_of_this_machine_hides_none_of_them(tmp_path: Path) -> None:
    async def scenario(world: AgentWorld) -> None:
        mounts = [
            {"name": "v", "mountPath": "/etc/understudy-test"},
            {"name": "v", "mountPath": "/usr/understudy-test"},
        ]
        script = "ls -d /etc/understudy-test /usr/understudy-test /etc/passwd /usr/bin/env && head -c 4 /etc/passwd"
        uid = await world.create_pod("beside", spec(script, mounts, {"name": "v", "emptyDir": {"medium": "Memory"}}))
        await world.phase("beside", "Succeeded", "Failed")
        expected = "/etc/passwd\n/etc/understudy-test\n/usr/bin/env\n/usr/understudy-test\nroot"
        assert await world.log(uid) == expected
        assert list(Path("/dev/shm").glob(f"understudy-{uid}-*"))

    run_scenario(tmp_path, scenario)
    assert not Path("/etc/understudy-test").exists()
    assert not list(Path("/dev/shm").glob("understudy-uid-*")), "what was in memory goes with the pod"


@pytest.mark.parametrize("path", ["../x", "a/../../x", "/etc/passwd", "", "a\0b"])
def test_files_stay_within_their_volume(path: str) -> None:
    with pytest.raises(BadVolume, match="must stay within the volume"):
        safe_path(path)


def test_a_file_cannot_be_a_folder_too() -> None:
    files = {"a": ProjectedFile(b"", 0o644), "a/b": ProjectedFile(b"", 0o644)}
    assert tree_problem(files) == "a would be both a file and a folder"
    assert tree_problem({"a/b": files["a"], "c": files["a"]}) == ""


@pytest.mark.parametrize("sub_path", ["../other", "/etc", "a/../../b", "link"])
def test_a_sub_path_stays_within_its_volume(tmp_path: Path, sub_path: str) -> None:
    (tmp_path / "volume").mkdir()
    (tmp_path / "volume" / "link").symlink_to("/etc")
    with pytest.raises(BadVolume, match="volume"):
        subfolder(VolumeLocation(tmp_path / "volume"), sub_path)


@pytest.mark.parametrize(
    ("kind", "problem"),
    [
        ("Directory", "is not a directory"),
        ("File", None),
        ("Socket", "is not a socket"),
        ("CharDevice", "is not a character device"),
        ("BlockDevice", "is not a block device"),
    ],
)
def test_a_host_path_must_have_the_type_that_the_pod_expects(tmp_path: Path, kind: str, problem: str | None) -> None:
    (tmp_path / "file").touch()
    storage = PodVolumes(PodFolder(tmp_path / "pod"), tmp_path / "claims")
    volume = Volume("v", host_path=HostPathVolume(str(tmp_path / "file"), kind))
    if problem is None:
        assert storage.place(volume, FACTS, {}).path == tmp_path / "file"
    else:
        with pytest.raises(BadVolume, match=problem):
            storage.place(volume, FACTS, {})


def test_missing_host_paths_are_created_for_types_with_or_create(tmp_path: Path) -> None:
    storage = PodVolumes(PodFolder(tmp_path / "pod"), tmp_path / "claims")
    storage.place(Volume("v", host_path=HostPathVolume(str(tmp_path / "folder"), "DirectoryOrCreate")), FACTS, {})
    storage.place(Volume("v", host_path=HostPathVolume(str(tmp_path / "file"), "FileOrCreate")), FACTS, {})
    assert stat.S_ISDIR((tmp_path / "folder").stat().st_mode)
    assert stat.S_ISREG((tmp_path / "file").stat().st_mode)


def test_names_from_the_api_cannot_be_paths(tmp_path: Path) -> None:
    storage = PodVolumes(PodFolder(tmp_path / "pod"), tmp_path / "claims")
    with pytest.raises(BadVolume, match="is not a name"):
        storage.place(Volume("../../etc"), FACTS, {})


@pytest.mark.parametrize(
    ("given", "seen"),
    [("/a/b/", "/a/b"), ("a/b", "/a/b"), ("../a", "/a"), ("/a/../../b", "/b"), ("//a", "/a"), ("/a:b", "/a:b")],
)
def test_a_mount_path_is_read_from_the_root_of_the_container(given: str, seen: str) -> None:
    """Kubernetes accepts all of them, and a kubelet makes them absolute."""
    assert launch_spec._absolute(given) == seen


@pytest.mark.parametrize("given", ["/", "..", "."])
def test_the_root_itself_is_no_mount_path(given: str) -> None:
    with pytest.raises(BadVolume, match="is the root of the container"):
        launch_spec._absolute(given)
