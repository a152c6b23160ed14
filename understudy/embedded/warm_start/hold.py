"""Holds before the first line of a program: loads the imports of a command, waits for the activation, and then becomes
the command under the environment of the activation.

Run by path, by the Python >= 3.8 of the command itself, so it imports only the standard library. The folder of the
activation is already open: mounts might hide its path.
"""

from __future__ import annotations

import ast
import contextlib
import gc
import importlib
import importlib.util
import json
import os
import runpy
import socket
import sys
import types
from typing import Any, Dict, Iterator, List, Optional, Set, Tuple  # noqa: UP035

FIFO, ACTIVATION, HOLDING = "activation.fifo", "activation.json", "holding"
LOADER, HOLD_FOLDER = "LD_PRELOAD", "UNDERSTUDY_HOLD_FOLDER"
MOST_FILES = 200  # files of the program itself that are searched for imports

Import = Tuple[str, Tuple[str, ...]]  # noqa: UP006  a module, and what is wanted from it


def main() -> None:
    mode, target, extra = (*sys.argv[1:4], "", "", "")[:3]
    folder = _take_folder()
    fifo = os.open(FIFO, os.O_RDWR | os.O_CLOEXEC, dir_fd=folder)  # before the first read: no activation is missed
    if mode:
        _set_path(mode, target)
        load([name for name in extra.split(",") if name], mode, target)
    gc.collect()
    gc.freeze()
    os.close(os.open(HOLDING, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600, dir_fd=folder))
    activation = _await_activation(folder, fifo)
    os.close(fifo)
    os.close(folder)
    apply_activation(activation)
    if mode and activation.get("interpreter") == _interpreter(activation):
        run_program(activation["mode"], activation["target"], activation["args"])
    else:
        os.execvpe(activation["argv"][0], activation["argv"], dict(os.environ))


def _interpreter(activation: Dict[str, Any]) -> Optional[List[str]]:  # noqa: UP006, UP045
    """The interpreter and options this process was started with; None where the activation names no program."""
    return sys.argv[4:] if "mode" in activation else None


def _take_folder() -> int:
    folder = int(os.environ.pop(HOLD_FOLDER))
    os.set_inheritable(folder, False)
    return folder


def _await_activation(folder: int, fifo: int) -> Dict[str, Any]:  # noqa: UP006
    while True:
        try:
            with open(os.open(ACTIVATION, os.O_RDONLY | os.O_CLOEXEC, dir_fd=folder), "rb") as file:
                found: Dict[str, Any] = json.loads(file.read())  # noqa: UP006
            return found
        except FileNotFoundError:
            os.read(fifo, 1)


# Loading


def load(names: List[str], mode: str, target: str) -> None:  # noqa: UP006
    """Imports the libraries of the program; no code of the program itself runs before the activation."""
    for name in names:
        _import(name, ())
    for name, parts in list(imports_of(mode, target)):
        _import(name, parts)


def _import(name: str, parts: Tuple[str, ...]) -> None:  # noqa: UP006
    try:
        module = importlib.import_module(name)
    except BaseException as problem:  # the program will meet the same error and report it in its own way
        if isinstance(problem, KeyboardInterrupt):
            raise
        sys.stderr.write(f"understudy: {name} cannot be imported ahead: {problem!r}\n")
        return
    for part in parts:
        if not hasattr(module, part):
            try:
                importlib.import_module(f"{name}.{part}")
            except Exception:  # it may be created only when the program runs
                continue


def imports_of(mode: str, target: str) -> Iterator[Import]:
    """The imports at the top of the program and of its own files."""
    waiting: List[str] = []  # noqa: UP006
    if mode == "code":
        waiting.append(target)
    else:
        path = target if mode == "script" else _file_of(f"{target}.__main__") or _file_of(target)
        waiting.extend(_text(path))
    seen: Set[str] = set()  # noqa: UP006
    while waiting and len(seen) < MOST_FILES:
        for name, parts in _imports_in(waiting.pop()):
            own = _own_file(name)
            if own is None:
                yield name, parts
            elif own not in seen:
                seen.add(own)
                waiting.extend(_text(own))


def _text(path: Optional[str]) -> List[str]:  # noqa: UP006, UP045
    try:
        with open(path or "", "rb") as file:
            return [file.read().decode()]
    except (OSError, ValueError):
        return []


def _imports_in(text: str) -> Iterator[Import]:
    try:
        waiting: List[ast.stmt] = ast.parse(text).body  # noqa: UP006
    except (SyntaxError, ValueError):
        return
    for statement in waiting:
        if isinstance(statement, ast.Import):
            yield from ((alias.name, ()) for alias in statement.names)
        elif isinstance(statement, ast.ImportFrom) and statement.module and not statement.level:
            yield statement.module, tuple(alias.name for alias in statement.names if alias.name != "*")
        elif isinstance(statement, (ast.Try, ast.With)):
            waiting.extend(statement.body)


def _own_file(name: str) -> Optional[str]:  # noqa: UP045
    """The file of a module of the program itself; None for libraries and missing modules."""
    path = _file_of(name.partition(".")[0])
    if path is None or not os.path.isabs(path):
        return None
    here = [os.path.realpath(entry or ".") for entry in sys.path[:1]]
    inside = any(os.path.realpath(path).startswith(os.path.join(folder, "")) for folder in here)
    parts = path.split(os.sep)
    library = {"site-packages", "dist-packages"} & set(parts) or path.startswith(os.path.join(sys.base_prefix, "lib"))
    if not inside or library:
        return None
    return _file_of(name) or path


def _file_of(name: str) -> Optional[str]:  # noqa: UP045
    """Finds the file of a module; only packages above it are executed."""
    try:
        spec = importlib.util.find_spec(name) if "." not in name else None
        if spec is None and "." in name:
            above = importlib.util.find_spec(name.partition(".")[0])
            places = list(above.submodule_search_locations or ()) if above is not None else []
            return next(filter(os.path.isfile, _below(places, name.split(".")[1:])), None)
    except (ImportError, ValueError, AttributeError):
        return None
    return spec.origin if spec is not None and spec.has_location else None


def _below(places: List[str], parts: List[str]) -> Iterator[str]:  # noqa: UP006
    for place in places:
        yield os.path.join(place, *parts) + ".py"
        yield os.path.join(place, *parts, "__init__.py")


# Activation


def apply_activation(activation: Dict[str, Any]) -> None:  # noqa: UP006
    """Takes the environment, folder and host name of the member that it stands in for."""
    loader = os.environ.get(LOADER)
    os.environ.clear()
    os.environ.update(activation["env"])
    if loader:
        os.environ[LOADER] = loader
    for folder in (activation["cwd"], activation["root"]):
        try:
            os.chdir(folder)
            break
        except OSError:
            continue
    if activation.get("hostname"):
        with contextlib.suppress(OSError):  # without root rights it keeps its host name
            socket.sethostname(activation["hostname"])


def _set_path(mode: str, target: str) -> None:
    """Sets sys.path as Python itself does for the program, without the folder of this file."""
    isolated = sys.flags.isolated or getattr(sys.flags, "safe_path", False)
    if isolated:
        return
    first = {"script": os.path.dirname(os.path.realpath(target)), "module": os.getcwd()}.get(mode, "")
    sys.path[0] = first


def run_program(mode: str, target: str, args: List[str]) -> None:  # noqa: UP006
    """Runs the program in this process, as `python target args` would."""
    _set_path(mode, target)
    sys.argv = [{"code": "-c", "module": "-m"}.get(mode, target), *args]
    importlib.invalidate_caches()
    try:
        if mode == "module":
            runpy.run_module(target, run_name="__main__", alter_sys=True)
        else:
            _run(mode, target)
    except Exception as problem:
        trace = _without_this_file(problem.__traceback__)
        sys.excepthook(type(problem), problem.with_traceback(trace), trace)
        sys.exit(1)


def _run(mode: str, target: str) -> None:
    """Runs the program in a module that stays alive: threads and exit handlers may still use it."""
    main_module = types.ModuleType("__main__")
    name = target if mode == "script" else "<string>"
    if mode == "script":
        main_module.__file__ = target
        main_module.__dict__["__cached__"] = None
    main_module.__dict__["__builtins__"] = __builtins__
    sys.modules["__main__"] = main_module
    source: Any = target
    if mode == "script":
        with open(target, "rb") as file:
            source = file.read()
    exec(compile(source, name, "exec"), main_module.__dict__)  # noqa: S102


def _without_this_file(trace: Optional[types.TracebackType]) -> Optional[types.TracebackType]:  # noqa: UP045
    while trace is not None and trace.tb_frame.f_code.co_filename in (__file__, runpy.__file__, "<frozen runpy>"):
        trace = trace.tb_next
    return trace


if __name__ == "__main__":
    main()
