"""The command in this process, in a folder of its own; and the smallest objects worth planning."""

import json
from pathlib import Path
from typing import Any

import pytest

from understudy.main import main

NOW = ("--now", "2026-01-01T12:00:00Z")
NODE = """
apiVersion: v1
kind: Node
metadata: {name: %s}
status:
  allocatable: {cpu: "8", memory: 32Gi, nvidia.com/gpu: "8", pods: "110"}
  conditions: [{type: Ready, status: "True"}]
"""
POD = """
apiVersion: v1
kind: Pod
metadata: {name: %s}
spec:
  containers: [{name: c, image: i, resources: {limits: {nvidia.com/gpu: "%d"}}}]
"""


def joined(*documents: str) -> str:
    return "---".join(documents)


class Shell:
    """Runs the command in this process, in a folder of its own."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self.capsys = folder, capsys

    def write(self, **files: str) -> None:
        for name, text in files.items():
            (self.folder / f"{name}.yaml").write_text(text)

    def run(self, *arguments: str) -> tuple[int, str, str]:
        try:
            code = main(arguments)
        except SystemExit as end:  # how argparse refuses and prints its help
            code = int(end.code or 0)
        printed = self.capsys.readouterr()
        return code, printed.out, printed.err

    def plan(self, *arguments: str) -> str:
        code, out, err = self.run("plan", *NOW, *arguments)
        assert (code, err) == (0, "")
        return out

    def figures(self, *arguments: str) -> Any:
        return json.loads(self.plan(*arguments, "-o", "json"))

    def refused(self, *arguments: str) -> str:
        """The one line on stderr that refuses bad input of `plan`."""
        return self.refuses("plan", *NOW, *arguments)

    def refuses(self, *arguments: str) -> str:
        code, out, err = self.run(*arguments)
        assert (code, out) == (2, "")
        assert err.startswith("understudy")
        assert err.endswith("\n")
        assert err.count("\n") == 1
        return err.rstrip("\n")
