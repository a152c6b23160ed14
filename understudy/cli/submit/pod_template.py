"""The flags that all kinds share into a pod template, once for each role of a job."""

import re
import shlex
from collections.abc import Iterable, Mapping

import msgspec

from understudy.cli.submit.flag_values import GPU, Pair
from understudy.cli.submit.request import Document, JobRequest
from understudy.cli.submit.volumes import fetch_container, pod_storage
from understudy.kinds.annotations import PYTHON_ENV
from understudy.train.job_environment import SIGNAL_ANNOTATION

# Those that change the shell, and those that begin something longer than one command. Small ones have nothing to save.
_NOT_PROGRAMS = re.compile(
    r"[.:!{]|\[\[?|alias|builtin|case|cd|command|declare|echo|eval|exec|exit|export|false|for|function|if|let|local"
    r"|printf|read|return|set|shift|shopt|source|test|time|trap|true|type|ulimit|umask|unset|until|wait|while"
)
_PROGRAM = re.compile(r"[\w./~+-]+")  # neither an assignment, nor anything the shell would put something else for


def exec_command(command: str) -> str:
    return f"exec {command}" if _is_one_program(command) else command


def _is_one_program(command: str) -> bool:
    if "\n" in command.strip() or "`" in command:
        return False
    words = shlex.shlex(command, posix=True, punctuation_chars="();&|")
    words.commenters = ""
    try:
        found = list(words)
    except ValueError:  # a quote that is not closed: the shell will say so
        return False
    if not found or not _PROGRAM.fullmatch(found[0]) or _NOT_PROGRAMS.fullmatch(found[0]):
        return False
    return not any(set(word) <= set("();&|") for word in found if word)


NO_IMAGE = "this-machine"  # for clusters that pull none
MANAGED_BY = "app.kubernetes.io/managed-by"
OWN = "understudy.dev/"
_ABOUT_PODS = (PYTHON_ENV, SIGNAL_ANNOTATION)
GROUP = "pod-group.scheduling.sigs.k8s.io"
QUEUED = "scheduling.x-k8s.io/suspend"
EXCLUSIVE = f"{OWN}exclusive-topology"


class PodRole(msgspec.Struct, frozen=True, kw_only=True):
    """The values that differ between the roles of one job."""

    container: str
    image: str | None = None  # None: the job's
    gpus: int = 0
    requests: Mapping[str, str] = {}
    limits: Mapping[str, str] = {}
    selector: tuple[Pair, ...] = ()  # takes the place of the job's
    runs: bool = True  # the command; others do what their controller gives them to do
    port: tuple[str, int] | None = None


def worker(request: JobRequest, container: str) -> PodRole:
    """A role that gets all the flags ask for."""
    amounts = {name: amount for name, amount in (("cpu", request.cpu), ("memory", request.memory)) if amount}
    devices = dict(request.device) | ({"rdma/hca": "1"} if request.rdma else {})
    return PodRole(
        container=container, gpus=request.gpus, requests={**amounts, **devices}, limits={**amounts, **devices}
    )


def template(request: JobRequest, role: PodRole, labels: Mapping[str, str]) -> Document:
    metadata: Document = {"labels": dict(labels)}
    if notes := dict(on_pods(request.annotation)):
        metadata["annotations"] = notes
    return {"metadata": metadata, "spec": _spec(request, role)}


def on_pods(annotations: Iterable[Pair]) -> list[Pair]:
    """Those that stand on pods, too: of Understudy's own those that are about pods."""
    return [(key, value) for key, value in annotations if not key.startswith(OWN) or key in _ABOUT_PODS]


def labels_of(request: JobRequest, kind: str, members: int) -> dict[str, str]:
    """The labels of the job and its pods. Arena finds jobs by the first two."""
    labels = {"app": kind.lower(), "release": request.name, "createdBy": kind, MANAGED_BY: "understudy"}
    if request.gang:
        labels |= {f"{GROUP}/name": f"{kind.lower()}-{request.name}", f"{GROUP}/min-available": str(members)}
    return labels | dict(request.label)


def annotations_of(request: JobRequest, exclusive: str = EXCLUSIVE) -> dict[str, str]:
    """The job also gets the annotations that the scheduler reads."""
    notes = dict(request.annotation)
    if request.exclusive:
        notes[exclusive] = request.exclusive
    if request.on_preemption:
        notes[f"{OWN}on-preemption"] = request.on_preemption
    if request.warm:
        notes[f"{OWN}warm"] = str(request.warm)
    return notes | ({QUEUED: "true"} if request.queue else {})


def _spec(request: JobRequest, role: PodRole) -> Document:
    placed = pod_storage(request)
    env = _env(request, role)
    spec: Document = {
        "priorityClassName": request.priority,
        "schedulerName": request.scheduler,
        "nodeSelector": dict(role.selector or request.selector),
        "tolerations": list(request.toleration),
        "hostNetwork": request.host_network,
        "dnsPolicy": "ClusterFirstWithHostNet" if request.host_network else None,
        "hostIPC": request.host_ipc,
        "hostPID": request.host_pid,
        "imagePullSecrets": [{"name": name} for name in request.image_pull_secret],
        "initContainers": [fetch_container(request, env)] if request.sync_mode else [],
        "containers": [_container(request, role, env, placed.mounts)],
        "volumes": list(placed.volumes),
    }
    return {field: value for field, value in spec.items() if value}


def _container(request: JobRequest, role: PodRole, env: list[Document], mounts: Iterable[Document]) -> Document:
    gpus = {GPU: str(role.gpus)} if role.gpus else {}
    amounts = {"requests": {**role.requests, **gpus}, "limits": {**role.limits, **gpus}}
    container: Document = {
        "name": role.container,
        "image": role.image or request.image or NO_IMAGE,
        "imagePullPolicy": request.image_pull_policy,
        "workingDir": request.working_dir,
        "command": [request.shell, "-c", exec_command(request.command)] if role.runs else [],
        "ports": [{"name": role.port[0], "containerPort": role.port[1]}] if role.port else [],
        "resources": {name: given for name, given in amounts.items() if given},
        "securityContext": {"capabilities": {"add": ["IPC_LOCK"]}} if request.rdma else {},
        "env": env,
        "volumeMounts": list(mounts),
    }
    return {field: value for field, value in container.items() if value}


def _env(request: JobRequest, role: PodRole) -> list[Document]:
    """The variables of the container. A pod without GPUs must not see those of its node."""
    variables = {"workers": str(request.workers), "gpus": str(role.gpus)}
    if not role.gpus:
        variables["NVIDIA_VISIBLE_DEVICES"] = "void"
    return [{"name": name, "value": value} for name, value in (variables | dict(request.env)).items()]
