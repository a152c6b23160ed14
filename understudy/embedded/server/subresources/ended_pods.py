"""GET endedpods: pods of jobs that are gone and whose logs are kept; and the log of one of them."""

import asyncio
from http import HTTPStatus

import msgspec

from understudy.embedded import container_logs
from understudy.embedded.ended_pods import EndedPod, found_ended_pods
from understudy.embedded.schema.errors import ApiError, bad_request
from understudy.embedded.schema.types.pods import Pod
from understudy.embedded.server.http.request import Request
from understudy.embedded.server.http.response import TEXT, Response, StreamedResponse
from understudy.embedded.server.registry.state import ServerState
from understudy.embedded.server.subresources.pod_log import container_of, log_options
from understudy.objects.resources import PODS


class EndedPodList(msgspec.Struct, frozen=True, rename="camel"):
    api_version: str
    kind: str
    items: list[EndedPod]


async def list_ended_pods(state: ServerState, request: Request, namespace: str) -> Response:
    """`?job=Kind/name`: of which job; without it, of all jobs of the namespace."""
    kind, slash, name = request.query.get("job", "").partition("/")
    if kind and not slash:
        raise bad_request("job: name the job as Kind/name")
    found = await asyncio.to_thread(_ended_pods, state, namespace, f"{kind}/{namespace}/{name}" if kind else "")
    return Response(msgspec.json.encode(EndedPodList("understudy.dev/v1", "EndedPodList", found)))


def _ended_pods(state: ServerState, namespace: str, job: str) -> list[EndedPod]:
    everything = (ended for _, ended in found_ended_pods(state.folder.ended_pods))
    found = [one for one in everything if (one.job == job if job else one.job.split("/")[1] == namespace)]
    return sorted(found, key=lambda one: (one.job, one.place, one.attempt))


async def read_log(state: ServerState, request: Request, namespace: str, uid: str) -> StreamedResponse:
    pod = await asyncio.to_thread(_pod, state, uid)
    if pod is None or pod.metadata.namespace != namespace:
        raise ApiError(HTTPStatus.NOT_FOUND, "NotFound", f"no log of a pod {uid} is kept")
    container = container_of(pod, request.query.get("container", ""))
    options = msgspec.structs.replace(log_options(request), follow=False)
    try:
        pieces = container_logs.read(state.folder.ended_pods, uid, container, options)
    except container_logs.NoLog as none:
        raise bad_request(str(none)) from None
    return StreamedResponse(pieces, TEXT)


def _pod(state: ServerState, uid: str) -> Pod | None:
    for folder, ended in found_ended_pods(state.folder.ended_pods):
        if folder.path.name == uid:
            pod = state.served(PODS).form.load(bytes(ended.pod))
            assert isinstance(pod, Pod)
            return pod
    return None
