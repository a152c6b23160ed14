"""The pods of an MPIJob: workers that wait to be entered, and a launcher that enters them, alone or in a Job."""

import posixpath
from collections.abc import Mapping

from understudy.kinds.children.actions import CreateChild, Document, EventNote
from understudy.kinds.children.mpijob.config import identity, with_config
from understudy.kinds.children.mpijob.spec import THIRD, MPIJobModel
from understudy.objects.mpi import CONFIG_FOLDER, DRAIN, HOST_FILE, LOST_WORKER
from understudy.objects.resources import JOBS, PODS

WAITING = {"command": ["sleep"], "args": ["365d"]}
POD_CREATED = EventNote("SuccessfulCreatePod", "Created pod: {name}")
JOB_CREATED = EventNote("SuccessfulCreateJob", "Created launcher job: {name}")
SHELL = f"{CONFIG_FOLDER}/kubexec.sh"
_DRAIN_HOOK = {"exec": {"command": [DRAIN]}}

_OPEN_MPI = {
    "OMPI_MCA_plm_rsh_agent": SHELL,
    "OMPI_MCA_orte_default_hostfile": HOST_FILE,
    "OMPI_MCA_orte_leave_session_attached": "1",  # daemons that leave their session would be taken for finished
    "OMPI_ALLOW_RUN_AS_ROOT": "1",  # as containers do
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    # the same for Open MPI 5, whose run time is another
    "PRTE_MCA_plm_ssh_agent": SHELL,
    "PRTE_MCA_prte_default_hostfile": HOST_FILE,
    "PRTE_MCA_prte_leave_session_attached": "1",
    # any port: one that is asked for is the pod's own, and its address is none that Open MPI would think of
    **{f"OMPI_MCA_btl_tcp_port_min_{family}": "0" for family in ("v4", "v6")},
    **{f"OMPI_MCA_btl_tcp_port_range_{family}": "1" for family in ("v4", "v6")},
}
_NO_ACCELERATORS = {"NVIDIA_VISIBLE_DEVICES": "", "NVIDIA_DRIVER_CAPABILITIES": ""}


def worker(job: MPIJobModel, index: int) -> CreateChild:
    assert job.worker is not None
    given: Document = job.worker["spec"]
    role = {"K_MPI_JOB_ROLE": "worker"} if job.version == THIRD else {}
    spec = _with_variables(
        {**given, "containers": _waiting(job, given), "restartPolicy": _pod_policy(job.worker_restarts)}, role
    )
    name = job.worker_name(index)
    whole = with_config(job, spec)  # Open MPI's daemons look for the shell they were reached by
    return _pod(job, name, job.worker, _named(job, name, whole), job.labels("worker", index))


def launcher_pod(job: MPIJobModel) -> CreateChild:
    """Made again under its name when it fails and may be tried again; so it is never restarted in place."""
    assert job.launcher is not None
    return _pod(job, job.launcher_name, job.launcher, _launcher_spec(job), job.labels("launcher"))


def launcher_job(job: MPIJobModel) -> CreateChild:
    """Every try has a pod and a log of its own. What is the cluster's fault costs no tries."""
    assert job.launcher is not None
    policy = job.policy
    limits = {
        "backoffLimit": policy.backoff_limit,
        "activeDeadlineSeconds": policy.active_deadline_seconds,
        "ttlSecondsAfterFinished": policy.ttl_seconds_after_finished if job.version == THIRD else None,
    }
    spec = {
        **{name: limit for name, limit in limits.items() if limit is not None},
        "podReplacementPolicy": "Failed",
        "podFailurePolicy": {
            "rules": [
                {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
                {"action": "Ignore", "onExitCodes": {"operator": "In", "values": [LOST_WORKER]}},
            ]
        },
        "template": {"metadata": _marked(job.launcher, job.labels("launcher")), "spec": _launcher_spec(job)},
    }
    about = {**identity(job, job.launcher_name), "labels": {"app": job.name, **job.labels("launcher")}}
    return CreateChild(JOBS, {"apiVersion": "batch/v1", "kind": "Job", "metadata": about, "spec": spec}, JOB_CREATED)


def _launcher_spec(job: MPIJobModel) -> Document:
    assert job.launcher is not None
    first, *others = job.launcher["spec"]["containers"]
    whole = {**job.launcher["spec"], "containers": [_drained(first), *others], "restartPolicy": "Never"}
    spec = _with_variables(whole, _launcher_variables(job))
    return _named(job, job.launcher_name, with_config(job, spec))


def _pod(job: MPIJobModel, name: str, template: Document, spec: Document, labels: Mapping[str, str]) -> CreateChild:
    metadata = {**identity(job, name), **_marked(template, labels)}
    return CreateChild(PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}, POD_CREATED)


def _marked(template: Document, labels: Mapping[str, str]) -> Document:
    given: Document = template.get("metadata") or {}
    marks: Document = {"labels": {**(given.get("labels") or {}), **labels}}
    return {**marks, "annotations": dict(given["annotations"])} if given.get("annotations") else marks


def _named(job: MPIJobModel, name: str, spec: Document) -> Document:
    return {**spec, "hostname": name, "subdomain": job.name} if job.version == THIRD else spec


def _waiting(job: MPIJobModel, spec: Document) -> list[Document]:
    """Processes come from outside, so that the first container has nothing to do but to be there. A command of its own
    is kept, but in the first version; a secure shell is not needed, and taken for none."""
    first, *others = spec["containers"]
    own = first.get("command") or first.get("args")
    server = posixpath.basename((first.get("command") or [""])[0]) == "sshd"
    waits = {} if own and not server and job.version != "v1alpha1" else WAITING
    return [_drained({**first, **waits}), *others]


def _drained(container: Document) -> Document:
    """mpirun, and what it started, are to end before their container does: a shell dies before those it waits for."""
    cycle = container.get("lifecycle") or {}
    return container if cycle.get("preStop") else {**container, "lifecycle": {**cycle, "preStop": _DRAIN_HOOK}}


def _pod_policy(policy: str) -> str:
    """Exit codes are judged by the controller, not where the pod runs."""
    return "Never" if policy == "ExitCode" else policy


def _launcher_variables(job: MPIJobModel) -> dict[str, str]:
    match job.version:
        case "v1alpha1":
            return dict(_OPEN_MPI)
        case "v1":
            hydra = {"I_MPI_HYDRA_BOOTSTRAP": "rsh", "I_MPI_HYDRA_BOOTSTRAP_EXEC": SHELL}
            return {**_OPEN_MPI, **hydra, "I_MPI_HYDRA_HOST_FILE": HOST_FILE, **_NO_ACCELERATORS}
    role = {"K_MPI_JOB_ROLE": "launcher"}
    return {**role, **_implementation(job), **({} if job.launcher_works else _NO_ACCELERATORS)}


def _implementation(job: MPIJobModel) -> dict[str, str]:
    slots = str(job.slots)
    match job.implementation:
        case "Intel":
            how = {"I_MPI_HYDRA_BOOTSTRAP": "rsh", "I_MPI_HYDRA_BOOTSTRAP_EXEC": SHELL}
            return {"I_MPI_HYDRA_HOST_FILE": HOST_FILE, "I_MPI_PERHOST": slots, **how}
        case "MPICH":
            return {"HYDRA_HOST_FILE": HOST_FILE, "HYDRA_LAUNCHER": "rsh", "HYDRA_LAUNCHER_EXEC": SHELL}
    return {
        "OMPI_MCA_orte_keep_fqdn_hostnames": "true",
        **_OPEN_MPI,
        "OMPI_MCA_plm_rsh_args": "-o ConnectionAttempts=10",
        "OMPI_MCA_orte_set_default_slots": slots,
    }


def _with_variables(spec: Document, variables: Mapping[str, str]) -> Document:
    """Variables that the template sets itself stay as they are."""
    first, *others = spec["containers"]
    own = first.get("env") or []
    names = {variable.get("name") for variable in own}
    added = [{"name": name, "value": value} for name, value in variables.items() if name not in names]
    return {**spec, "containers": [{**first, "env": [*own, *added]}, *others]} if added else spec
