"""`understudy attach`: a shell, or a command, inside an instance of a job."""

import pytest

from tests.cli.commands import ended, started
from tests.embedded.cluster_monitor import ClusterMonitor
from tests.embedded.manifests import job
from tests.embedded.real_cluster import RealCluster, node
from tests.embedded.shared_cluster import SharedClusters
from understudy.cli.verbs.jobs.attach import ExecRequest, exit_code


def test_a_command_has_the_job_s_surroundings_and_its_own_stdin_output_and_exit_code(shared: SharedClusters) -> None:
    async def scenario(cluster: RealCluster) -> None:
        monitor = cluster.monitor
        await cluster.create(job("two", pods=2), job("waits", gpus=1))
        await monitor.until("it runs", lambda: _phases(monitor, "two") == ["Running", "Running"])
        script = "echo out $JOB_COMPLETION_INDEX; echo err >&2; cat; exit 3"
        talk = await ended(await started(cluster, "attach", "two", "-i", "1", "--", "sh", "-c", script), b"typed\n")
        assert talk == (3, "out 1\ntyped\n", "err\n")
        shell = await ended(await started(cluster, "attach", "two"), b"echo from a shell\nexit 4\n")
        assert shell == (4, "from a shell\n", "")
        missing = await ended(await started(cluster, "attach", "two", "--", "no-such-program"))
        assert missing.code != 0
        assert "no-such-program" in missing.err
        waits = await ended(await started(cluster, "attach", "waits"))
        assert waits.code == 1
        assert "does not run, it is PENDING" in waits.err

    shared.play([node("n-0")], scenario)


def _phases(monitor: ClusterMonitor, name: str) -> list[str]:
    return [one.get("status", {}).get("phase", "") for one in monitor.pods_of(name)]


@pytest.mark.parametrize(
    ("status", "code", "said"),
    [
        (b'{"status":"Success"}', 0, ""),
        (b'{"status":"Failure","details":{"causes":[{"reason":"ExitCode","message":"7"}]}}', 7, ""),
        (b'{"status":"Failure","message":"no such container"}', 1, "understudy: no such container\n"),
        (b'{"status":"Failure"}', 1, "understudy: the command could not be run\n"),
    ],
)
def test_the_error_channel_tells_how_a_command_ended(
    capsys: pytest.CaptureFixture[str], status: bytes, code: int, said: str
) -> None:
    assert exit_code(status) == code
    assert capsys.readouterr().err == said


def test_a_terminal_has_no_stderr_of_its_own() -> None:
    errand = ExecRequest("default", "train-0", "main", ("sh", "-c", "a b & c"))
    head = "/api/v1/namespaces/default/pods/train-0/exec?stdin=true&stdout=true"
    tail = "&container=main&command=sh&command=-c&command=a+b+%26+c"
    assert errand.path(terminal=True) == f"{head}&stderr=false&tty=true{tail}"
    assert errand.path(terminal=False) == f"{head}&stderr=true&tty=false{tail}"
