"""Members that meet: a program with a large import and a meeting at rank 0, and when who was past it."""

import asyncio
import importlib.metadata
import importlib.util
import sys
import time
from pathlib import Path

import msgspec

PORT = 29500
LIMIT = 90.0
LARGE = ("jax", "torch")  # whichever is installed first is imported
_STAND_IN = "a_large_library"


class Rendezvous(msgspec.Struct, frozen=True):
    folder: Path

    def begin(self) -> None:
        """Clears the folder: no worker has arrived."""
        for file in self._files():
            file.unlink()

    @property
    def moments(self) -> list[float]:
        """The times at which members passed the rendezvous, on the monotonic clock."""
        ahead = time.time() - time.monotonic()
        return sorted(at - ahead for file in self._files() for at in _moments(file))

    async def past(self, count: int) -> float:
        """The time at which so many had passed the rendezvous: one for each process that ever was a member."""
        deadline = time.monotonic() + LIMIT
        while len(found := self.moments) < count:
            if time.monotonic() > deadline:
                raise RuntimeError(f"{len(found)} of {count} came to the rendezvous within {LIMIT:.0f} s")
            await asyncio.sleep(0.002)
        return found[count - 1]

    def _files(self) -> list[Path]:
        return list(self.folder.glob("rank-*"))


class Program(msgspec.Struct, frozen=True):
    """The program that members run, and its parameters."""

    path: Path
    rendezvous: Rendezvous
    library: str
    places: str  # where it finds the library: PYTHONPATH

    def command(self, host: str) -> tuple[str, ...]:
        return (sys.executable, str(self.path), str(self.rendezvous.folder), host, str(PORT))


def program(folder: Path, import_seconds: float) -> Program:
    """Written into the folder. Without a large library at hand, one that takes as long to import as it is told."""
    module = next((name for name in LARGE if importlib.util.find_spec(name) is not None), "")
    libraries = folder / "libraries"
    libraries.mkdir()
    if module:
        about = f"{module} {importlib.metadata.version(module)}"
    else:
        module, about = _STAND_IN, f"a stand-in for jax or torch that takes {import_seconds:g} s to import"
        (libraries / f"{module}.py").write_text(f"import time\ntime.sleep({import_seconds!r})\n")
    path = folder / "program" / "worker.py"
    path.parent.mkdir()
    path.write_text(f"import {module}\n{Path(__file__).with_name('worker.py').read_text()}")
    return Program(path, Rendezvous(folder), about, str(libraries))


def _moments(file: Path) -> list[float]:
    return [float(line) for line in file.read_text().split("\n")[:-1]]
