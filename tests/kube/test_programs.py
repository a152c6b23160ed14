"""Installed programs are used, others are built once; if neither is possible, the message says what to do."""

import os
import threading
from pathlib import Path

import pytest

from tests.kube.cluster import programs
from tests.kube.cluster.releases import ALL, ETCD, JOBSET, SCHEDULER, required

GO = """\
#!/bin/sh
# Stands in for go: notes that it was called, takes its time, and writes what is asked for with -o.
echo "$@" >> "$GO_CALLS"
while [ "$1" != -o ]; do shift; done
printf '#!/bin/sh\\n' > "$2.part" && chmod +x "$2.part" && sleep 0.3 && mv "$2.part" "$2"
"""


@pytest.fixture(autouse=True)
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without the programs and without Go."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.delenv(programs.ASSETS, raising=False)
    (tmp_path / "bin").mkdir()
    return tmp_path


@pytest.fixture
def calls(bare: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Installs a fake Go; returns the file that records its calls."""
    monkeypatch.setenv("GO_CALLS", str(bare / "calls"))
    monkeypatch.setenv("PATH", f"{bare / 'bin'}{os.pathsep}/usr/bin{os.pathsep}/bin")
    executable(bare / "bin" / "go", GO)
    return bare / "calls"


def executable(path: Path, text: str = "") -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_releases_are_those_of_go_mod_or_their_own() -> None:
    assert ETCD.release == required()["go.etcd.io/etcd/server/v3"]
    assert SCHEDULER.release == required()["k8s.io/kubernetes"]
    assert JOBSET.release == JOBSET.version
    assert all(program.release.startswith("v") for program in ALL)


def test_installed_programs_are_used(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = executable(bare / "assets" / "etcd")
    monkeypatch.setenv(programs.ASSETS, str(theirs.parent))
    assert programs.have(ETCD) == theirs
    assert SCHEDULER in programs.missing()


def test_without_programs_and_go_one_is_told_how_to_come_by_them() -> None:
    assert not programs.at_hand()
    with pytest.raises(programs.NoPrograms, match=r"kube-scheduler is missing; .*install Go"):
        programs.have(SCHEDULER)


def test_what_is_missing_is_built_once_though_two_want_it(calls: Path) -> None:
    said: list[str] = []
    wanting = [threading.Thread(target=programs.have, args=(SCHEDULER, said.append)) for _ in range(2)]
    for thread in wanting:
        thread.start()
    for thread in wanting:
        thread.join()
    built = programs.find(SCHEDULER)
    assert built is not None
    assert built.is_relative_to(programs.cache())
    assert len(calls.read_text().splitlines()) == 1
    assert [line.split()[0] for line in said] == ["building", "built"]


def test_a_build_that_fails_leaves_nothing_that_looks_built(calls: Path, bare: Path) -> None:
    executable(bare / "bin" / "go", '#!/bin/sh\necho "$@" >> "$GO_CALLS"; echo "no such module" >&2; exit 1')
    with pytest.raises(programs.NoPrograms, match="no such module"):
        programs.have(ETCD)
    assert calls.exists()
    assert programs.find(ETCD) is None
