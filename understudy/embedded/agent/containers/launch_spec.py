"""Turns a container and the setup of its pod into the Launch that a shim carries out."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from understudy.embedded.agent.api.config_objects import ConfigData
from understudy.embedded.agent.api.downward_api import PodFacts
from understudy.embedded.agent.api.pod_types import Container
from understudy.embedded.agent.containers import device_manager
from understudy.embedded.agent.containers.control_groups import limits_of
from understudy.embedded.agent.containers.environment import environment, expand
from understudy.embedded.agent.containers.machine import Machine
from understudy.embedded.agent.containers.runtimes import ContainerRuntime, RuntimeRequest, remove_line, run_line
from understudy.embedded.agent.network.pod_dns import PodNames, with_address
from understudy.embedded.agent.python.layered_environment import PythonEnvironment
from understudy.embedded.agent.volumes.volume_projection import BadVolume
from understudy.embedded.agent.volumes.volumes import VolumeLocation, subfolder
from understudy.embedded.agent_protocol import MARK, MOUNTS
from understudy.embedded.shim import interposer
from understudy.embedded.shim.container_files import Launch, Mount
from understudy.embedded.shim.mounts import SERVICE_ACCOUNT
from understudy.embedded.shim.pod_folders import AttemptFolder, PodFolder
from understudy.train import job_environment


class NoCommand(Exception):
    """The container has neither command nor args. Images are not pulled, so the image's own are not known."""


class ContainerAttempt(msgspec.Struct, frozen=True):
    """One start of one container."""

    container: Container
    number: int
    delay: float
    folder: AttemptFolder


class PodSetup(msgspec.Struct, frozen=True, kw_only=True):
    """What a pod has once it is set up: volumes, devices, names, facts for the downward API."""

    folder: PodFolder
    facts: PodFacts
    places: Mapping[str, VolumeLocation]
    shares: device_manager.DeviceShares
    hosts: Path
    python: PythonEnvironment | None = None
    account: Path | None = None  # the folder with token, authority and namespace


def process_mark(uid: str, container: str, attempt: int) -> str:
    """The value of the variable that marks all processes of a container."""
    return f"{uid}/{container}/{attempt}"


def control_group_name(uid: str, container: str) -> str:
    return f"{uid}.{container}"


def runtime_container_name(uid: str, container: str, attempt: int) -> str:
    return f"understudy-{uid}-{container}-{attempt}"


def build_launch(machine: Machine, setup: PodSetup, attempt: ContainerAttempt, config_data: ConfigData) -> Launch:
    """Raises BadEnvironment, BadVolume, NoCommand. Limits are added by the caller, which makes the control groups."""
    values = environment(setup.facts, attempt.container, config_data, {**machine.api, **_training_variables(setup)})
    mounts = tuple(_mounts(setup, attempt, values))
    if machine.tool is not None:
        return _in_runtime(machine.tool, machine, setup, _Expanded(attempt, values, mounts))
    if not (attempt.container.command or attempt.container.args):
        raise NoCommand(
            f"image {attempt.container.image!r} is not pulled: containers run as processes of this machine, so the pod "
            "must say their command; or start the cluster with --runtime docker or --runtime podman"
        )
    return _as_process(machine, setup, _Expanded(attempt, values, mounts))


def _training_variables(setup: PodSetup) -> dict[str, str]:
    """The variables that `understudy.train` reads."""
    pod = setup.facts.pod
    values = {
        job_environment.POD: pod.metadata.name,
        job_environment.NAMESPACE: pod.metadata.namespace,
        job_environment.GRACE: str(pod.spec.termination_grace_period_seconds),
    }
    if setup.account is not None:
        values[job_environment.ACCOUNT] = SERVICE_ACCOUNT
    asked = job_environment.signal_named(pod.metadata.annotations.get(job_environment.SIGNAL_ANNOTATION, ""))
    return values if asked is None else values | {job_environment.SIGNAL: asked.name}


class _Expanded(msgspec.Struct, frozen=True):
    attempt: ContainerAttempt
    values: Mapping[str, str]
    mounts: tuple[Mount, ...]

    @property
    def command(self) -> tuple[str, ...]:
        return tuple(expand(word, self.values) for word in self.attempt.container.command)

    @property
    def args(self) -> tuple[str, ...]:
        return tuple(expand(word, self.values) for word in self.attempt.container.args)


def _as_process(machine: Machine, setup: PodSetup, filled: _Expanded) -> Launch:
    pod, attempt = setup.facts.pod, filled.attempt
    uid, name = pod.metadata.uid, attempt.container.name
    path = machine.env.get("PATH") or os.defpath
    given = {"PATH": path, **(setup.python.variables(path) if setup.python else {}), **filled.values}
    launch = Launch(
        argv=(*filled.command, *filled.args),
        env={
            **machine.env,
            "HOSTNAME": pod.hostname,
            job_environment.ANNOTATIONS: str(setup.folder.annotations),
            **given,
            "PATH": _with_programs(given["PATH"] or os.defpath, machine.programs),
            **device_manager.device_variables(setup.shares.get(name, {})),
            interposer.ADDRESS: setup.facts.address,
            MARK: process_mark(uid, name, attempt.number),
        },
        cwd=attempt.container.working_dir or str(setup.folder.root),
        root=str(setup.folder.root),
        private=str(setup.folder.private / name),
        isolated=machine.isolated,
        preload="" if pod.spec.host_network else machine.interposer,
        hostname=pod.hostname,
        mounts=filled.mounts,
        delay=attempt.delay,
        niceness=machine.niceness,
        image="" if attempt.container.command else attempt.container.image or "unknown",
    )
    return launch if machine.isolated else _relocated(launch, filled.values, pod.metadata.namespace, machine.directory)


def _with_programs(path: str, programs: str) -> str:
    return f"{path}{os.pathsep}{programs}" if programs else path


def _in_runtime(tool: ContainerRuntime, machine: Machine, setup: PodSetup, filled: _Expanded) -> Launch:
    pod, attempt = setup.facts.pod, filled.attempt
    container, share = attempt.container, setup.shares.get(attempt.container.name, {})
    name = runtime_container_name(pod.metadata.uid, container.name, attempt.number)
    wanted = RuntimeRequest(
        name=name,
        image=container.image,
        command=filled.command,
        args=filled.args,
        values={**filled.values, **device_manager.device_variables(share)},
        cwd=container.working_dir,
        hostname=pod.hostname,
        mounts=filled.mounts,
        limits=limits_of(container),
        devices=share,
    )
    argv, env = run_line(tool, wanted, machine.env)
    root = str(setup.folder.root)
    return Launch(
        argv=argv,
        env={**env, MARK: process_mark(pod.metadata.uid, container.name, attempt.number)},
        cwd=root,
        root=root,
        private=str(setup.folder.private / container.name),
        isolated=False,
        afterwards=remove_line(tool, name),
        delay=attempt.delay,
    )


def _mounts(setup: PodSetup, attempt: ContainerAttempt, values: Mapping[str, str]) -> Iterator[Mount]:
    yield Mount(str(setup.hosts), "/etc/hosts")
    if path := attempt.container.termination_message_path:
        yield Mount(str(attempt.folder.termination_message), _absolute(path))
    for mount in attempt.container.volume_mounts:
        place = setup.places.get(mount.name)
        if place is None:
            raise BadVolume(f"volume {mount.name!r} is mounted and not declared")
        sub_path = expand(mount.sub_path_expr, values) if mount.sub_path_expr else mount.sub_path
        yield Mount(
            str(subfolder(place, sub_path)),
            _absolute(mount.mount_path),
            read_only=mount.read_only or place.read_only,
            shared=place.shared,
        )
    if setup.account is not None and all(
        _absolute(mount.mount_path) != SERVICE_ACCOUNT for mount in attempt.container.volume_mounts
    ):
        yield Mount(str(setup.account), SERVICE_ACCOUNT, read_only=True, optional=True)


def _absolute(path: str) -> str:
    """A path within a container, read as a kubelet does: relative to the root, and never above it."""
    absolute = os.path.normpath("/" + path.lstrip("/"))
    if absolute == "/":
        raise BadVolume(f"mountPath {path!r} is the root of the container, which cannot be replaced")
    return absolute


def _relocated(launch: Launch, values: Mapping[str, str], namespace: str, directory: PodNames) -> Launch:
    """Without private mounts, paths in a volume become paths in its folder, and pod names become addresses."""
    moved = {mount.target: mount.source for mount in launch.mounts if mount.target != "/etc/hosts"}
    env = dict(launch.env)
    for name in values:
        env[name] = with_address(relocated(env[name], moved), namespace, directory)
    return msgspec.structs.replace(
        launch,
        argv=tuple(relocated(word, moved) for word in launch.argv),
        env=env | {MOUNTS: msgspec.json.encode(moved).decode()},
        cwd=relocated(launch.cwd, moved),
    )


def relocated(text: str, moved: Mapping[str, str]) -> str:
    inside = [target for target in moved if text == target or text.startswith(target + "/")]
    target = max(inside, key=len, default=None)
    return text if target is None else moved[target] + text[len(target) :]
