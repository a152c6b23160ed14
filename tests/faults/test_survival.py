"""kill -9 of whatever a cluster consists of, while pods run: they do not notice, and all is as it should be after."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from tests.eventually import eventually
from tests.faults.live_cluster import CLUSTER, FOR_EVER, NAMESPACE, LiveCluster, container_of, living, phase_of
from tests.faults.server_process import ClusterProcesses, processes_of, running_cluster
from understudy.embedded.clusters.process_lock import AGENT, CONTROL, PARTS, SERVER, SUPERVISOR
from understudy.objects.resources import PODS
from understudy.ports import Ref

ROUNDS = ((SERVER,), (CONTROL,), (AGENT,), (SERVER, AGENT), PARTS, PARTS)  # killed together
LONG_LIVED = ("anna", "bert", "carl")


def play(scenario: Callable[[LiveCluster], Awaitable[None]]) -> None:
    """In a cluster of its own. When it has gone down nothing of it runs any more."""
    with running_cluster(CLUSTER) as cluster:

        async def steps() -> None:
            async with living(cluster) as life:
                await scenario(life)

        asyncio.run(steps())
        _check_nothing_is_left(cluster)


def _check_nothing_is_left(cluster: ClusterProcesses) -> None:
    cluster.understudy("down", "--now")
    eventually(lambda: not processes_of(cluster.home), lambda: f"still there: {processes_of(cluster.home)}")


async def _works(life: LiveCluster, name: str) -> None:
    """A new pod gets all the way through: stored, scheduled, run, reported."""
    await life.create(name, "exit 0")
    await life.wait_for_phase("Succeeded", name)
    assert len(life.starts(name)) == 1


def test_pods_run_on_and_the_parts_come_back() -> None:
    async def scenario(life: LiveCluster) -> None:
        for name in LONG_LIVED:
            await life.create(name, FOR_EVER)
        await life.wait_for_phase("Running", *LONG_LIVED)
        lives = [life.life(name) for name in LONG_LIVED]
        for number, parts in enumerate(ROUNDS):
            for part, holder in life.cluster.kill(parts).items():
                life.cluster.wait_for_part(part, other_than=holder)
            await _works(life, f"round-{number}")
        assert [life.life(name) for name in LONG_LIVED] == lives
        pods = await life.wait_for_phase("Running", *LONG_LIVED)
        assert [container_of(pods[name])["restartCount"] for name in LONG_LIVED] == [0, 0, 0]
        assert all(container_of(pods[name])["ready"] for name in LONG_LIVED)

    play(scenario)


def test_pods_that_end_while_the_agent_is_dead_are_reported_with_exit_code_and_log() -> None:
    async def scenario(life: LiveCluster) -> None:
        gate = life.until_the_gate_opens
        await life.create("fine", f"{gate}echo all went well")
        await life.create("failed", f"{gate}echo too bad >&2; exit 7")
        await life.create("killed", f"{gate}kill -9 $$")
        await life.create("again", f"{gate}[ $(wc -l < {life.marks / 'again'}) = 2 ]", restartPolicy="OnFailure")
        names = ("fine", "failed", "killed", "again")
        await life.wait_for_phase("Running", *names)
        with life.without(AGENT):
            lives = [life.life(name) for name in names]
            life.open_gate()
            await life.wait_until_over(*lives)
            assert {phase_of(await life.pod(name) or {}) for name in names} == {"Running"}
        pods = await life.wait_for(
            lambda pods: (
                [phase_of(pods.get(name, {})) for name in names] == ["Succeeded", "Failed", "Failed", "Succeeded"]
            )
        )
        codes = [container_of(pods[name])["state"]["terminated"]["exitCode"] for name in names]
        assert codes == [0, 7, 137, 0]
        assert container_of(pods["again"])["restartCount"] == 1
        assert [len(life.starts(name)) for name in names] == [1, 1, 1, 2]
        assert await _log(life, "fine") == b"all went well\n"
        assert await _log(life, "failed") == b"too bad\n"

    play(scenario)


async def _log(life: LiveCluster, name: str) -> bytes:
    return b"".join([piece async for piece in life.client.stream(PODS.path(NAMESPACE, name, "log"))])


def test_pods_created_while_no_scheduler_runs_start_when_one_does() -> None:
    async def scenario(life: LiveCluster) -> None:
        with life.without(CONTROL):
            for name in LONG_LIVED:
                await life.create(name, FOR_EVER)
            await _works_without_a_scheduler(life)
        await life.wait_for_phase("Running", *LONG_LIVED)
        assert [len(life.starts(name)) for name in LONG_LIVED] == [1, 1, 1]

    play(scenario)


async def _works_without_a_scheduler(life: LiveCluster) -> None:
    """A pod that names its node needs no scheduler: when it runs, the others have waited for a while."""
    nodes = life.cluster.folder.read_settings().nodes
    await life.create("placed", FOR_EVER, nodeName=nodes[0]["metadata"]["name"])
    pods = await life.wait_for_phase("Running", "placed")
    assert {phase_of(pods[name]) for name in LONG_LIVED} == {"Pending"}


def test_pods_deleted_while_the_agent_is_dead_are_ended() -> None:
    async def scenario(life: LiveCluster) -> None:
        marks = life.marks / "farewell"
        await life.create("asked", f"trap 'echo bye > {marks}; exit 0' TERM\n{FOR_EVER}")
        await life.create("forced", FOR_EVER)
        await life.create("deaf", f"trap '' TERM\n{FOR_EVER}", terminationGracePeriodSeconds=1)
        await life.create("kept", FOR_EVER)
        await life.wait_for_phase("Running", "asked", "forced", "deaf", "kept")
        leaving = [life.life(name) for name in ("asked", "forced", "deaf")]
        kept = life.life("kept")
        with life.without(AGENT):
            await life.client.delete(Ref(PODS, NAMESPACE, "asked"))
            await life.client.delete(Ref(PODS, NAMESPACE, "deaf"))
            await life.client.delete(Ref(PODS, NAMESPACE, "forced"), grace=0)
            assert await life.pod("forced") is None
            assert "deletionTimestamp" in (await life.pod("asked") or {})["metadata"]
            assert all(one.goes_on() for one in leaving)
        await life.wait_for(lambda pods: set(pods) == {"kept"})
        await life.wait_until_over(*leaving)
        assert marks.read_text() == "bye\n"
        assert life.life("kept") == kept

    play(scenario)


@pytest.mark.parametrize("killed", [(SUPERVISOR,), (SUPERVISOR, *PARTS)], ids=["supervisor", "everything"])
def test_a_cluster_that_lost_its_supervisor_is_taken_over_with_its_pods(killed: tuple[str, ...]) -> None:
    async def scenario(life: LiveCluster) -> None:
        await life.create("anna", FOR_EVER)
        await life.create("bert", f"{life.until_the_gate_opens}exit 5")
        await life.wait_for_phase("Running", "anna", "bert")
        anna, bert = life.life("anna"), life.life("bert")
        life.cluster.kill(killed)
        for part in killed:
            life.cluster.wait_until_gone(part)
        life.open_gate()
        await life.wait_until_over(bert)
        told = await asyncio.to_thread(life.cluster.understudy, "up", "--detach")
        assert "is up after" in told
        pods = await life.wait_for_phase("Failed", "bert")
        assert container_of(pods["bert"])["state"]["terminated"]["exitCode"] == 5
        await _works(life, "carl")
        assert life.life("anna") == anna
        assert phase_of(await life.pod("anna") or {}) == "Running"

    play(scenario)
