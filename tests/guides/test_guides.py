"""Every command of a guide prints what the guide shows, on a cluster with real processes, and all rules are kept."""

import asyncio
import shutil
from pathlib import Path

import pytest

from tests.cli.homes import make_cluster_in
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
}


@pytest.mark.parametrize("name", sorted(RULES))
def test_a_guide_comes_true(name: str, tmp_path: Path) -> None:
    steps = transcripts.read(GUIDES / f"{name}.md")
    assert steps
    if any("kubectl " in step.command for step in steps) and shutil.which("kubectl") is None:
        pytest.skip("the guide uses kubectl, which is not on the PATH")

    async def played() -> None:
        async with terminal(tmp_path, RULES[name]) as typing:
            make_cluster_in(typing.home, "another")  # readers may have one already
            await typing.play(steps)

    asyncio.run(played())


@pytest.mark.parametrize("name", sorted(RULES))
def test_a_guide_shows_files_as_they_are(name: str) -> None:
    for file, shown in transcripts.excerpts((GUIDES / f"{name}.md").read_text()):
        assert shown in (ROOT / file).read_text(), f"{name}.md shows what {file} does not have:\n{shown}"
