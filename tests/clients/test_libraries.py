"""Each client library goes through a day of its own: create, watch, patch, logs, exec, delete."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.clients.environments import CLIENTS, Client, interpreter_of

JOURNEYS = Path(__file__).parent / "journeys"


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
def test_a_day_with(client: Client, kubeconfig: Path) -> None:
    python = interpreter_of(client)
    namespace = client.name.replace("_", "-").lower()
    done = subprocess.run(
        [python, "-W", "ignore", JOURNEYS / client.journey, namespace],
        env={**os.environ, "KUBECONFIG": str(kubeconfig)},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert done.stdout.split() == [word for step in client.steps for word in ("ok", step)]
