"""Finds kubectl in as many minor versions as this machine has, or builds some from their Go module."""

import functools
import json
import re
import shutil
import subprocess
from pathlib import Path

import msgspec

BUILT = Path(__file__).parents[2] / ".venv-clients" / "kubectl"
BUILDABLE = ("1.30", "1.32", "1.33")
_MAIN = """\
package main

import (
	"os"

	"k8s.io/kubectl/pkg/cmd"
)

func main() {
	if err := cmd.NewDefaultKubectlCommand().Execute(); err != nil {
		os.Exit(1)
	}
}
"""


class Kubectl(msgspec.Struct, frozen=True):
    version: str  # '1.32'
    path: str


@functools.cache
def at_hand() -> list[Kubectl]:
    """What is installed, or else what Go can build."""
    return found() or built()


def found() -> list[Kubectl]:
    """What is installed: kubectl on the PATH, and its versioned neighbours (kubectl.1.31) where it has some."""
    first = shutil.which("kubectl")
    if first is None:
        return []
    folders = {Path(first).parent, Path(first).resolve().parent}
    paths = sorted(path for folder in folders for path in folder.glob("kubectl*") if path.stat().st_mode & 0o111)
    kubectls = {version: str(path) for path in paths if (version := _version(path))}
    return [Kubectl(version, kubectls[version]) for version in sorted(kubectls, key=_numbers)]


def _version(path: Path) -> str:
    answer = subprocess.run([path, "version", "--client", "-o", "json"], capture_output=True, check=False, timeout=60)
    try:
        git_version = json.loads(answer.stdout)["clientVersion"]["gitVersion"]
    except (ValueError, KeyError):
        return ""
    matched = re.match(r"v(\d+\.\d+)", git_version)
    return matched[1] if matched else ""


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def built() -> list[Kubectl]:
    """Built with Go where nothing is installed; nothing where there is no Go either."""
    go = shutil.which("go")
    if go is None:
        return []
    return [Kubectl(version, str(_build(go, version))) for version in BUILDABLE]


def _build(go: str, version: str) -> Path:
    folder = BUILT / version
    binary = folder / "kubectl"
    if not binary.exists():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "main.go").write_text(_MAIN)
        module = f"v0.{version.partition('.')[2]}"
        get, build = f"k8s.io/kubectl@{module}", ["build", "-o", "kubectl", "."]
        for command in (["mod", "init", "kubectl"], ["get", get], ["mod", "tidy"], build):
            subprocess.run([go, *command], cwd=folder, check=True, timeout=1200, capture_output=True)
    return binary
