"""A request for a job of any kind: the flags that all kinds share, as one value."""

import argparse
from collections.abc import Mapping
from typing import Any

import msgspec

from understudy.cli.submit.flag_values import Mount, Pair

Document = dict[str, Any]


class JobRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A job as the flags describe it. Every field is named after its flag."""

    name: str
    command: str  # one line for the shell
    image: str | None = None
    gpus: int = 0
    workers: int = 1
    cpu: str | None = None
    memory: str | None = None
    device: tuple[Pair, ...] = ()
    rdma: bool = False
    priority: str | None = None
    on_preemption: str | None = None
    warm: int = 0
    gang: bool = False
    queue: bool = False
    exclusive: str | None = None
    scheduler: str | None = None
    selector: tuple[Pair, ...] = ()
    toleration: tuple[Document, ...] = ()
    env: tuple[Pair, ...] = ()
    label: tuple[Pair, ...] = ()
    annotation: tuple[Pair, ...] = ()
    data: tuple[Mount, ...] = ()
    data_dir: tuple[Mount, ...] = ()
    config_file: tuple[Mount, ...] = ()
    share_memory: str | None = None
    sync_mode: str | None = None
    sync_source: str | None = None
    sync_image: str | None = None
    working_dir: str = "/root"
    shell: str = "sh"
    image_pull_policy: str = "Always"
    image_pull_secret: tuple[str, ...] = ()
    host_network: bool = False
    host_ipc: bool = False
    host_pid: bool = False
    retry: int = 0
    running_timeout: int | None = None
    ttl_after_finished: int | None = None
    clean_task_policy: str | None = None
    tensorboard: bool = False
    tensorboard_image: str = ""
    logdir: str = "/training_logs"
    more: Mapping[str, Any] = {}  # the flags that only this kind has, by name

    @staticmethod
    def of(options: argparse.Namespace, command: str) -> "JobRequest":
        given = {name: _frozen(value) for name, value in vars(options).items()}
        known = {name: given[name] for name in JobRequest.__struct_fields__ if name in given and name != "command"}
        return JobRequest(command=command, more=given, **known)


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
