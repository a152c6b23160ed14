"""Flags into a JobSet."""

from tests.cli.shell import Shell
from tests.cli.submit.making import job


def test_slices_of_workers(shell: Shell) -> None:
    document = job(shell, "jobset", "--slices=3", "--workers=2", "--device=google.com/tpu=4", "--retry=100")
    [replicated] = document["spec"]["replicatedJobs"]
    child = replicated["template"]["spec"]
    assert (replicated["replicas"], child["parallelism"], child["completions"]) == (3, 2, 2)
    assert (child["completionMode"], child["backoffLimit"]) == ("Indexed", 0)
    assert document["spec"]["failurePolicy"] == {"maxRestarts": 100}
    [container] = child["template"]["spec"]["containers"]
    assert container["resources"]["limits"] == {"google.com/tpu": "4"}


def test_a_slice_of_its_own_for_each_child(shell: Shell) -> None:
    notes = job(shell, "jobset", "--exclusive=cloud.google.com/gke-nodepool")["metadata"]["annotations"]
    assert notes == {"alpha.jobset.sigs.k8s.io/exclusive-topology": "cloud.google.com/gke-nodepool"}


def test_it_goes_after_its_end_and_its_children_do_not_before(shell: Shell) -> None:
    spec = job(shell, "jobset", "--ttl-after-finished=60", "--running-timeout=60")["spec"]
    child = spec["replicatedJobs"][0]["template"]["spec"]
    assert spec["ttlSecondsAfterFinished"] == 60
    assert "ttlSecondsAfterFinished" not in child
    assert child["activeDeadlineSeconds"] == 60
