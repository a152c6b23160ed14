"""Every command of a guide prints what the guide shows, on a cluster with real processes, and all rules are kept."""

import asyncio
import shutil
from pathlib import Path

import pytest

from tests.cli.homes import make_cluster_in
from tests.embedded.agent.python.small_packages import wheel
from tests.embedded.end_to_end.test_jobs import shared_slices
from tests.guides import transcripts
from tests.guides.terminal import ROOT, Rule, terminal

GUIDES = ROOT / "docs" / "guides"
RULES: dict[str, tuple[Rule, ...]] = {
    "hot-swap-jobsets": (shared_slices,),
    "jobset-preemption": (shared_slices,),
    "mpi-priorities": (),
    "pytorch-preemption": (),
    "checkpoints": (),
    "warm-understudies": (),
    "pod-access": (),
    "spot": (),
    "embedded": (),
    "python-of-pods": (),
}
QUICK = ("hot-swap-jobsets", "pytorch-preemption", "checkpoints")  # the others take a minute together
PLAYED = [pytest.param(name, marks=() if name in QUICK else pytest.mark.thorough) for name in sorted(RULES)]
PIP = "[global]\nno-index = true\ndisable-pip-version-check = true\n"


@pytest.mark.parametrize("name", PLAYED)
def test_a_guide_comes_true(name: str, tmp_path: Path) -> None:
    steps = transcripts.read(GUIDES / f"{name}.md")
    assert steps
    if any("kubectl " in step.command for step in steps) and shutil.which("kubectl") is None:
        pytest.skip("the guide uses kubectl, which is not on the PATH")

    async def played() -> None:
        async with terminal(tmp_path, RULES[name]) as typing:
            make_cluster_in(typing.home, "another")  # readers may have one already
            typing.place = _folder_of_reader(tmp_path, name)
            typing.environment |= _package_index(tmp_path)
            await typing.play(steps)

    asyncio.run(played())


def _folder_of_reader(tmp_path: Path, name: str) -> Path:
    """With the examples, and the files that the guide shows."""
    folder = tmp_path / "reader"
    folder.mkdir()
    (folder / "examples").symlink_to(ROOT / "examples")
    for file, text in transcripts.files((GUIDES / f"{name}.md").read_text()).items():
        (folder / file).write_text(text)
    return folder


def _package_index(tmp_path: Path) -> dict[str, str]:
    """Where pip finds the package of the guides."""
    wheel(tmp_path / "wheels", "my_package", "1.0", text="VERSION = '1.0'\n")
    (tmp_path / "pip.conf").write_text(PIP)
    return {"PIP_CONFIG_FILE": str(tmp_path / "pip.conf"), "PIP_FIND_LINKS": str(tmp_path / "wheels")}


@pytest.mark.parametrize("name", sorted(RULES))
def test_a_guide_shows_files_as_they_are(name: str) -> None:
    for file, shown in transcripts.excerpts((GUIDES / f"{name}.md").read_text()):
        assert shown in (ROOT / file).read_text(), f"{name}.md shows what {file} does not have:\n{shown}"
