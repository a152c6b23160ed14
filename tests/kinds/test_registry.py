"""The registry of job kinds: one value makes a kind known to every part of the product."""

import json
import subprocess
import sys

import pytest

from understudy.kinds.registry import JOB_RESOURCES, KINDS, is_ending
from understudy.objects.meta import Condition
from understudy.train.job_client import is_job


def test_one_value_makes_a_kind_known_everywhere() -> None:
    run = subprocess.run([sys.executable, "-m", "tests.kinds.made_up_kind"], capture_output=True, text=True, check=True)
    assert json.loads(run.stdout) == {
        "decoded": "MadeUpJob",
        "gang": ["MadeUpJob/default/c", 3],
        "followed": True,
        "seen by the loop": ["MadeUpJob/default/c"],
        "suspended by": {"spec": {"silent": True}},
        "lives in": "/apis/music.example.org/v1/namespaces/default/choirs/c",
        "ended": [False, True],
        "type": "MadeUpJob",
        "status": "SUCCEEDED",
        "pods listed by": ["music.example.org/choir=c"],
        "pods belong to": "MadeUpJob/default/c",
        "children": r"c-(singer)-\d+",
        "roles": [["singer", 3]],
        "operator": [["choirs"]],
    }


def test_names_on_the_command_line_mean_one_kind_each() -> None:
    names = [name for kind in KINDS.values() for name in kind.names]
    assert len(names) == len(set(names))
    assert all(kind.names[0] == kind.name.lower() for kind in KINDS.values())
    assert set(KINDS) == {resource.kind for resource in JOB_RESOURCES}


def test_a_checkpoint_is_reported_to_jobs_of_all_kinds_and_to_nothing_above_them() -> None:
    """Training code cannot ask the registry: it needs nothing but the standard library."""
    assert all(is_job(kind) for kind in KINDS)
    assert not any(is_job(kind) for kind in ("CronJob", "Workflow", "Experiment", "Trial", "ReplicaSet", "Pod"))


@pytest.mark.parametrize(
    ("condition", "ended", "ending"),
    [
        ("Complete", True, True),
        ("Failed", True, True),
        ("SuccessCriteriaMet", False, True),
        ("FailureTarget", False, True),
        ("Suspended", False, False),
        ("Succeeded", False, False),  # the word of other kinds
    ],
)
def test_an_announced_end_counts_for_decisions_and_not_for_the_record(
    condition: str, ended: bool, ending: bool
) -> None:
    """No more pods come, so the scheduler, suspend and warm understudies are done with the Job. Its own controller, its
    JobSet and the tables wait until all pods are counted."""
    ends = KINDS["Job"].ends
    said = (Condition(condition, "True"),)
    assert (ends.has_ended(said), ends.is_ending(said)) == (ended, ending)


def test_a_version_without_conditions_says_its_end_in_a_field() -> None:
    mpi = KINDS["MPIJob"]
    assert mpi.has_ended({"status": {"launcherStatus": "Failed"}})
    assert not mpi.has_ended({"status": {"launcherStatus": "Active"}})
    assert not mpi.has_ended({})
    assert not KINDS["TFJob"].has_ended({"status": {"launcherStatus": "Failed"}})


def test_every_way_to_ask_gives_the_same_answer() -> None:
    from tests.objects.documents import job
    from understudy.kinds.decoding import decode
    from understudy.objects.jobs import Workload

    document = job("j") | {"status": {"conditions": [{"type": "FailureTarget", "status": "True"}]}}
    typed = decode(document)
    assert isinstance(typed, Workload)
    assert is_ending(typed) is KINDS["Job"].is_ending(document) is True
