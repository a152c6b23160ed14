"""Document 004, to the letter: a PyTorchJob on all twelve GPUs gives way to one that needs a single one.

The code comes from a repository on this machine that stands in for the one the document names.
"""

import asyncio
import shutil
import subprocess
from pathlib import Path

import msgspec

from tests.guides.terminal import ROOT, terminal
from tests.guides.transcripts import Step
from tests.seeds import texts
from tests.seeds.preemptions import HOW_IT_FARES, OTHERWISE, as_asked, needs, runs_again, start

SCRIPT = ROOT / "examples" / "pytorch-preemption" / "mnist.py"
SOURCE = "https://code.aliyun.com/370272561/mnist-pytorch.git"
HERE = (
    *OTHERWISE,
    (r"\Aunderstudy get \S+\n", ""),  # the document shows the command twice
    (r"172\.16\.0\.2(08|09|10)$", "NODE"),  # a job of three may sit on the three nodes in any order
)
MEDIUM, CRITICAL = "pytorch-priority-medium", "pytorch-priority-critical"
# Where the document has a picture that is not there.
EVENTS = f"...\n5s Normal Preempted pod/{MEDIUM}-worker-1 Preempted by default/{CRITICAL}-master-0 on node ...\n..."


@HOW_IT_FARES
def test_one_gpu_is_enough_to_drive_out_twelve(tmp_path: Path, fails: bool) -> None:
    steps = as_asked([_placed(step) for step in texts.steps("004", HERE)], MEDIUM, fails)
    assert len(steps) == 10
    needs("kubectl")
    needs("git")
    (tmp_path / "priorityClass.yaml").write_text(steps[0].shown)
    stand_in_repository(tmp_path)

    async def scenario() -> None:
        async with terminal(tmp_path) as typing:
            await start(typing, "three-by-four")
            await typing.play(steps)
            await typing.perform(Step(f"understudy logs {CRITICAL} --tail=1", "rank 0 of 1: epoch ...", 0))
            if not fails:
                await typing.types(f"understudy delete {CRITICAL}")
                first_look = next(step for step in steps if step.command == f"understudy get {MEDIUM}")
                await typing.perform(runs_again(first_look))
                await typing.perform(Step(f"understudy logs {MEDIUM} --tail=1", "rank 0 of 3: epoch ...", 0))

    asyncio.run(scenario())


def _placed(step: Step) -> Step:
    if "kubectl get events" in step.command:
        return msgspec.structs.replace(step, shown=EVENTS)
    if "STATUS: FAILED" in step.shown:  # the document lists two instances of three: here the gang is preempted whole
        step = msgspec.structs.replace(
            step, shown=f"{step.shown}\n{MEDIUM} FAILED PYTORCHJOB 2m {MEDIUM}-worker-1 NODE"
        )
    return msgspec.structs.replace(step, varies=("NODE",))


def stand_in_repository(folder: Path) -> None:
    """What git finds where the document's own repository is asked for: git looks into this home first."""
    code = folder / "mnist-pytorch"
    code.mkdir()
    shutil.copy(SCRIPT, code)
    git = ["git", "-C", str(code), "-c", "user.name=me", "-c", "user.email=me@example.com"]
    for command in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "--message", "A training script"]):
        subprocess.run([*git, *command], check=True)
    (folder / ".gitconfig").write_text(f'[url "file://{code}"]\n\tinsteadOf = {SOURCE}\n')
