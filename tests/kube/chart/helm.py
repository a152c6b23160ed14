"""Helm for the tests of the chart: the installed one, or one that is built once with Go, like the other programs."""

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.kube.cluster.programs import NoPrograms, find, have
from tests.kube.cluster.releases import BUILD_EXTRAS, HELM

RUN_SECONDS = 120


def helm() -> Path:
    """The installed Helm, or the one that was built before. Without any, skips the test."""
    if installed := shutil.which("helm") or find(HELM):
        return Path(installed)
    if not os.environ.get(BUILD_EXTRAS):
        pytest.skip(f"no Helm to render the chart with: install it, or set {BUILD_EXTRAS}=1 to build it with Go, once")
    try:
        return have(HELM)
    except NoPrograms as error:
        pytest.skip(f"no Helm to render the chart with: {error}")


def ran(home: Path, arguments: Sequence[str], kubeconfig: Path | None = None) -> "subprocess.CompletedProcess[str]":
    """`home` is the folder for Helm's own files."""
    folders = {f"HELM_{name}_HOME": str(home / name.lower()) for name in ("CACHE", "CONFIG", "DATA")}
    surroundings = {**os.environ, **folders, "KUBECONFIG": str(kubeconfig or home / "none")}
    return subprocess.run(
        [str(helm()), *arguments], env=surroundings, capture_output=True, text=True, check=False, timeout=RUN_SECONDS
    )
