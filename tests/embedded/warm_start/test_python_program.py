"""Which commands are recognised as Python programs."""

import sys
from pathlib import Path

import pytest

from understudy.embedded.warm_start.python_program import PythonProgram, python_program


@pytest.mark.parametrize(
    ("argv", "program"),
    [
        (["python", "train.py", "-x"], PythonProgram(("python",), "script", "train.py", ("-x",))),
        (["/opt/bin/python3.11", "-u", "-X", "dev", "t.py"], PythonProgram(("/opt/bin/python3.11", "-u", "-X", "dev"),
                                                                     "script", "t.py")),
        (["python3", "-m", "pack.train", "1"], PythonProgram(("python3",), "module", "pack.train", ("1",))),
        (["python3", "-uB", "-c", "print()", "1"], PythonProgram(("python3", "-uB"), "code", "print()", ("1",))),
        (["sh", "-c", "python train.py --name 'a b'"],
         PythonProgram(("python",), "script", "train.py", ("--name", "a b"))),
        (["sh", "-c", "python -c 'a(1); b[$x]' y"], PythonProgram(("python",), "code", "a(1); b[$x]", ("y",))),
        (["bash", "-c", "exec python3 -m train"], PythonProgram(("python3",), "module", "train")),
    ],
)  # fmt: skip
def test_python_commands(argv: list[str], program: PythonProgram) -> None:
    assert python_program(argv, "") == program


@pytest.mark.parametrize(
    "argv",
    [
        [],
        ["python"],
        ["python", "-V"],
        ["python", "-i", "x.py"],
        ["pythonic", "x.py"],
        ["sh", "-c", "python train.py --rank $RANK"],
        ["sh", "-c", "python prepare.py && python train.py"],
        ["sh", "-c", "A=1 python train.py"],
        ["sh", "-c", "python train.py\necho done"],
        ["sh", "-c", "python 'train.py"],
        ["sh", "script.sh"],
        ["sleep", "1"],
    ],
)
def test_other_commands(argv: list[str]) -> None:
    assert python_program(argv, "/usr/bin:/bin") is None


def test_a_script_that_names_its_interpreter(tmp_path: Path) -> None:
    tool = tmp_path / "torchrun"
    for line in (f"#!{sys.executable}", "#!/usr/bin/env python3"):
        tool.write_text(f"{line}\nprint(1)\n")
        tool.chmod(0o755)
        found = python_program(["torchrun", "--nnodes", "2"], str(tmp_path))
        assert found == PythonProgram((line.removeprefix("#!").split()[-1],), "script", str(tool), ("--nnodes", "2"))
