"""A virtual environment for each client library: they cannot share one, since their pins contradict each other."""

import hashlib
import subprocess
import sys
import venv
from pathlib import Path

import msgspec

HOME = Path(__file__).parents[2] / ".venv-clients"


class Client(msgspec.Struct, frozen=True):
    name: str
    requirement: str
    journey: str
    steps: tuple[str, ...]  # what its journey has to have done


_DAY = ("create", "watch", "patch", "logs", "exec", "delete")
_LONG_DAY = (
    "create",
    "watch",
    "patch",
    "select",
    "logs",
    "exec",
    "port-forward",
    "inside",
    "job",
    "custom",
    "discover",
    "errors",
    "delete",
)
_TRAINER_DAY = (
    "runtimes", "train", "wait", "logs", "events", "running", "torch", "failure", "list", "delete",
)  # fmt: skip
_TRAINING_DAY = (
    "create", "wait", "logs", "object", "pods", "meeting", "tensorflow", "spot", "running", "update",
    "failure", "list", "delete",
)  # fmt: skip
CLIENTS = (
    Client("kubernetes-37", "kubernetes>=37,<38", "kubernetes_client.py", _LONG_DAY),
    Client("kubernetes-31", "kubernetes>=31,<32", "kubernetes_client.py", _LONG_DAY),
    Client("kubernetes_asyncio", "kubernetes_asyncio>=36,<37", "kubernetes_asyncio_client.py", _DAY),
    Client("lightkube", "lightkube>=1,<2", "lightkube_client.py", (*_DAY[:3], "conflict", *_DAY[3:])),
    Client("kr8s", "kr8s>=0.20,<0.21", "kr8s_client.py", _DAY),
    Client("kubeflow-training", "kubeflow-training==1.9.4", "kubeflow_training_client.py", _TRAINING_DAY),
    Client("kubeflow-trainer", "kubeflow==0.5.0", "kubeflow_trainer_client.py", _TRAINER_DAY),
)


def interpreter_of(client: Client) -> Path:
    """Its Python, with the library installed; made once, and again when the requirement changes."""
    folder = HOME / client.name
    python = folder / "bin" / "python"
    wanted = hashlib.sha256(f"{client.requirement} {sys.version}".encode()).hexdigest()
    stamp = folder / ".ready"
    if stamp.exists() and stamp.read_text() == wanted:
        return python
    venv.create(folder, clear=True, with_pip=True)
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", client.requirement]
    subprocess.run(install, check=True, timeout=600)
    stamp.write_text(wanted)
    return python
