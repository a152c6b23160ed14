"""Helm for the tests of the chart: the one that is installed, else built once with Go into our cache."""

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

VERSION = "v3.19.5"
HOW_TO = f"no Helm to render the chart with: install it, or Go, with which Helm {VERSION} is built once"
BUILD_SECONDS = 1200
RUN_SECONDS = 120


def helm() -> Path:
    """Skips the test where it cannot be had."""
    if installed := os.environ.get("HELM") or shutil.which("helm"):
        return Path(installed)
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "understudy" / f"helm@{VERSION}"
    if not (cache / "helm").exists():
        go = shutil.which("go")
        if go is None:
            pytest.skip(HOW_TO)
        command = [go, "install", f"helm.sh/helm/v3/cmd/helm@{VERSION}"]
        surroundings = {**os.environ, "GOBIN": str(cache), "GOFLAGS": ""}
        built = subprocess.run(
            command, env=surroundings, capture_output=True, text=True, check=False, timeout=BUILD_SECONDS
        )
        if built.returncode != 0:
            pytest.skip(f"{HOW_TO}; it could not be built: {built.stderr[-500:]}")
    return cache / "helm"


def ran(home: Path, arguments: Sequence[str], kubeconfig: Path | None = None) -> "subprocess.CompletedProcess[str]":
    """`home` is where it may keep what it likes to keep."""
    folders = {f"HELM_{name}_HOME": str(home / name.lower()) for name in ("CACHE", "CONFIG", "DATA")}
    surroundings = {**os.environ, **folders, "KUBECONFIG": str(kubeconfig or home / "none")}
    return subprocess.run(
        [str(helm()), *arguments], env=surroundings, capture_output=True, text=True, check=False, timeout=RUN_SECONDS
    )
