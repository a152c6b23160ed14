"""Wheels of a few lines, virtual environments without copies, and search paths, so that tests need no network."""

import subprocess
import sys
import zipfile
from pathlib import Path


def wheel(folder: Path, name: str, version: str, *, program: str = "", extra: str = "", text: str = "") -> Path:
    """A package of one module, `text`, with its version in `version`; `program` is a console script that prints it."""
    info = f"{name}-{version}.dist-info"
    provides = f"Provides-Extra: {extra}\n" if extra else ""
    files = {
        f"{name}.py": f"version = {version!r}\ndef main():\n    print({name!r}, version)\n{text}",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{provides}",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    if program:
        files[f"{info}/entry_points.txt"] = f"[console_scripts]\n{program} = {name}:main\n"
    files[f"{info}/RECORD"] = "".join(f"{file},,\n" for file in [*files, f"{info}/RECORD"])
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for file, text in files.items():
            archive.writestr(file, text)
    return path


def virtual_environment(folder: Path) -> Path:
    """An environment of a user, without pip. Returns the folder of its programs."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", "--symlinks", folder], check=True)
    return folder / "bin"


def add_module(programs: Path, name: str, text: str) -> None:
    (next(programs.parent.glob("lib/python*/site-packages")) / f"{name}.py").write_text(text)


def add_script(programs: Path, name: str, text: str) -> None:
    """A console script as pip installs it: it names the interpreter of its environment."""
    path = programs / name
    path.write_text(f"#!{programs / 'python3'}\n{text}")
    path.chmod(0o755)
