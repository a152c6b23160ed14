"""The environment variables of a training process: its pod, rank, number of ranks, grace period and stop signal."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence

GRACE = "UNDERSTUDY_GRACE_SECONDS"  # between the signal and the end
SIGNAL = "UNDERSTUDY_STOP_SIGNAL"  # such as SIGUSR1, where it is not SIGTERM
POD = "UNDERSTUDY_POD"
NAMESPACE = "UNDERSTUDY_NAMESPACE"
ACCESS = "UNDERSTUDY_ACCESS"  # a kubeconfig as JSON, where pods have the rights of the cluster's administrator
ACCOUNT = "UNDERSTUDY_SERVICE_ACCOUNT"  # the folder of the service account, where it is not at its usual place
ANNOTATIONS = "UNDERSTUDY_ANNOTATIONS"  # a file with the annotations of the pod, as the downward API writes them
SIGNAL_ANNOTATION = "understudy.dev/checkpoint-signal"

DEFAULT_GRACE = 30.0  # that of Kubernetes
_RANKS = (
    "RANK", "PROCESS_ID", "JAX_PROCESS_ID", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID", "JOB_COMPLETION_INDEX",
)  # fmt: skip
_SIZES = (
    "WORLD_SIZE", "NUM_PROCESSES", "JAX_NUM_PROCESSES", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS",
)  # fmt: skip


def rank() -> int:
    """0 if no variable has the rank."""
    return _number(_RANKS, 0)


def size() -> int:
    """The number of ranks; 1 if no variable has it."""
    return _number(_SIZES, 1)


def _number(names: Sequence[str], otherwise: int) -> int:
    for name in names:
        text = os.environ.get(name, "")
        if text.isdecimal():
            return int(text)
    return otherwise


def grace() -> float:
    text = os.environ.get(GRACE, "")
    try:
        return max(float(text), 0.0) if text else DEFAULT_GRACE
    except ValueError:
        raise ValueError(f"{GRACE}={text!r} is not a number of seconds") from None


def stop_signals() -> list[signal.Signals]:
    """SIGTERM is always among them: nodes that shut down send it whatever signal the job asked for."""
    text = os.environ.get(SIGNAL, "")
    asked = signal_named(text) if text else signal.SIGTERM
    if asked is None:
        raise ValueError(f"{SIGNAL}={text!r} is not a signal that can be caught; write it like SIGUSR1")
    return list(dict.fromkeys([signal.SIGTERM, asked]))


def signal_named(text: str) -> signal.Signals | None:
    """`SIGUSR1` or `USR1`; None for what is no signal, or one that no program can catch."""
    name = text.strip().upper()
    found = signal.Signals.__members__.get(name if name.startswith("SIG") else f"SIG{name}")
    return None if found in (signal.SIGKILL, signal.SIGSTOP) else found
