"""Logs and commands go through the kubelet of a node: where the cluster cannot reach it, that is what is wrong."""

import contextlib
from collections.abc import Iterator

from understudy.cli.jobs.instances import Instance
from understudy.ports import Refused

SERVER_ERROR = 500


@contextlib.contextmanager
def through_kubelet(instance: Instance) -> Iterator[None]:
    """What a server says that failed on the way is told with the way it went."""
    try:
        yield
    except Refused as error:
        if error.code < SERVER_ERROR:
            raise
        words = f"{instance.name}: the cluster cannot reach the kubelet of node {instance.node}: {error.message}"
        raise Refused(error.code, error.reason, words) from None
