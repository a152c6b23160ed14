"""Faults of nodes: they die, hang, and come back. The cluster is not told of a fault; it is only asked for the repair.

A node's process is found by the file it has in the cluster's folder, and what runs on the node by descent from it.
"""

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec

from understudy.embedded.agent_protocol import FailNode, RecoverNode, ask_agent
from understudy.embedded.cluster_folder import ClusterFolder


class _Life(msgspec.Struct, frozen=True):
    pid: int


async def kill_nodes(folder: ClusterFolder, nodes: Sequence[str]) -> float:
    """The nodes and all processes of their pods, as if their power were cut. Returns the moment of the first blow."""
    return await _send_signal(folder, nodes, signal.SIGKILL, "kill")


async def freeze_nodes(folder: ClusterFolder, nodes: Sequence[str]) -> float:
    """The nodes and all processes of their pods stand still, and no connection is closed."""
    return await _send_signal(folder, nodes, signal.SIGSTOP, "freeze")


async def recover_nodes(folder: ClusterFolder, nodes: Sequence[str]) -> None:
    await asyncio.gather(*(ask_agent(folder.agent_socket, RecoverNode(node)) for node in nodes))


async def _send_signal(
    folder: ClusterFolder, nodes: Sequence[str], number: signal.Signals, how: Literal["kill", "freeze"]
) -> float:
    lives = [life for node in nodes if (life := _life(folder, node)) is not None]
    pids = families(lives)
    at = time.monotonic()
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
    if len(lives) < len(nodes):  # nodes that have no process of their own: the agent has to play dead for them
        await asyncio.gather(*(ask_agent(folder.agent_socket, FailNode(node, how)) for node in nodes))
    return at


def _life(folder: ClusterFolder, node: str) -> int | None:
    """The pid of the process with which the node lives and dies; None where the node is not there."""
    try:
        return msgspec.json.decode((folder.path / "nodes" / f"{node}.json").read_bytes(), type=_Life).pid
    except FileNotFoundError:
        return None


def families(heads: Sequence[int]) -> list[int]:
    """These processes and all their descendants, parents before children, so that no process can report a death."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with contextlib.suppress(OSError):
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                children.setdefault(parent, []).append(int(entry.name))
    found = list(heads)
    for pid in found:
        found += children.get(pid, [])
    return found
