"""The hot-swap story goes as it should, with real processes and as a dry run; and nothing of it is left behind."""

import contextlib
import io
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tests.cli.shell import Shell
from understudy.cli.clusters.selection import choose_cluster, stop_local_cluster
from understudy.cli.demo import observer, run
from understudy.cli.demo.dry_run import DRY_RUN, print_dry_run
from understudy.embedded.cluster_folder import ClusterFolder
from understudy.model.incidents import Incident

ROOT = Path(__file__).resolve().parents[3]
SLICES = 5
PATIENCE = 240.0  # seconds; the story takes about 15 where nothing else runs
LOOK = 0.02
INCIDENTS = 5  # the two of the story, and after it one with an idle slice, one without, one with


def chapters(text: str) -> list[str]:
    """The text of each numbered step; the last one goes on to the end."""
    return re.split(r"^\d\. ", text, flags=re.MULTILINE)[1:]


def slices(chapter: str) -> list[dict[str, list[str]]]:
    """The pictures of a chapter: who sits on which node of which slice."""
    rows = [line.split("|") for line in chapter.splitlines() if "|" in line]
    return [
        {name.strip(): [cell.strip() for cell in cells[:-1]] for name, *cells in rows[first : first + SLICES]}
        for first in range(0, len(rows), SLICES)
    ]


def owned(picture: dict[str, list[str]], gang: str) -> list[str]:
    """The slices a gang has to itself, whole."""
    return [name for name, cells in picture.items() if cells == [gang, gang]]


# With real processes


class Played(msgspec.Struct, frozen=True):
    code: int
    out: str
    err: str
    folder: Path  # where it was to make its temporary files


def environment(folder: Path) -> dict[str, str]:
    return {**os.environ, "TMPDIR": str(folder), "UNDERSTUDY_HOME": str(folder / "home")}


def command(folder: Path, *words: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-u", "-m", "understudy", "demo", *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(folder),
        cwd=ROOT,
        text=True,
    )


def traces(folder: Path) -> list[str]:
    """Processes that have anything to do with the folder, except this one."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (process / "cmdline").read_bytes(), (process / "environ").read_bytes()
            place = os.readlink(process / "cwd").encode()
            if int(process.name) != os.getpid() and any(str(folder).encode() in text for text in (*words, place)):
                found.append(words[0].replace(b"\0", b" ").decode(errors="replace"))
    return found


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Played:
    folder = tmp_path_factory.mktemp("demo")
    process = command(folder, "hotswap", "--incidents", str(INCIDENTS))
    out, err = process.communicate(timeout=PATIENCE)
    return Played(process.returncode, out, err, folder)


def table(out: str) -> dict[str, list[str]]:
    """The rows of the table of incidents, by what stands first: a node, or `median` and `p99`."""
    rows = re.findall(r"^(?:node (\S+) lost: .*?|(median|p99))((?:  +(?:[\d.]+s|-)){6})$", out, re.MULTILINE)
    return {node or which: cells.split() for node, which, cells in rows}


def test_the_story_comes_about(played: Played) -> None:
    assert (played.code, played.err) == (0, "")
    modest, hero, swapped, taken, back, *_ = chapters(played.out)
    assert modest.startswith("low-priority wants a slice\n")

    first = slices(hero)[-1]
    assert len(owned(first, "high-priority")) == 3
    (lent,) = owned(first, "low-priority")
    (idle,) = [name for name, cells in first.items() if cells == ["", ""]]

    (victim,) = re.findall(r"^(\S+) dies under high-priority; (?:\S+) is idle", swapped)
    repaired = slices(swapped)[-1]
    assert f"{victim} is lost: not ready: AgentGone" in swapped
    assert repaired[victim.rpartition("-")[0]].count("DEAD") == 1
    assert idle in owned(repaired, "high-priority")
    assert owned(repaired, "low-priority") == [lent]

    last = slices(taken)[-1]
    assert "Preempted, preempt JobSet/default/low-priority (2 pods) for" in taken
    assert len(owned(last, "high-priority")) == 3
    assert lent in owned(last, "high-priority")
    assert owned(last, "low-priority") == []

    final = slices(back)[-1]
    assert back.startswith(f"{victim} comes back")
    assert owned(final, "low-priority") == [victim.rpartition("-")[0]]
    assert owned(final, "high-priority") == owned(last, "high-priority")


def test_a_job_that_makes_room_saves_and_goes_on_from_there(played: Played) -> None:
    _, _, _, taken, back, *_ = chapters(played.out)
    saved = re.findall(r"(low-priority-job-0-\d) says: told to stop: saved at step (\d+)", taken)
    resumed = re.findall(r"(low-priority-job-0-\d) says: goes on from step (\d+)", back)
    assert sorted(resumed) == sorted(saved)
    assert [name for name, _ in sorted(saved)] == ["low-priority-job-0-0", "low-priority-job-0-1"]
    assert all(int(step) > 0 for _, step in saved)


def test_every_chapter_says_how_many_processes_it_took(played: Played) -> None:
    modest, hero, swapped, taken, back, *_ = chapters(played.out)
    assert "all of low-priority runs: 2 processes started\n" in modest
    assert "all of high-priority runs: 6 processes started\n" in hero
    assert "all of high-priority runs: 2 processes started, 4 stayed\n" in swapped
    assert "all of high-priority runs: 2 processes started, 4 stayed, 2 were preempted\n" in taken
    assert "all of low-priority runs: 2 processes started\n" in back


def test_more_incidents_are_played_by_turns_with_and_without_an_idle_slice(played: Played) -> None:
    *_, more = chapters(played.out)
    assert more.startswith("3 more incidents\n")
    assert re.findall(r"(\d) of 3: \S+ died(.*?); all ran again after", more) == [
        ("1", ""), ("2", " and low-priority made room"), ("3", ""),
    ]  # fmt: skip


def test_it_ends_with_the_incidents_on_record_their_median_and_p99(played: Played) -> None:
    head = "CAUSE +DETECTED +DECIDED +VICTIMS OUT +SEATED +RUNNING +TOTAL\n"
    _, told = re.split(head, played.out)
    assert len(re.findall(r"^node \S+ lost: not ready: AgentGone ", told, re.MULTILINE)) == INCIDENTS
    rows = re.findall(r"AgentGone +\S+ +\S+ +(\S+) ", told)
    assert [victims == "-" for victims in rows] == [True, False, True, False, True]
    for which in ("median", "p99"):
        detected, decided, out, seated, running, total = (float(cell[:-1]) for cell in table(told)[which])
        assert 0 <= detected <= decided <= seated <= running == total < PATIENCE
        assert 0 < out < PATIENCE
    assert re.search(r"Stock Kubernetes takes about 350 s .*\n.*: [\d,]+ times as long\.", told)


def test_nothing_is_left_behind(played: Played) -> None:
    assert traces(played.folder) == []
    assert list(played.folder.iterdir()) == []


def test_an_interrupted_story_is_put_away_as_well(tmp_path: Path) -> None:
    process = command(tmp_path)
    assert process.stdout is not None
    with process:
        for line in process.stdout:
            if "comes back, and low-priority with it" in line:  # both nodes have died, and all guards were on
                break
        process.send_signal(signal.SIGTERM)
        rest = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert "Traceback" not in "".join(rest)
    assert traces(tmp_path) == []
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where the temporary files of this process go, for one test."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    yield folder
    deadline = time.monotonic() + PATIENCE
    while traces(folder) and time.monotonic() < deadline:
        time.sleep(LOOK)  # the last of them has said goodbye, and is on its way
    assert traces(folder) == []


def test_a_story_that_does_not_come_about_says_so_and_keeps_the_logs(
    shell: Shell, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(observer, "LIMIT", 0.0)
    code, _, err = shell.run("demo")
    assert code == 1
    why, where = err.splitlines()
    assert why.startswith(
        "understudy: the story did not come about: all of JobSet/default/low-priority runs: not within"
    )
    (home,) = temporary.iterdir()
    logs = home / "clusters" / "demo" / "logs"
    assert where == f"The logs of the cluster's parts are in {logs}"
    assert {"server.log", "control.log", "agent.log"} <= {file.name for file in logs.iterdir()}
    assert list(logs.parent.iterdir()) == [logs]


def test_a_cluster_that_is_to_be_kept_goes_on(shell: Shell, temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def run_scenario(_folder: ClusterFolder, _out: io.TextIOBase, _incidents: int) -> list[Incident]:
        return []

    monkeypatch.setattr(run, "run_scenario", run_scenario)
    code, out, err = shell.run("demo", "--keep")
    (home,) = temporary.iterdir()
    try:
        assert (code, err) == (0, "")
        assert f"export UNDERSTUDY_HOME={home}" in out
        assert f"export KUBECONFIG={home}/clusters/demo/kubeconfig" in out
        assert "There is no cluster" in shell.run("status")[1]  # among the user's own
        monkeypatch.setenv("UNDERSTUDY_HOME", str(home))
        assert "demo: up\n" in shell.run("status")[1]
    finally:
        monkeypatch.setenv("UNDERSTUDY_HOME", str(home))
        assert stop_local_cluster(choose_cluster("demo"), at_once=True)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--incidents", "1"), "--incidents: 1 is too few; the story has 2"),
        (
            ("--incidents", "9", "--dry-run"),
            "--incidents: a dry run has no incidents to time; leave out one of the two",
        ),
        (("--incidents", "few"), "argument --incidents: invalid int value: 'few'"),
        (("hamlet",), "argument STORY: invalid choice: 'hamlet'; there are: hotswap"),
    ],
)
def test_what_cannot_be_played_is_refused(shell: Shell, words: tuple[str, ...], complaint: str) -> None:
    code, out, err = shell.run("demo", *words)
    assert (code, out) == (2, "")
    assert complaint in err


# As a dry run


def told() -> str:
    out = io.StringIO()
    print_dry_run(out)
    return out.getvalue()


def test_a_dry_run_says_first_and_last_that_it_is_one(shell: Shell) -> None:
    code, out, err = shell.run("demo", "hotswap", "--dry-run")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert (lines[0], lines[-1]) == (DRY_RUN, DRY_RUN)


def test_the_story_as_it_is_planned() -> None:
    submitted, swapped, taken, back = chapters(told())

    first = slices(submitted)[-1]
    assert len(owned(first, "high-priority")) == 3
    assert len(owned(first, "low-priority")) == 1

    assert "swap JobSet/default/high-priority" in swapped
    broken, repaired = slices(swapped)
    assert sum(cells.count("DEAD") for cells in broken.values()) == 1
    assert len(owned(repaired, "high-priority")) == 3
    assert owned(repaired, "low-priority") == owned(first, "low-priority")

    assert "preempt JobSet/default/low-priority (2 pods) for JobSet/default/high-priority" in taken
    assert "JobSet/default/low-priority waits: " in taken
    last = slices(taken)[-1]
    assert len(owned(last, "high-priority")) == 3
    assert owned(first, "low-priority")[0] in owned(last, "high-priority")
    assert owned(last, "low-priority") == []

    final = slices(back)[-1]
    assert len(owned(final, "high-priority")) == 3
    assert len(owned(final, "low-priority")) == 1


def test_every_plan_of_a_dry_run_is_timed() -> None:
    assert len(re.findall(r"planned in \d+\.\d\d ms:$", told(), re.MULTILINE)) == 5
