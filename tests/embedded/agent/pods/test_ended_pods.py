"""Logs of deleted pods stay with their job, as many and as large as the settings allow."""

import json
from pathlib import Path
from typing import Any

import pytest

from understudy.embedded.agent.pods.ended_pods import EndedPods
from understudy.embedded.cluster_folder import ClusterFolder
from understudy.embedded.ended_pods import EndedPod, EndedPodLimits, found_ended_pods
from understudy.embedded.shim.pod_folders import pod_folder


def body(name: str, uid: str, *, job_uid: str = "j", prefix: str = "") -> bytes:
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": job_uid, "controller": True}
    meta: dict[str, Any] = {"name": name, "namespace": "default", "uid": uid, "generateName": prefix}
    meta |= {"labels": {"batch.kubernetes.io/job-name": "train"}, "ownerReferences": [owner]}
    spec = {"containers": [{"name": "main", "image": "any"}]}
    return json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}).encode()


class Kept:
    """A cluster's folder, in which pods end."""

    def __init__(self, path: Path, **limits: int) -> None:
        self.folder, self.limits = ClusterFolder(path), EndedPodLimits(**limits)
        self.agent = EndedPods(self.folder, self.limits)

    def restart(self) -> None:
        self.agent = EndedPods(self.folder, self.limits)

    def end(self, uid: str, text: str = "bye", said: bytes = b"") -> None:
        """A pod of `train` that printed this is deleted."""
        pod = pod_folder(self.folder.pods, uid)
        log = pod.attempt("main", 0).log
        log.parent.mkdir(parents=True)
        log.write_text(text)
        self.agent.note(uid, said or body(f"train-{uid}", uid, prefix="train-"))
        self.agent.keep(pod)

    def found(self) -> dict[str, EndedPod]:
        return {folder.path.name: ended for folder, ended in found_ended_pods(self.folder.ended_pods)}


def test_attempts_of_a_place_are_counted_and_the_newest_are_kept(tmp_path: Path) -> None:
    kept = Kept(tmp_path, attempts=2)
    for uid in ("a", "b", "c"):
        kept.end(uid)
    found = kept.found()
    assert {uid: (ended.job, ended.attempt) for uid, ended in found.items()} == {
        "b": ("Job/default/train", 2),
        "c": ("Job/default/train", 3),
    }
    assert pod_folder(kept.folder.ended_pods, "c").attempt("main", 0).log.read_text() == "bye"


def test_the_count_goes_on_after_a_restart_of_the_agent(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    kept.end("a")
    kept.restart()
    kept.end("b")
    assert kept.found()["b"].attempt == 2


def test_a_job_that_is_made_again_counts_anew(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    kept.end("a")
    kept.end("b", said=body("train-b", "b", job_uid="another", prefix="train-"))
    assert kept.found()["b"].attempt == 1


@pytest.mark.parametrize("limits", [{"pods": 2}, {"bytes": 25}])
def test_the_oldest_go_where_all_together_are_too_many_or_too_large(tmp_path: Path, limits: dict[str, int]) -> None:
    kept = Kept(tmp_path, **limits)
    for uid in ("a", "b", "c"):
        kept.end(uid, "x" * 10, body(f"train-{uid}", uid))
    assert set(kept.found()) == {"b", "c"}


def test_lone_pods_and_pods_whose_deletion_was_not_seen_leave_nothing(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    kept.end("a", said=b'{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"containers":[]}}')
    kept.end("b", said=b"no pod")
    pod = pod_folder(kept.folder.pods, "c")
    pod.attempt("main", 0).path.mkdir(parents=True)
    kept.agent.keep(pod)
    assert kept.found() == {}


def test_without_attempts_nothing_is_kept(tmp_path: Path) -> None:
    kept = Kept(tmp_path, attempts=0)
    kept.end("a")
    assert kept.found() == {}
