"""GET endedpods: the pods of a job whose logs are kept, and those logs."""

import asyncio
import json
from pathlib import Path
from typing import Any

import msgspec

from tests.embedded.server.in_process_server import Server, pod, server
from understudy.embedded.ended_pods import EndedPod, note_of
from understudy.embedded.shim import container_files
from understudy.embedded.shim.pod_folders import pod_folder

PATH = "/apis/understudy.dev/v1/namespaces/default/endedpods"


def keep(ask: Server, uid: str, attempt: int, *lines: str, namespace: str = "default") -> None:
    folder = pod_folder(ask.state.folder.ended_pods, uid)
    log = folder.attempt("main", 0).log
    log.parent.mkdir(parents=True)
    log.write_text(
        "".join(f"2023-11-14T22:13:{second:02d}.000000000Z stdout F {line}\n" for second, line in enumerate(lines))
    )
    body: dict[str, Any] = pod(f"train-{uid}")
    body["metadata"] |= {"uid": uid, "namespace": namespace}
    ended = EndedPod(f"Job/{namespace}/train", "j/train", attempt, msgspec.Raw(json.dumps(body).encode()))
    container_files.write(note_of(folder), ended)


def test_the_pods_of_a_job_that_are_gone_and_their_logs(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            keep(ask, "b", 2, "again")
            keep(ask, "a", 1, "first", "saved")
            keep(ask, "c", 1, "secret", namespace="other")
            found = (await ask.get(f"{PATH}?job=Job/train"))["items"]
            assert [(one["attempt"], one["pod"]["metadata"]["uid"]) for one in found] == [(1, "a"), (2, "b")]
            assert (await ask.get(f"{PATH}?job=Job/other"))["items"] == []
            assert (await ask.get(PATH))["items"] == found
            assert (await ask("GET", f"{PATH}/a/log")).body == b"first\nsaved\n"
            assert (await ask("GET", f"{PATH}/a/log?tailLines=1&follow=true")).body == b"saved\n"

    asyncio.run(scenario())


def test_what_is_not_there_is_not_found(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            keep(ask, "c", 1, "secret", namespace="other")
            for path, code in (
                (f"{PATH}/c/log", 404),
                (f"{PATH}/x/log", 404),
                (f"{PATH}?job=train", 400),
                (f"{PATH}/../log", 404),
            ):
                assert (await ask("GET", path)).code == code, path
            assert (await ask("POST", PATH, {})).code == 405

    asyncio.run(scenario())
