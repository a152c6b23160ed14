"""The hold as a process: what it loads, what it does not load, and what it does on activation."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.eventually import eventually
from understudy.embedded.shim.container_files import Launch
from understudy.embedded.shim.container_process import HOLD_FOLDER
from understudy.embedded.shim.pod_folders import AttemptFolder
from understudy.embedded.warm_start.warm_launch import activate, warm_launch, write_activation

LIMIT = 60.0


class Held:
    """A command that holds, in its own folder."""

    def __init__(self, path: Path, *argv: str, imports: tuple[str, ...] = (), **env: str) -> None:
        self.path = path
        self.folder = AttemptFolder(path / "attempt")
        self.folder.path.mkdir()
        self.launch = Launch(
            argv=argv, env={"PATH": os.environ["PATH"], **env}, cwd=str(path), root="/", private="", isolated=False
        )
        launch = warm_launch(self.launch, self.folder, imports)
        with open(path / "out", "wb") as out:
            hold_folder = os.open(launch.hold_folder, os.O_RDONLY)
            env = {**launch.env, HOLD_FOLDER: str(hold_folder)}
            self.process = subprocess.Popen(
                launch.argv, env=env, cwd=path, stdin=subprocess.DEVNULL, stdout=out, stderr=out, pass_fds=[hold_folder]
            )
            os.close(hold_folder)

    def holds(self) -> "Held":
        eventually(lambda: (self.folder.path / "holding").exists() or self.process.poll() is not None)
        assert self.process.poll() is None, self.output
        return self

    def activation(self, *argv: str, **env: str) -> str:
        """Its output, once it has ended."""
        changes: dict[str, Any] = {"argv": argv} if argv else {}
        write_activation(self.folder, msgspec.structs.replace(self.launch, env={**self.launch.env, **env}, **changes))
        activate(self.folder)
        self.process.wait(LIMIT)
        return self.output

    @property
    def output(self) -> str:
        return (self.path / "out").read_text()


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """A folder of libraries, one of which prints a line when it is imported."""
    folder = tmp_path / "site-packages"
    (folder / "heavy").mkdir(parents=True)
    told = f"open({str(tmp_path / 'imported')!r}, 'a').write(__name__ + chr(10))\n"
    (folder / "heavy" / "__init__.py").write_text(told)
    (folder / "heavy" / "part.py").write_text(told)
    (folder / "other.py").write_text(told)
    return folder


def imported(tmp_path: Path) -> list[str]:
    file = tmp_path / "imported"
    return file.read_text().split() if file.exists() else []


SCRIPT = """
import os, sys
from heavy import part
try:
    import missing_altogether
except ImportError:
    pass
import mine
print("RANK", os.environ.get("RANK"), sys.argv, __name__, os.getpid(), mine.RANK, flush=True)
"""


def scripted(tmp_path: Path) -> Path:
    folder = tmp_path / "program"
    folder.mkdir()
    (folder / "mine.py").write_text("import other, os\nRANK = os.environ['RANK']\n")
    (folder / "train.py").write_text(SCRIPT)
    return folder / "train.py"


def test_libraries_are_loaded_ahead_and_nothing_of_the_program_itself(tmp_path: Path, library: Path) -> None:
    script = scripted(tmp_path)
    one = Held(tmp_path, sys.executable, "-u", str(script), "--lr", "1", PYTHONPATH=str(library), RANK="wrong").holds()
    assert imported(tmp_path) == ["heavy", "heavy.part", "other"]
    assert one.output.startswith("understudy: missing_altogether cannot be imported ahead: ModuleNotFoundError")
    assert one.output.count("\n") == 1
    told = one.activation(RANK="3").splitlines()[-1]
    assert told == f"RANK 3 {[str(script), '--lr', '1']} __main__ {one.process.pid} 3"
    assert imported(tmp_path) == ["heavy", "heavy.part", "other"]
    assert one.process.returncode == 0


def test_the_arguments_are_those_of_the_activation(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import sys; print(sys.argv[1:], sys.path[0])")
    one = Held(tmp_path, sys.executable, "train.py", "0").holds()
    assert one.activation(sys.executable, "train.py", "7") == f"['7'] {tmp_path}\n"


def test_a_module(tmp_path: Path) -> None:
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "__main__.py").write_text("import os, sys; print(sys.argv, __package__, os.getpid())")
    (tmp_path / "pack" / "__init__.py").write_text("print('pack')")
    one = Held(tmp_path, sys.executable, "-m", "pack", "a").holds()
    assert one.output == ""
    main = str(tmp_path / "pack" / "__main__.py")
    assert one.activation() == f"pack\n{[main, 'a']} pack {one.process.pid}\n"


def test_code(tmp_path: Path, library: Path) -> None:
    code = "import heavy, sys, os; print(sys.argv, os.getpid())"
    one = Held(tmp_path, sys.executable, "-c", code, "x", PYTHONPATH=str(library)).holds()
    assert imported(tmp_path) == ["heavy"]
    assert one.activation() == f"{['-c', 'x']} {one.process.pid}\n"


def test_a_program_behind_a_plain_shell_line(tmp_path: Path, library: Path) -> None:
    (tmp_path / "train.py").write_text("import heavy, os; print(os.getpid())")
    line = f"exec {sys.executable} -u train.py"
    one = Held(tmp_path, "sh", "-c", line, PYTHONPATH=str(library)).holds()
    assert imported(tmp_path) == ["heavy"]
    assert one.activation() == f"{one.process.pid}\n"


def test_modules_named_on_the_job_are_loaded_too(tmp_path: Path, library: Path) -> None:
    (tmp_path / "train.py").write_text("def late():\n    import other\n")
    Held(tmp_path, sys.executable, "train.py", imports=("other",), PYTHONPATH=str(library)).holds().activation()
    assert imported(tmp_path) == ["other"]


def test_any_other_command_starts_on_activation(tmp_path: Path) -> None:
    one = Held(tmp_path, "sh", "-c", "echo $RANK $$; exit 3").holds()
    assert one.activation(RANK="5") == f"5 {one.process.pid}\n"
    assert one.process.returncode == 3


def test_an_activation_for_another_interpreter_starts_cold(tmp_path: Path) -> None:
    one = Held(tmp_path, sys.executable, "-c", "print('no')").holds()
    assert one.activation(sys.executable, "-u", "-c", "print('yes')") == "yes\n"


def test_an_activation_during_loading_is_not_missed(tmp_path: Path, library: Path) -> None:
    (library / "slow.py").write_text("import time; time.sleep(0.5)")
    one = Held(tmp_path, sys.executable, "-c", "import slow; print('here')", PYTHONPATH=str(library))
    assert one.activation() == "here\n"


def test_sigterm_during_the_hold_ends_it_at_once(tmp_path: Path) -> None:
    one = Held(tmp_path, sys.executable, "-c", "print('no')").holds()
    one.process.send_signal(signal.SIGTERM)
    assert one.process.wait(LIMIT) == -signal.SIGTERM
    assert one.output == ""


def test_a_failing_program_reports_as_without_a_hold(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("raise SystemExit(4)")
    one = Held(tmp_path, sys.executable, "train.py").holds()
    one.activation()
    assert one.process.returncode == 4
    (tmp_path / "again").mkdir()
    (tmp_path / "again" / "train.py").write_text("1 / 0")
    one = Held(tmp_path / "again", sys.executable, "train.py").holds()
    lines = one.activation().splitlines()
    assert (one.process.returncode, lines[-1]) == (1, "ZeroDivisionError: division by zero")
    assert not any("hold.py" in line for line in lines)


def test_the_activation_is_plain_json_for_any_environment(tmp_path: Path) -> None:
    one = Held(tmp_path, sys.executable, "-c", "import os; print(os.environ['ODD'])").holds()
    assert one.activation(ODD='é"\n☃') == 'é"\n☃\n'
    assert json.loads(one.folder.activation.read_text())["env"]["ODD"] == 'é"\n☃'
