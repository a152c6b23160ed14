"""Document 001, to the letter: one GPU, two MPI jobs, and the more important one takes it."""

import asyncio
from pathlib import Path

from tests.guides.terminal import Terminal, terminal
from tests.seeds import texts
from tests.seeds.preemptions import HOW_IT_FARES, OTHERWISE, as_asked, needs, perform_in_any_order, runs_again, start

HERE = (
    *OTHERWISE,
    (r"^NAME +IPADDRESS +ROLE +GPU", "NAME IPADDRESS ROLE STATUS GPU"),  # a column that document 004 has
    (r"^(192\S+ +192\S+ +\S+) +(\d)", r"\1 ready \2"),
    (r"cn-hangzhou\.", ""),  # the document has two names for the node
    (r"(1 \(100%\)\n-+)\Z", r"\1\n\nAllocated/Total GPUs In Cluster: 1/1 (100%)"),  # cut off in its last picture
)


@HOW_IT_FARES
def test_the_only_gpu_changes_hands(tmp_path: Path, fails: bool) -> None:
    steps = as_asked(texts.steps("001", HERE), "medium", fails)
    assert len(steps) == 10
    needs("kubectl")
    (tmp_path / "pc.yaml").write_text(texts.blocks("001")[0])

    async def scenario() -> None:
        async with terminal(tmp_path) as typing:
            await start(typing, "one-gpu")
            for step in steps:
                await (perform_in_any_order if "kubectl get events" in step.command else Terminal.perform)(typing, step)
            if not fails:
                await typing.types("understudy delete critical")
                first_look = next(step for step in steps if step.command == "understudy get medium")
                await typing.perform(runs_again(first_look))

    asyncio.run(scenario())
