"""The flags about code and data into the volumes of a pod, where its container mounts them, and who fills them."""

from pathlib import PurePosixPath

import msgspec

from understudy.cli.complaint import BadInput
from understudy.cli.submit import code, configfiles
from understudy.cli.submit.values import Mounted
from understudy.cli.submit.wish import Document, Wish

LOGS = "training-logs"
LOGS_ON_NODE = "/tmp/understudy-logs"


class Storage(msgspec.Struct, frozen=True):
    volumes: tuple[Document, ...] = ()
    mounts: tuple[Document, ...] = ()


def storage(wish: Wish) -> Storage:
    """Everything the container of a job mounts. Two things in one place are an error."""
    volumes, mounts = configfiles.mounts(wish)
    for one in (data(wish), logs(wish)):
        volumes += one.volumes
        mounts += one.mounts
    if wish.sync_mode:
        volumes.append({"name": code.VOLUME, "emptyDir": {}})
        mounts.append(code.mounted(wish))
    if wish.share_memory:
        volumes.append({"name": "dshm", "emptyDir": {"medium": "Memory", "sizeLimit": wish.share_memory}})
        mounts.append({"name": "dshm", "mountPath": "/dev/shm"})
    _check_places(mounts)
    return Storage(tuple(volumes), tuple(mounts))


def data(wish: Wish) -> Storage:
    """--data and --data-dir. A claim that is mounted twice is one volume."""
    claims = {mounted.source: f"data-{number}" for number, mounted in enumerate(reversed(wish.data))}
    volumes = [{"name": v, "persistentVolumeClaim": {"claimName": c}} for c, v in sorted(claims.items())]
    mounts = [{"name": claims[mounted.source], "mountPath": mounted.path} for mounted in wish.data]
    for number, folder in enumerate(wish.data_dir):
        volumes.append({"name": f"training-data-{number}", "hostPath": {"path": folder.source}})
        mounts.append({"name": f"training-data-{number}", "mountPath": folder.path})
    return Storage(tuple(volumes), tuple(mounts))


def logs(wish: Wish) -> Storage:
    """Where TensorBoard and the job meet, unless --logdir lies in data they share anyway: a folder of the node."""
    if not wish.tensorboard or any(_within(wish.logdir, mounted) for mounted in (*wish.data, *wish.data_dir)):
        return Storage()
    path = {"path": f"{LOGS_ON_NODE}/{wish.name}", "type": "DirectoryOrCreate"}
    return Storage(({"name": LOGS, "hostPath": path},), ({"name": LOGS, "mountPath": wish.logdir},))


def _within(path: str, mounted: Mounted) -> bool:
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
