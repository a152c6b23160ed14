"""Finds the programs of a test cluster: in KUBEBUILDER_ASSETS, in our cache, or built into it with Go, once."""

import contextlib
import fcntl
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from tests.kube.cluster.releases import ALL, PROGRAMS, Program

ASSETS = "KUBEBUILDER_ASSETS"  # where envtest keeps etcd and kube-apiserver
HOW_TO = (
    "no Kubernetes to test against: install Go 1.26 or newer, and what is missing is built once (a quarter of an hour "
    f"on two cores), or let {ASSETS} name a folder that has it"
)
BUILD_SECONDS = 3600.0


class NoPrograms(Exception):
    """What is missing, and how to install it."""


def say(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def find(program: Program) -> Path | None:
    """Already installed, or built before."""
    folders = [Path(given)] if (given := os.environ.get(ASSETS)) else []
    candidates = [folder / program.name for folder in folders] + [_kept(program)]
    return next((path for path in candidates if os.access(path, os.X_OK)), None)


def missing(wanted: Sequence[Program] = ALL) -> list[Program]:
    return [program for program in wanted if find(program) is None]


def at_hand(wanted: Sequence[Program] = ALL) -> bool:
    """Whether the programs are installed or can be built with Go."""
    return shutil.which("go") is not None or not missing(wanted)


def have(program: Program, tell: Callable[[str], None] = say) -> Path:
    """The program's path; it is built where it is missing, which takes minutes for those of Kubernetes."""
    if found := find(program):
        return found
    if shutil.which("go") is None:
        raise NoPrograms(f"{program.name} is missing; {HOW_TO}")
    with _alone(program):
        return find(program) or _build(program, tell)


def have_all(wanted: Sequence[Program] = ALL, tell: Callable[[str], None] = say) -> None:
    if left := missing(wanted):
        tell(f"{len(left)} programs of a test cluster are built with Go, once, into {cache()}")
    for program in left:
        have(program, tell)


def release_of(program: Program) -> tuple[int, int]:
    """The version that a program of Kubernetes reports: an installed one may be of any version."""
    said = subprocess.run([have(program), "--version"], capture_output=True, text=True, check=True, timeout=60).stdout
    major, minor = said.removeprefix("Kubernetes v").split(".")[:2]
    return int(major), int(minor)


def cache() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "understudy" / "kube"


def source(program: Program) -> Path:
    """The folder of its module, where its manifests are; Go downloads it where it is not there yet."""
    go = shutil.which("go")
    if go is None:
        raise NoPrograms(f"the manifests of {program.name} come from its Go module; {HOW_TO}")
    asked = subprocess.run(
        [go, "mod", "download", "-json", f"{program.module}@{program.release}"],
        cwd=PROGRAMS, env=_environment(), capture_output=True, check=False, timeout=600,
    )  # fmt: skip
    answer = json.loads(asked.stdout or b"{}")
    if "Dir" not in answer:
        raise NoPrograms(f"{program.module}@{program.release}: {answer.get('Error') or asked.stderr.decode()}")
    return Path(answer["Dir"])


def _kept(program: Program) -> Path:
    return cache() / program.folder / program.name


@contextlib.contextmanager
def _alone(program: Program) -> Iterator[None]:
    """Of two processes that build the same program, one builds and the other waits."""
    cache().mkdir(parents=True, exist_ok=True)
    with (cache() / f"{program.folder}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _build(program: Program, tell: Callable[[str], None]) -> Path:
    tell(f"building {program.name} {program.release} ...")
    began = time.monotonic()
    with tempfile.TemporaryDirectory(dir=cache(), prefix="building-") as place:
        folder = Path(place)
        made = folder / program.name
        flags = ["-o", str(made), "-ldflags", f"-s -w {_stamped(program)}"]
        built = subprocess.run(
            ["go", "build", *flags, program.package],
            cwd=_sources(program, folder), env=_environment(), capture_output=True, check=False, timeout=BUILD_SECONDS,
        )  # fmt: skip
        if built.returncode:
            raise NoPrograms(f"{program.name} could not be built: {built.stderr.decode()[-2000:]}")
        kept = _kept(program)
        kept.parent.mkdir(parents=True, exist_ok=True)
        made.replace(kept)
    tell(f"built {program.name} {program.release} in {time.monotonic() - began:.0f} s")
    return kept


def _sources(program: Program, folder: Path) -> Path:
    """Where it is built, each by its own go.mod and go.sum; in a copy where a file of ours is added."""
    if not program.version:
        return PROGRAMS
    if not program.addition:
        return source(program)
    copy = folder / "source"
    shutil.copytree(source(program), copy, copy_function=shutil.copyfile)
    for inner in (copy, *(path for path in copy.rglob("*") if path.is_dir())):
        inner.chmod(0o755)  # modules are kept read-only
    shutil.copyfile(PROGRAMS / "_additions" / Path(program.addition).name, copy / program.addition)
    return copy


def _environment() -> dict[str, str]:
    return {**os.environ, "GOFLAGS": "-mod=readonly -buildvcs=false -trimpath"}


def _stamped(program: Program) -> str:
    """Kubernetes reads its own release, for the versions of its APIs and features."""
    if program.module != "k8s.io/kubernetes":
        return ""
    major, minor = program.release.removeprefix("v").split(".")[:2]
    facts = {"gitVersion": program.release, "gitMajor": major, "gitMinor": minor}
    return " ".join(f"-X k8s.io/component-base/version.{name}={value}" for name, value in facts.items())
