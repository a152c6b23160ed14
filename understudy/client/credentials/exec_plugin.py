"""Credentials from a command, as kubectl runs it: `exec` of a kubeconfig becomes an identity with an expiry."""

import asyncio
import contextlib
import os
import sys
import time
from datetime import datetime
from typing import Any

import msgspec

from understudy.client.config import ExecPlugin
from understudy.client.credentials.identity import Identity
from understudy.ports import Unreachable

TIMEOUT = 60.0  # seconds for a command without user interaction
INTERACTIVE_TIMEOUT = 600.0  # seconds for a command that may ask the user to log in
SHOWN = 300  # characters of the command's error output
EARLY, EARLY_SHARE = 30.0, 0.1  # seconds, or share of its lifetime, before expiry at which it is renewed


class _CredentialStatus(msgspec.Struct, rename="camel"):
    token: str = ""
    client_certificate_data: str = ""
    client_key_data: str = ""
    expiration_timestamp: datetime | None = None


class _ExecCredential(msgspec.Struct, rename="camel"):
    api_version: str
    kind: str
    status: _CredentialStatus | None = None


class PluginRunner:
    def __init__(self, plugin: ExecPlugin, fixed: Identity) -> None:
        self._plugin = plugin
        self._fixed = fixed
        self._identity: Identity | None = None
        self._good_until = float("inf")

    def kept(self) -> Identity | None:
        return self._identity if time.time() < self._good_until else None

    async def fresh(self) -> Identity:
        status = self._read(await self._run())
        left = float("inf") if status.expiration_timestamp is None else status.expiration_timestamp.timestamp()
        left -= time.time()
        self._good_until = time.time() + left - min(EARLY, EARLY_SHARE * max(left, 0.0))
        certificate, key = status.client_certificate_data, status.client_key_data
        if not certificate:
            certificate, key = self._fixed.certificate, self._fixed.key
        self._identity = Identity(status.token, certificate, key)
        return self._identity

    async def _run(self) -> bytes:
        interactive = self._is_interactive()
        environment = {**os.environ, **dict(self._plugin.env), "KUBERNETES_EXEC_INFO": self._info(interactive)}
        try:
            process = await asyncio.create_subprocess_exec(
                self._plugin.command,
                *self._plugin.args,
                stdin=None if interactive else asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=None if interactive else asyncio.subprocess.PIPE,  # the user who logs in has to see the prompts
                env=environment,
            )
        except FileNotFoundError:
            hint = f"; {' '.join(self._plugin.hint.split())}" if self._plugin.hint else ""
            raise self._failed(f"not found{hint}") from None
        except OSError as error:
            raise self._failed((error.strerror or str(error)).lower()) from None
        try:
            async with asyncio.timeout(INTERACTIVE_TIMEOUT if interactive else TIMEOUT):
                said, complained = await process.communicate()
        except TimeoutError:
            raise self._failed(
                f"gave no credentials within {INTERACTIVE_TIMEOUT if interactive else TIMEOUT:g} s"
            ) from None
        finally:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
        if process.returncode:
            words = " ".join((complained or b"").decode(errors="replace").split())[-SHOWN:]
            raise self._failed(f"ended with {process.returncode}{f': {words}' if words else ''}")
        return said

    def _is_interactive(self) -> bool:
        """Whether the command may interact with the user at the terminal."""
        there = self._plugin.interactive != "Never" and sys.stdin is not None and sys.stdin.isatty()
        if self._plugin.interactive == "Always" and not there:
            raise self._failed("needs a terminal (interactiveMode: Always), and there is none")
        return there

    def _info(self, interactive: bool) -> str:
        spec: dict[str, Any] = {"interactive": interactive}
        if self._plugin.cluster is not None:
            spec["cluster"] = self._plugin.cluster
        info = {"apiVersion": self._plugin.api_version, "kind": "ExecCredential", "spec": spec}
        return msgspec.json.encode(info).decode()

    def _read(self, said: bytes) -> _CredentialStatus:
        try:
            credential = msgspec.json.decode(said, type=_ExecCredential)
        except msgspec.DecodeError as error:
            raise self._failed(f"gave no ExecCredential: {error}") from None
        if (credential.kind, credential.api_version) != ("ExecCredential", self._plugin.api_version):
            given = f"{credential.api_version} {credential.kind}"
            raise self._failed(f"gave {given}, not {self._plugin.api_version} ExecCredential")
        status = credential.status or _CredentialStatus()
        if not status.token and not status.client_certificate_data:
            raise self._failed("gave neither a token nor a client certificate")
        if bool(status.client_certificate_data) != bool(status.client_key_data):
            raise self._failed("gave a client certificate or its key, but not both")
        return status

    def _failed(self, why: str) -> Unreachable:
        return Unreachable(f"the credential plugin {self._plugin.command} {why}")
