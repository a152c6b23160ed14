"""A client with ordinary requests, while others misuse the server: every answer comes soon, and is right."""

import contextlib
import threading
import time
import uuid
from collections.abc import Iterator

import msgspec

from tests.faults.server_process import ServerProcess
from tests.faults.wires import Wire, tls_line
from understudy.objects.resources import CONFIG_MAPS

# Seconds of the server's own work before it serves a client, which is generous. What the machine does besides does not
# count, but for the time after which a client gives up.
SOON = 4.0
MOST_MEMORY = 600 << 20
PAUSE = 0.02


class OrdinaryClient(threading.Thread):
    """Writes and reads an object of its own, again and again; remembers the longest wait and the first trouble."""

    def __init__(self, server: ServerProcess) -> None:
        super().__init__(name="bystander", daemon=True)
        self.longest = 0.0  # seconds that the server has worked before an answer came
        self.rounds = 0
        self.most_memory = 0
        self.trouble: BaseException | None = None
        self._name = f"ordinary-{uuid.uuid4()}"
        self._server = server
        self._enough = threading.Event()

    def run(self) -> None:
        try:
            with contextlib.closing(tls_line(self._server.config)) as line:
                wire = Wire(self._server.config, line)
                while not self._enough.wait(PAUSE):
                    self._round(wire)
        except BaseException as trouble:
            self.trouble = trouble

    def stop(self) -> None:
        """Once it has been served at least once."""
        while self.is_alive() and not self.rounds:
            time.sleep(PAUSE)
        self._enough.set()
        self.join()

    def _round(self, wire: Wire) -> None:
        body = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": self._name},
            "data": {"a": str(self.rounds)},
        }
        all_of_them, one = CONFIG_MAPS.path("default"), CONFIG_MAPS.path("default", self._name)
        method, path, code = ("PUT", one, 200) if self.rounds else ("POST", all_of_them, 201)
        began = self._server.worked_seconds()
        written = wire.ask(method, path, msgspec.json.encode(body))
        read = wire.ask("GET", one)
        self.longest = max(self.longest, self._server.worked_seconds() - began)
        assert written.status == code, written.body
        assert read.body == written.body, (read.body, written.body)
        self.most_memory = max(self.most_memory, self._server.resident_bytes())
        self.rounds += 1


@contextlib.contextmanager
def ordinary_life(server: ServerProcess) -> Iterator[OrdinaryClient]:
    """What happens meanwhile must not be noticed."""
    bystander = OrdinaryClient(server)
    bystander.start()
    try:
        yield bystander
    finally:
        bystander.stop()
    if bystander.trouble is not None:
        raise bystander.trouble
    assert bystander.longest < SOON, f"the server worked for {bystander.longest:.1f} s before it served a client"
    assert bystander.most_memory < MOST_MEMORY, f"the server has grown to {bystander.most_memory >> 20} MiB"
    server.check_health()
