"""Document 000, to the letter: two JobSets on slices, and what happens when nodes of the important one die."""

import asyncio
import contextlib
import re
from collections.abc import Callable
from pathlib import Path

from tests.embedded.agent.python.small_packages import wheel
from tests.embedded.cluster_monitor import ClusterMonitor, Document
from tests.embedded.end_to_end.test_jobs import domain, seated, shared_slices, uids
from tests.eventually import eventually
from tests.guides.terminal import Terminal, terminal
from tests.seeds import texts

LOOK = 0.05

# The containers install `jax[tpu]` first, hundreds of megabytes. A package of a few lines takes its place.
JAX = "def device_count():\n    return 1\n"
PIP = "[global]\nno-index = true\nretries = 0\ntimeout = 1\ndisable-pip-version-check = true\n"


def test_a_spare_steps_in_and_then_the_less_important_jobset_goes_whole(tmp_path: Path) -> None:
    written = [block for block in texts.blocks("000") if block.startswith("apiVersion:")]
    assert [document["kind"] for document in texts.manifests("000")] == ["PriorityClass"] * 2 + ["JobSet"] * 2

    async def scenario() -> None:
        async with terminal(tmp_path, [shared_slices]) as typing:
            wheel(tmp_path / "wheels", "jax", "1.0", extra="tpu", text=JAX)
            (tmp_path / "pip.conf").write_text(PIP)
            typing.environment |= {
                "PIP_CONFIG_FILE": str(tmp_path / "pip.conf"),
                "PIP_FIND_LINKS": str(tmp_path / "wheels"),
            }
            await typing.types("understudy up --detach -f examples/clusters/slices.yaml")
            for number, block in enumerate(written):
                (tmp_path / f"{number}.yaml").write_text(block)
                await typing.types(f"understudy apply -f {tmp_path}/{number}.yaml")
            assert typing.monitor is not None
            await _nodes_die(typing, typing.monitor)

    asyncio.run(scenario())


async def _nodes_die(typing: Terminal, monitor: ClusterMonitor) -> None:
    low = await monitor.until("low runs", lambda: _up(monitor, "low-priority", 2))
    high = await monitor.until("high runs", lambda: _up(monitor, "high-priority", 6))
    home, [loan] = _slices(monitor, high), _slices(monitor, low)
    await asyncio.to_thread(_all_sleep, low + high)
    assert len(home) == 3
    name = high[0]["metadata"]["name"]
    assert "Global device count: 1" in await typing.types(f"understudy logs high-priority --instance {name}")

    # There is a spare slice: it steps in, and the less important JobSet does not notice.
    dying = high[0]["spec"]["nodeName"]
    lost = domain(monitor, high[0])
    await typing.types(f"understudy node fail {dying}")
    swapped = _moved(monitor, away_from=lost)
    high = await monitor.until("the spare steps in", swapped)
    [spare] = _slices(monitor, high) - home
    assert spare != loan
    assert uids(monitor.pods_of("low-priority")) == uids(low)

    # There is none: the less important one makes room, whole.
    await typing.types(f"understudy node fail {next(iter(_nodes(monitor, high, spare)))}")
    high = await monitor.until("the slice of the other is taken", _moved(monitor, away_from=spare))
    assert loan in _slices(monitor, high)
    assert seated(monitor, "low-priority") == []

    # And comes back by itself.
    await typing.types(f"understudy node recover {dying}")
    back = await monitor.until("low runs again", lambda: _up(monitor, "low-priority", 2))
    assert _slices(monitor, back) == {lost}


def _moved(monitor: ClusterMonitor, away_from: str) -> Callable[[], list[Document]]:
    def seen() -> list[Document]:
        pods = _up(monitor, "high-priority", 6)
        return pods if pods and away_from not in _slices(monitor, pods) else []

    return seen


def _slices(monitor: ClusterMonitor, pods: list[Document]) -> set[str]:
    return {domain(monitor, pod) for pod in pods}


def _nodes(monitor: ClusterMonitor, pods: list[Document], slice_name: str) -> set[str]:
    return {pod["spec"]["nodeName"] for pod in pods if domain(monitor, pod) == slice_name}


def _up(monitor: ClusterMonitor, name: str, count: int) -> list[Document]:
    pods = monitor.pods_of(name)
    return pods if [pod.get("status", {}).get("phase") for pod in pods] == ["Running"] * count else []


def _all_sleep(pods: list[Document]) -> None:
    """The last line of every container's script."""
    wanted = uids(pods)
    eventually(_sleepers, f"all of {wanted} sleep", until=lambda asleep: asleep >= wanted)


def _sleepers() -> set[str]:
    """The pods of processes that run `sleep 60000`."""
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (process / "cmdline").read_bytes() == b"sleep\x0060000\0":
                mark = re.search(rb"UNDERSTUDY_CONTAINER=([^/]+)/", (process / "environ").read_bytes())
                found.add(mark[1].decode() if mark else "")
    return found
