"""Code, data and files of a job into volumes, mounts and ConfigMaps, and the container that fetches its code."""

import base64
import hashlib
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

import msgspec

from understudy.cli.errors import BadInput
from understudy.cli.submit.flag_values import Mount
from understudy.cli.submit.request import Document, JobRequest

CODE_VOLUME = "code-sync"
CODE_PLACE = "/code"  # where the volume is while it is filled
CODE_IMAGES = {"git": "docker.io/alpine/git:2.45.2", "rsync": "docker.io/instrumentisto/rsync-ssh:alpine3.20"}


# A second try finds what the first one left behind. The password is asked for only by servers that want one.
_CLONE = """\
set -e
place="${GIT_SYNC_ROOT:?}/${GIT_SYNC_DEST:?}"
rm -rf "$place"
exec git \
${GIT_SYNC_PASSWORD:+-c 'credential.helper=!f() { \
echo "username=$GIT_SYNC_USERNAME"; echo "password=$GIT_SYNC_PASSWORD"; }; f'} \
clone ${GIT_SYNC_BRANCH:+--branch "$GIT_SYNC_BRANCH"} -- "$GIT_SYNC_REPO" "$place"
"""


def check_code(request: JobRequest) -> None:
    if request.sync_mode and not request.sync_source:
        raise BadInput(f"--sync-mode {request.sync_mode}: says how, not from where; add --sync-source")
    if request.sync_source and not request.sync_mode:
        raise BadInput(f"--sync-source {request.sync_source}: says where, not how; add --sync-mode git or rsync")
    if request.sync_mode == "git" and not project_name(request.sync_source or ""):
        raise BadInput(f"--sync-source {request.sync_source}: has no name of a repository in it")


def project_name(source: str) -> str:
    """`https://example.com/team/mnist.git` and `git@example.com:mnist.git` are `mnist`."""
    last = source.rstrip("/").rpartition("/")[2].rpartition(":")[2]
    name = last.removesuffix(".git")
    return "" if name in (".", "..") else name


def fetch_container(request: JobRequest, env: list[Document]) -> Document:
    """The container. `env` is what the command itself will have: credentials and branches come that way."""
    assert request.sync_mode
    assert request.sync_source
    git = request.sync_mode == "git"
    return {
        "name": "init-code",
        "image": request.sync_image or CODE_IMAGES[request.sync_mode],
        "imagePullPolicy": request.image_pull_policy,
        "command": ["sh", "-c", _CLONE] if git else ["rsync", "-avP", request.sync_source, CODE_PLACE],
        "env": [*env, *_git_sync_env(request.sync_source)] if git else env,
        "volumeMounts": [{"name": CODE_VOLUME, "mountPath": CODE_PLACE}],
    }


def _git_sync_env(source: str) -> list[Document]:
    variables = {
        "GIT_SYNC_REPO": source,
        "GIT_SYNC_DEST": project_name(source),
        "GIT_SYNC_ROOT": CODE_PLACE,
        "GIT_SYNC_ONE_TIME": "true",
        "GIT_TERMINAL_PROMPT": "0",  # no user can answer a prompt
    }
    return [{"name": name, "value": value} for name, value in variables.items()]


def code_mount(request: JobRequest) -> Document:
    """The mount of the code: /root/code/mnist, unless another working folder is asked for."""
    return {"name": CODE_VOLUME, "mountPath": str(PurePosixPath(request.working_dir) / "code")}


LARGEST = 1024 * 1024  # bytes in one ConfigMap
_DIGITS = 15


def config_mounts(request: JobRequest) -> tuple[list[Document], list[Document]]:
    """(volumes, mounts). Files are mounted one by one: what else is in their folder stays to be seen."""
    volumes, places = [], []
    for number, (folder, files) in enumerate(sorted(_by_folder(request).items())):
        volume = f"config-{number}"
        volumes.append({"name": volume, "configMap": {"name": _config_map_name(request, folder)}})
        for file in files:
            sub_path = PurePosixPath(file.path).name
            places.append({"name": volume, "mountPath": file.path, "subPath": sub_path, "readOnly": True})
    return volumes, places


def config_maps(request: JobRequest, labels: Mapping[str, str]) -> list[Document]:
    made = []
    for folder, files in sorted(_by_folder(request).items()):
        content = _content(files)
        metadata = {"name": _config_map_name(request, folder), "labels": dict(labels)}
        made.append({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, **content})
    return made


def _by_folder(request: JobRequest) -> dict[str, list[Mount]]:
    found: dict[str, list[Mount]] = {}
    for file in dict.fromkeys(request.config_file):
        found.setdefault(str(PurePosixPath(file.path).parent), []).append(file)
    return found


def _config_map_name(request: JobRequest, folder: str) -> str:
    digest = hashlib.md5(folder.encode(), usedforsecurity=False).hexdigest()
    return f"{request.name}-{digest[:_DIGITS]}"


def _content(files: list[Mount]) -> Document:
    text: dict[str, str] = {}
    binary: dict[str, str] = {}
    size = 0
    for file in files:
        name = PurePosixPath(file.path).name
        data = _read(file)
        size += len(data)
        if size > LARGEST:
            raise BadInput(f"--config-file {file.source}: more than 1 MiB for one folder; use --data instead")
        try:
            text[name] = data.decode()
        except UnicodeDecodeError:
            binary[name] = base64.b64encode(data).decode()
    return {key: value for key, value in (("data", text), ("binaryData", binary)) if value}


def _read(file: Mount) -> bytes:
    try:
        return Path(file.source).read_bytes()
    except OSError as error:
        raise BadInput(f"--config-file {file.source}: {(error.strerror or str(error)).lower()}") from None


LOGS = "training-logs"
LOGS_ON_NODE = "/tmp/understudy-logs"


class PodStorage(msgspec.Struct, frozen=True):
    volumes: tuple[Document, ...] = ()
    mounts: tuple[Document, ...] = ()


def pod_storage(request: JobRequest) -> PodStorage:
    """Everything the container of a job mounts. Two things in one place are an error."""
    volumes, mounts = config_mounts(request)
    for one in (data(request), logs(request)):
        volumes += one.volumes
        mounts += one.mounts
    if request.sync_mode:
        volumes.append({"name": CODE_VOLUME, "emptyDir": {}})
        mounts.append(code_mount(request))
    if request.share_memory:
        volumes.append({"name": "dshm", "emptyDir": {"medium": "Memory", "sizeLimit": request.share_memory}})
        mounts.append({"name": "dshm", "mountPath": "/dev/shm"})
    _check_places(mounts)
    return PodStorage(tuple(volumes), tuple(mounts))


def data(request: JobRequest) -> PodStorage:
    """--data and --data-dir. A claim that is mounted twice is one volume."""
    claims = {mounted.source: f"data-{number}" for number, mounted in enumerate(reversed(request.data))}
    volumes = [{"name": v, "persistentVolumeClaim": {"claimName": c}} for c, v in sorted(claims.items())]
    mounts = [{"name": claims[mounted.source], "mountPath": mounted.path} for mounted in request.data]
    for number, folder in enumerate(request.data_dir):
        volumes.append({"name": f"training-data-{number}", "hostPath": {"path": folder.source}})
        mounts.append({"name": f"training-data-{number}", "mountPath": folder.path})
    return PodStorage(tuple(volumes), tuple(mounts))


def logs(request: JobRequest) -> PodStorage:
    """The folder of the node the job and TensorBoard share; empty if --logdir lies in data they both mount."""
    if not request.tensorboard or any(
        _within(request.logdir, mounted) for mounted in (*request.data, *request.data_dir)
    ):
        return PodStorage()
    path = {"path": f"{LOGS_ON_NODE}/{request.name}", "type": "DirectoryOrCreate"}
    return PodStorage(({"name": LOGS, "hostPath": path},), ({"name": LOGS, "mountPath": request.logdir},))


def _within(path: str, mounted: Mount) -> bool:
    return PurePosixPath(path).is_relative_to(mounted.path)


def _check_places(mounts: list[Document]) -> None:
    seen: set[str] = set()
    for mount in mounts:
        path = str(PurePosixPath(mount["mountPath"]))
        if path in seen:
            raise BadInput(
                f"{path}: two things are to be mounted there; see --data, --data-dir, --config-file and --sync-mode"
            )
        seen.add(path)
