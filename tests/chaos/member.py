"""What every pod of a chaos run executes, with the standard library alone: it writes its life into the ledger.

`member.py FOLDER GANG SECONDS MANNER`. It locks its accelerators and its names for as long as it lives. The kernel
frees a lock when the process is gone, however it ended; a lock that is taken proves that another process lives.
"""

import fcntl
import json
import os
import signal
import sys
import time

LEDGER, LOCKS = "ledger", "locks"
STAY, DRAIN = "stay", "drain"  # files: processes run on although their time is over; all processes end soon
TERMINATED = 143
LOOK = 0.1  # seconds between two looks at the files
LEAST = 0.3  # seconds that a process runs in any case


class Member:
    def __init__(self, folder: str, gang: str, seconds: float, manner: str) -> None:
        self.folder = folder
        self.seconds = seconds
        self.manner = manner
        self.began = time.monotonic()
        self.told_to_end = False
        environ = os.environ
        self.identity = {
            "uid": environ.get("POD_UID", ""),
            "pod": environ.get("POD_NAME", ""),
            "gang": gang,
            "node": environ.get("NODE_NAME", ""),
            "devices": [one for one in environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if one],
            "pid": os.getpid(),
        }
        self._ledger = os.open(os.path.join(folder, LEDGER), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self._held: list[int] = []

    def tell(self, what: str, **more: object) -> None:
        """One line in one write, which the kernel appends whole."""
        line = {"at": time.monotonic(), "what": what, **self.identity, **more}
        os.write(self._ledger, json.dumps(line).encode() + b"\n")

    def take_locks(self) -> None:
        for device in self.identity["devices"]:  # type: ignore[attr-defined]
            self._take(f"accelerator-{device}")
        names = {str(self.identity["pod"]), os.environ.get("HOSTNAME", "")} - {""}
        for name in sorted(names):
            self._take(f"name-{name}")

    def _take(self, name: str) -> None:
        """A holder that is stopped can do nothing, and does not count: its node is frozen and given up."""
        file = os.open(os.path.join(self.folder, LOCKS, name), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = json.loads(os.pread(file, 4096, 0) or b"{}")
            state = _state(holder.get("pid", 0))
            self.tell("conflict" if state not in "TtZX" else "shadow", lock=name, holder=holder, state=state)
            os.close(file)
            return
        os.ftruncate(file, 0)
        os.pwrite(file, json.dumps(self.identity).encode(), 0)
        self._held.append(file)

    def run(self) -> int:
        """Until its time is over, or it is told to end: at once, after a while, or not at all before SIGKILL."""
        signal.signal(signal.SIGTERM, self._on_term)
        self.tell("start", began=self.began)
        self.take_locks()
        while not self._is_over():
            time.sleep(LOOK)
            if self.told_to_end and self.manner != "deaf":
                time.sleep(float(self.manner))
                self.tell("end", why="terminated")
                return TERMINATED
        self.tell("end", why="finished")
        return 0

    def _on_term(self, _number: int, _frame: object) -> None:
        if not self.told_to_end:
            self.told_to_end = True
            self.tell("term")

    def _is_over(self) -> bool:
        age = time.monotonic() - self.began
        if age < LEAST or self.seconds < 0:
            return False
        if os.path.exists(os.path.join(self.folder, DRAIN)):
            return True
        return age > self.seconds and not os.path.exists(os.path.join(self.folder, STAY))


def _state(pid: int) -> str:
    """A letter, as /proc has it; X where there is no such process."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0]
    except OSError:
        return "X"


if __name__ == "__main__":
    sys.exit(Member(sys.argv[1], sys.argv[2], float(sys.argv[3]), sys.argv[4]).run())
