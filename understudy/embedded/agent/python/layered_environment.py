"""Makes the Python of a pod: a virtual environment on top of the user's packages, made of a few links and small files.

`pip install` in a pod writes into that environment, and nowhere else. It needs no copy of pip, so it is made in less
than a millisecond.
"""

import os
import shutil
from pathlib import Path

import msgspec

import understudy
from understudy import train
from understudy.embedded.agent.python import pip_turns
from understudy.embedded.agent.python.interpreter import Interpreter, own_folders, without
from understudy.embedded.agent.python.programs import ConsoleScripts

_LAYERS = "understudy_layers.pth"
_SHARED = "understudy-shared"  # the file that marks an environment whose pips go one after the other
_TURNS = "_understudy_pip_turns"


class PythonEnvironment(msgspec.Struct, frozen=True):
    """The folder of a virtual environment, and the folder of console scripts that go with it."""

    folder: Path
    programs: Path

    def variables(self, path: str) -> dict[str, str]:
        """`path` is the search path without it."""
        folders = (str(self.folder / "bin"), str(self.programs), path)
        return {"PATH": os.pathsep.join(folders), "VIRTUAL_ENV": str(self.folder)}


class PythonLayers:
    """What all environments of a cluster share: the interpreter, the packages below theirs, and console scripts."""

    def __init__(self, folder: Path, interpreter: Interpreter, path: str) -> None:
        """`path` is the search path of the user's shell."""
        self.folder = folder
        self._interpreter = interpreter
        self._modules = folder / "modules"
        self.scripts = ConsoleScripts(folder / "programs", interpreter, path)

    def prepare(self) -> None:
        """Copies what `import understudy.train` needs, so that pods see nothing else of Understudy."""
        package = self._modules / "understudy"
        shutil.rmtree(self._modules, ignore_errors=True)
        package.mkdir(parents=True)
        shutil.copy(understudy.__file__, package)
        source = Path(train.__file__).parent
        shutil.copytree(source, package / "train", ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(pip_turns.__file__, self._modules / f"{_TURNS}.py")
        self.scripts.refresh()

    def environment(self, folder: Path, *, shared: bool) -> PythonEnvironment:
        """Makes it, unless it is there already. Raises OSError."""
        version = self._interpreter.version
        packages = folder / "lib" / f"python{version}" / "site-packages"
        packages.mkdir(mode=0o755, parents=True, exist_ok=True)
        (folder / "bin").mkdir(exist_ok=True)
        for name in ("python3", "python", f"python{version}"):
            _link(folder / "bin" / name, self._interpreter.base)
        _write(folder / "pyvenv.cfg", self._settings())
        _write(packages / _LAYERS, self._layers(shared))
        if shared:
            _write(folder / _SHARED, "")
        return PythonEnvironment(folder, self.scripts.folder)

    def _settings(self) -> str:
        sees = str(self._interpreter.sees_installation).lower()
        home = os.path.dirname(self._interpreter.base)
        return f"home = {home}\ninclude-system-site-packages = {sees}\nversion = {self._interpreter.version}\n"

    def _layers(self, shared: bool) -> str:
        """The packages of the user's own virtual environment, with what its .pth files say, then our modules."""
        below = self._interpreter.packages if self._interpreter.virtual else ()
        lines = [f"import site; site.addsitedir({folder!r})" for folder in below]
        return "\n".join([*lines, str(self._modules), *([f"import {_TURNS}"] if shared else []), ""])


def path_of_pods(path: str) -> str:
    """The search path of the user's shell without the programs of Understudy's own virtual environment."""
    return without(path, own_folders())


def _link(path: Path, target: str) -> None:
    try:
        path.symlink_to(target)
    except FileExistsError:
        if os.readlink(path) != target:
            path.unlink()
            path.symlink_to(target)


def _write(path: Path, text: str) -> None:
    try:
        if path.read_text() == text:
            return
    except OSError:
        pass
    path.write_text(text)
