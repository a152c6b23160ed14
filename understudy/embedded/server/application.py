"""The ASGI application: authenticates a request, has it dispatched, and turns every failure into a Status."""

import logging
from http import HTTPStatus

from understudy.embedded.schema.errors import ApiError, Details
from understudy.embedded.server.authorization.impersonation import IMPERSONATED, WITH_IMPERSONATION, impersonated
from understudy.embedded.server.dispatcher import dispatch, socket_handler_for, target_of
from understudy.embedded.server.http.request import Receive, Request, Scope, Send, read_query
from understudy.embedded.server.http.response import Response, StreamedResponse, refusal, send_response, send_stream
from understudy.embedded.server.http.websocket import WebSocket
from understudy.embedded.server.registry.state import ServerState
from understudy.embedded.store.records import StoreClosed, StoreFull, WriteFailed

MAX_IN_FLIGHT = 400  # requests with one answer; the same limit as in Kubernetes
MAX_STREAMS = 5_000  # watches, followed logs, commands in containers

log = logging.getLogger(__name__)


class Application:
    def __init__(self, state: ServerState) -> None:
        self.state = state
        self._in_flight = 0
        self._streams = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        match scope["type"]:
            case "http":
                await self._serve(scope, receive, send)
            case "websocket":
                await self._serve_socket(scope, receive, send)
            case other:
                raise ValueError(f"this application does not speak {other}")

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._in_flight += 1
        try:
            response = await dispatch(self.state, self._request(scope, receive))
        except Exception as problem:
            response = refusal(_api_error(problem, scope))
        finally:
            self._in_flight -= 1
        if isinstance(response, Response):
            await send_response(send, response)
        else:
            await self._stream(response, receive, send)

    async def _stream(self, stream: StreamedResponse, receive: Receive, send: Send) -> None:
        if self._streams >= MAX_STREAMS:
            await send_response(send, refusal(_busy()))
            return
        self._streams += 1
        try:
            await send_stream(stream, receive, send, self.state.closing)
        finally:
            self._streams -= 1

    async def _serve_socket(self, scope: Scope, receive: Receive, send: Send) -> None:
        socket = WebSocket(scope, receive, send)
        self._streams += 1
        try:
            request = self._request({**scope, "method": "GET"}, receive)
            if not request.user.is_admin:
                request = await self.state.authorizer.check(request)
            target = target_of(self.state, request)
            if self._streams > MAX_STREAMS:
                raise _busy()
            await socket_handler_for(target)(self.state, request, target, socket)
        except OSError:
            return  # the client disconnected
        except Exception as problem:
            response = refusal(_api_error(problem, scope))
            await (socket.close(1011) if socket.accepted else socket.refuse(response))
        finally:
            self._streams -= 1

    def _request(self, scope: Scope, receive: Receive) -> Request:
        """Raises a 401 for a request without a valid token."""
        headers = dict(scope["headers"])
        user = self.state.authenticator.user(headers.get(b"authorization"))
        if IMPERSONATED in headers or not headers.keys().isdisjoint(WITH_IMPERSONATION):
            user = impersonated(self.state.authorizer, user, scope["headers"])
        if self._in_flight > MAX_IN_FLIGHT:
            raise _busy()
        path: str = scope["path"]
        if path.endswith("/"):
            path = path.rstrip("/")
        text = scope["query_string"]
        return Request(scope["method"], path, text, read_query(text), headers, user, self.state.now(), receive)


def _busy() -> ApiError:
    message = "The server has received too many requests and has asked us to try again later"
    return ApiError(HTTPStatus.TOO_MANY_REQUESTS, "TooManyRequests", message, Details(retry_after_seconds=1))


def _api_error(problem: Exception, scope: Scope) -> ApiError:
    """The error that the client gets. The details of an internal error are only logged."""
    match problem:
        case ApiError():
            return problem
        case StoreFull():
            log.error("%s %r: %s", scope.get("method"), scope["path"], problem)
            return ApiError(
                HTTPStatus.INSUFFICIENT_STORAGE,
                "InsufficientStorage",
                "the write was not stored: the disk of the cluster is full",
            )
        case WriteFailed() | StoreClosed():
            log.error("%s %r: %s", scope.get("method"), scope["path"], problem)
            return ApiError(
                HTTPStatus.SERVICE_UNAVAILABLE,
                "ServiceUnavailable",
                "the write could not be stored",
                Details(retry_after_seconds=1),
            )
        case RecursionError():
            return ApiError(HTTPStatus.BAD_REQUEST, "BadRequest", "the body is nested too deeply")
        case _:
            log.error("%s %r", scope.get("method"), scope["path"], exc_info=problem)
            return ApiError(
                HTTPStatus.INTERNAL_SERVER_ERROR, "InternalError", "Internal error occurred: see the log of the server"
            )
