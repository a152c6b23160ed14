"""Each client library goes through a day of its own: create, watch, patch, logs, exec, delete."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.clients.environments import CLIENTS, JAVASCRIPT, Client, interpreter_of, modules_of, node

JOURNEYS = Path(__file__).parent / "journeys"


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
def test_a_day_with(client: Client, kubeconfig: Path) -> None:
    python = interpreter_of(client)
    _goes_well(client, [python, "-W", "ignore", JOURNEYS / client.journey], kubeconfig)


def test_a_day_with_the_javascript_client(kubeconfig: Path) -> None:
    program = node()
    if program is None:
        pytest.skip("node and npm are not installed")
    folder = modules_of(JAVASCRIPT)
    journey = shutil.copy(JOURNEYS / JAVASCRIPT.journey, folder)  # node looks for modules beside the program
    _goes_well(JAVASCRIPT, [program, journey], kubeconfig, sys.executable)


def _goes_well(client: Client, program: Sequence[str | Path], kubeconfig: Path, *more: str) -> None:
    namespace = client.name.replace("_", "-").lower()
    done = subprocess.run(
        [*program, namespace, *more],
        env={**os.environ, "KUBECONFIG": str(kubeconfig)},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert done.stdout.split() == [word for step in client.steps for word in ("ok", step)]
