"""An environment for each client library: they cannot share one, since their pins contradict each other."""

import hashlib
import shutil
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


_ASYNC_DAY = ("create", "watch", "patch", "logs", "exec", "attach", "workloads", "apply", "resume", "delete")
_LIGHT_DAY = ("create", "watch", "patch", "conflict", "logs", "exec", "talk", "workloads", "resume", "delete")
_KR8S_DAY = ("create", "watch", "patch", "logs", "exec", "port-forward", "workloads", "resume", "delete")
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
    Client("kubernetes_asyncio", "kubernetes_asyncio>=36,<37", "kubernetes_asyncio_client.py", _ASYNC_DAY),
    Client("lightkube", "lightkube>=1,<2", "lightkube_client.py", _LIGHT_DAY),
    Client("kr8s", "kr8s>=0.20,<0.21", "kr8s_client.py", _KR8S_DAY),
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


JAVASCRIPT = Client(
    "client-node",
    "@kubernetes/client-node@^1.4",  # 2 needs Node 22
    "javascript_client.mjs",
    ("create", "watch", "patch", "logs", "exec", "port-forward", "job", "deployment", "apply", "delete"),
)


def node() -> str | None:
    """Where node and npm are installed."""
    return shutil.which("node") if shutil.which("npm") else None


def modules_of(client: Client) -> Path:
    """The folder beside whose node_modules its journey runs; made once, and again when the requirement changes."""
    folder = HOME / client.name
    stamp = folder / ".ready"
    if not (stamp.exists() and stamp.read_text() == client.requirement):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        install = ["npm", "install", "--no-audit", "--no-fund", "--silent", f"--prefix={folder}", client.requirement]
        subprocess.run(install, check=True, timeout=600, cwd=folder)
        stamp.write_text(client.requirement)
    return folder
