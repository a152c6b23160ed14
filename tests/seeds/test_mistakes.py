"""What the documents have in the wrong place is refused with the place it belongs in, and written there it is taken."""

import asyncio
import json
from pathlib import Path
from typing import Any

from tests.guides.terminal import Terminal, terminal
from tests.seeds.preemptions import start

Document = dict[str, Any]

POD: Document = {
    "nodeSelector": {"agentpool": "spot"},
    "containers": [{"name": "tensorflow", "image": "any", "command": ["true"]}],
}


def _tfjob(worker: Document) -> Document:
    spec = {"tfReplicaSpecs": {"Worker": {"replicas": 1, **worker}}}
    return {"apiVersion": "kubeflow.org/v1", "kind": "TFJob", "metadata": {"name": "tf"}, "spec": spec}


def _jobset(job: Document) -> Document:
    kind = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet"}
    return {**kind, "metadata": {"name": "set"}, "spec": {"replicatedJobs": [{"name": "job", **job}]}}


def _job(spec: Document) -> Document:
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "trial"}, "spec": spec}


NEVER = {**POD, "restartPolicy": "Never"}
# As it is written there, where the answer says it belongs, and written like that.
MISTAKES = [
    (
        _tfjob({"spec": POD}),
        ["spec.tfReplicaSpecs.Worker.template.spec"],
        _tfjob({"template": {"spec": POD}}),
    ),
    (
        _jobset({"spec": {"template": {"spec": NEVER}}}),
        ["spec.replicatedJobs[0].template.spec"],
        _jobset({"template": {"spec": {"template": {"spec": NEVER}}}}),
    ),
    (
        _job(NEVER),
        ["spec.template.spec.nodeSelector", "spec.template.spec.containers", "spec.template.spec.restartPolicy"],
        _job({"template": {"spec": NEVER}}),
    ),
]


def test_the_answer_says_where_it_belongs(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with terminal(tmp_path) as typing:
            await start(typing, "one-gpu")
            for wrong, places, right in MISTAKES:
                await _refused(typing, wrong, places)
                await typing.apply(right)

    asyncio.run(scenario())


async def _refused(typing: Terminal, document: Document, places: list[str]) -> None:
    file = typing.place / "wrong.json"
    file.write_text(json.dumps(document))
    printed = await typing.run(f"understudy apply -f {file}")
    assert printed.code == 2
    assert "unknown field" in printed.text
    assert printed.text.rstrip().endswith(f"did you mean {', '.join(places)}?")
    assert await typing.types("understudy list -o name --type " + document["kind"].lower()) == ""
