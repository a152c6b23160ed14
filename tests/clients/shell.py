"""kubectl as a person types it: arguments in, what it printed out."""

import os
import subprocess
from pathlib import Path

import msgspec

from tests.clients.kubectls import Kubectl


class Printed(msgspec.Struct, frozen=True):
    out: str
    err: str
    code: int

    def rows(self) -> list[list[str]]:
        return [line.split() for line in self.out.splitlines()]


class Shell(msgspec.Struct, frozen=True):
    """One kubectl, in one namespace of its own."""

    kubectl: Kubectl
    kubeconfig: Path
    namespace: str

    def __call__(self, *arguments: str, stdin: str = "", fails: bool = False) -> Printed:
        done = subprocess.run(
            self.command(*arguments),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=90,
            check=False,
            env=self._environment(),
        )
        if (done.returncode != 0) is not fails:
            verdict = "did not fail" if fails else f"failed with {done.returncode}"
            raise AssertionError(f"kubectl {' '.join(arguments)} {verdict}:\n{done.stdout}{done.stderr}")
        return Printed(done.stdout, done.stderr, done.returncode)

    @property
    def speaks_websockets(self) -> bool:
        """kubectl 1.29 has to be told to; before that, exec knows only SPDY, which we do not serve."""
        return tuple(map(int, self.kubectl.version.split("."))) >= (1, 29)

    @property
    def forwards_over_websockets(self) -> bool:
        """kubectl 1.30 has to be told to; before that, port-forward knows only SPDY without a WebSocket."""
        return tuple(map(int, self.kubectl.version.split("."))) >= (1, 30)

    def command(self, *arguments: str) -> list[str]:
        return [self.kubectl.path, f"--kubeconfig={self.kubeconfig}", "-n", self.namespace, *arguments]

    def start(self, *arguments: str, stdin: int | None = None) -> "subprocess.Popen[str]":
        """For what does not end by itself; the caller ends it."""
        pipe = subprocess.PIPE
        return subprocess.Popen(
            self.command(*arguments), stdin=stdin, stdout=pipe, stderr=pipe, text=True, env=self._environment()
        )

    @staticmethod
    def _environment() -> dict[str, str]:
        wanted = ("KUBECTL_REMOTE_COMMAND_WEBSOCKETS", "KUBECTL_PORT_FORWARD_WEBSOCKETS")
        return {**os.environ, **dict.fromkeys(wanted, "true")}
