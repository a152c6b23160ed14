"""The pods of an MPIJob: what a worker does, what a launcher knows."""

from typing import Any

import pytest

from tests.kinds.children.mpijob.documents import OPERATED, VERSIONS, mpijob, template
from tests.objects.documents import Document
from understudy.kinds.children.mpijob.config import config_map, service
from understudy.kinds.children.mpijob.pods import launcher_job, launcher_pod, worker
from understudy.kinds.children.mpijob.spec import read
from understudy.objects.mpi import LOST_WORKER

SLEEPS = ["sleep", "365d"]


def launcher(document: Document) -> Document:
    job = read(document)
    if job.has_launcher_job:
        found: Document = launcher_job(job).document["spec"]["template"]["spec"]
        return found
    pod: Document = launcher_pod(job).document["spec"]
    return pod


def variables(spec: Document) -> dict[str, str]:
    return {one["name"]: one["value"] for one in spec["containers"][0].get("env", ())}


def runs(spec: Document) -> list[str]:
    first = spec["containers"][0]
    return [*first.get("command", ()), *first.get("args", ())]


def with_worker(version: str, **container: Any) -> Document:
    document = mpijob(version)
    document["spec"]["mpiReplicaSpecs"]["Worker"]["template"] = template(**container)
    return document


def test_a_worker_of_the_first_version_waits_whatever_the_template_says() -> None:
    assert runs(worker(read(mpijob("v1alpha1")), 0).document["spec"]) == SLEEPS


@pytest.mark.parametrize("version", OPERATED)
@pytest.mark.parametrize(
    ("container", "runs_then"),
    [
        ({}, SLEEPS),
        ({"command": ["serve", "it"]}, ["serve", "it"]),
        ({"args": ["it"]}, ["it"]),
        ({"command": ["/usr/sbin/sshd"], "args": ["-De"]}, SLEEPS),
    ],
)
def test_what_a_worker_does(version: str, container: Document, runs_then: list[str]) -> None:
    assert runs(worker(read(with_worker(version, **container)), 0).document["spec"]) == runs_then


@pytest.mark.parametrize("version", VERSIONS)
def test_processes_end_before_their_worker_does(version: str) -> None:
    pod = worker(read(mpijob(version)), 0).document["spec"]
    assert pod["containers"][0]["lifecycle"]["preStop"] == {"exec": {"command": ["understudy-mpi-drain"]}}


def test_a_hook_of_its_own_is_kept() -> None:
    own = {"preStop": {"exec": {"command": ["save"]}}}
    pod = worker(read(with_worker("v1", lifecycle=own)), 0).document["spec"]
    assert pod["containers"][0]["lifecycle"] == own


@pytest.mark.parametrize(("version", "policy"), [("v1alpha1", "Always"), ("v1", "Never"), ("v2beta1", "Never")])
def test_restart_policies_of_workers(version: str, policy: str) -> None:
    assert worker(read(mpijob(version)), 0).document["spec"]["restartPolicy"] == policy


def test_exit_codes_are_judged_here() -> None:
    assert worker(read(mpijob("v1", restartPolicy="ExitCode")), 0).document["spec"]["restartPolicy"] == "Never"


@pytest.mark.parametrize(
    ("version", "hosts"),
    [
        ("v1alpha1", "train-worker-0 slots=4\ntrain-worker-1 slots=4\n"),
        ("v1", "train-worker-0 slots=4\ntrain-worker-1 slots=4\n"),
        ("v2beta1", "train-worker-0.train.default.svc slots=4\ntrain-worker-1.train.default.svc slots=4\n"),
    ],
)
def test_the_launcher_finds_its_hosts(version: str, hosts: str) -> None:
    document = mpijob(version, slotsPerWorker=4)
    made = config_map(read(document)).document
    assert made["metadata"]["name"] == "train-config"
    assert made["data"]["hostfile"] == hosts
    assert made["data"]["kubexec.sh"].startswith("#!/bin/sh\n")
    spec = launcher(document)
    [volume] = spec["volumes"]
    modes = {item["path"]: item["mode"] for item in volume["configMap"]["items"]}
    assert modes == {name: 0o444 if name == "hostfile" else 0o555 for name in made["data"]}
    assert spec["containers"][0]["volumeMounts"] == [{"name": volume["name"], "mountPath": "/etc/mpi"}]


@pytest.mark.parametrize("version", ["v1alpha1", "v1", "v2beta1"])
def test_open_mpis_daemons_find_the_shell_they_were_reached_by(version: str) -> None:
    spec = worker(read(mpijob(version)), 0).document["spec"]
    assert [mount["mountPath"] for mount in spec["containers"][0]["volumeMounts"]] == ["/etc/mpi"]


@pytest.mark.parametrize("implementation", ["Intel", "MPICH"])
def test_others_write_slots_in_another_way(implementation: str) -> None:
    job = read(mpijob("v2beta1", mpiImplementation=implementation))
    assert config_map(job).document["data"]["hostfile"].splitlines()[0] == "train-worker-0.train.default.svc:1"


OPEN_MPI = {
    "OMPI_MCA_plm_rsh_agent": "/etc/mpi/kubexec.sh",
    "OMPI_MCA_orte_default_hostfile": "/etc/mpi/hostfile",
    "OMPI_ALLOW_RUN_AS_ROOT": "1",  # it does not run without both in a cluster that root started
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
}


@pytest.mark.parametrize(
    ("version", "spec", "told"),
    [
        ("v1alpha1", {}, OPEN_MPI),
        ("v1", {}, {**OPEN_MPI, "NVIDIA_VISIBLE_DEVICES": "", "I_MPI_HYDRA_BOOTSTRAP_EXEC": "/etc/mpi/kubexec.sh"}),
        (
            "v2beta1",
            {"slotsPerWorker": 2},
            {
                **OPEN_MPI,
                "K_MPI_JOB_ROLE": "launcher",
                "OMPI_MCA_orte_keep_fqdn_hostnames": "true",
                "OMPI_MCA_orte_set_default_slots": "2",
                "OMPI_MCA_plm_rsh_args": "-o ConnectionAttempts=10",
            },
        ),
        (
            "v2beta1",
            {"mpiImplementation": "Intel", "slotsPerWorker": 2},
            {"I_MPI_HYDRA_HOST_FILE": "/etc/mpi/hostfile", "I_MPI_PERHOST": "2"},
        ),
        ("v2beta1", {"mpiImplementation": "MPICH"}, {"HYDRA_HOST_FILE": "/etc/mpi/hostfile"}),
    ],
)
def test_variables_of_the_launcher(version: str, spec: Document, told: dict[str, str]) -> None:
    assert variables(launcher(mpijob(version, **spec))).items() >= told.items()


def test_variables_of_the_template_are_kept() -> None:
    document = mpijob("v1alpha1")
    own = {"name": "OMPI_MCA_plm_rsh_agent", "value": "/usr/bin/ssh"}
    document["spec"]["template"] = template(env=[own])
    assert variables(launcher(document))["OMPI_MCA_plm_rsh_agent"] == "/usr/bin/ssh"


@pytest.mark.parametrize("version", ["v1alpha1", "v2beta1"])
def test_the_job_of_a_launcher_does_not_count_what_the_cluster_did(version: str) -> None:
    document = mpijob(version, backoffLimit=3, activeDeadlineSeconds=60)
    spec = launcher_job(read(document)).document["spec"]
    assert (spec["backoffLimit"], spec["activeDeadlineSeconds"], spec["podReplacementPolicy"]) == (3, 60, "Failed")
    conditions, codes = spec["podFailurePolicy"]["rules"]
    assert conditions["onPodConditions"] == [{"type": "DisruptionTarget", "status": "True"}]
    assert codes["onExitCodes"] == {"operator": "In", "values": [LOST_WORKER]}
    assert {conditions["action"], codes["action"]} == {"Ignore"}
    assert spec["template"]["spec"]["restartPolicy"] == "Never"


def test_names_of_the_third_version() -> None:
    job = read(mpijob("v2beta1"))
    pod = worker(job, 1).document["spec"]
    assert (pod["hostname"], pod["subdomain"]) == ("train-worker-1", "train")
    assert variables(pod) == {"K_MPI_JOB_ROLE": "worker"}
    made = service(job).document
    assert made["metadata"]["name"] == "train"
    labels = worker(job, 0).document["metadata"]["labels"]
    assert made["spec"]["selector"].items() <= labels.items()
    assert made["spec"]["clusterIP"] == "None"


def test_a_launcher_that_works_has_the_first_rank() -> None:
    job = read(mpijob("v2beta1", runLauncherAsWorker=True))
    assert config_map(job).document["data"]["hostfile"].splitlines()[0] == "train-launcher.train.default.svc slots=1"
    assert worker(job, 0).document["metadata"]["labels"]["training.kubeflow.org/replica-index"] == "1"
    spec = launcher_job(job).document["spec"]["template"]["spec"]
    assert spec["hostname"] == "train-launcher"
    assert "NVIDIA_VISIBLE_DEVICES" not in variables(spec)


@pytest.mark.parametrize("version", VERSIONS)
def test_owners(version: str) -> None:
    job = read(mpijob(version))
    made = worker(job, 0).document
    [owner] = made["metadata"]["ownerReferences"]
    assert (owner["apiVersion"], owner["kind"], owner["name"]) == (f"kubeflow.org/{version}", "MPIJob", "train")
