"""The modes that are compared: how a machine goes, whether that is announced, and when the cluster learns of it."""

from typing import Any

import msgspec

from bench.hotswap.bench_cluster import LOOP

STOCK_SECONDS = 350.0  # until stock Kubernetes deletes the pods of a machine that fell silent: 50 s and 300 s
SHORTEST_SECONDS = 3.0  # less would be closer together than the renewals of a lease
AGENT_LEASE = 1.0  # seconds between two renewals


class Mode(msgspec.Struct, frozen=True):
    name: str
    about: str
    noticed: bool  # whether a notice stands on the node before its machine goes
    silent: bool  # whether the machine falls silent, and only its lease shows that it is gone


_NOTICES = Mode("notices", "a notice stands on the node before its machine is taken away", noticed=True, silent=False)
_IGNORED = Mode(
    "ignored",
    "no notice: the machine is gone, its Node is deleted, and lost members are swapped",
    noticed=False,
    silent=False,
)
_RESTART = Mode(
    "restart",
    "no notice: the machine falls silent, and lost members are made again after as long as stock Kubernetes takes,"
    " sped up like the trace",
    noticed=False,
    silent=True,
)
MODES = {mode.name: mode for mode in (_NOTICES, _IGNORED, _RESTART)}


def detection_seconds(speed: float) -> float:
    """After which a silent machine is given up where lost jobs are restarted after the fact."""
    return max(SHORTEST_SECONDS, STOCK_SECONDS / speed)


def loop_of(mode: Mode, speed: float) -> dict[str, dict[str, Any]]:
    """The settings of the cluster's scheduling loop."""
    if not mode.silent:
        return LOOP
    renewals = detection_seconds(speed) / AGENT_LEASE
    return {**LOOP, "health": {"leaseSuspect": renewals - 0.5, "leaseLost": renewals}}
