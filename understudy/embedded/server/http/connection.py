"""uvicorn's HTTP connection, with limits on the size and the duration of requests that may have no token yet."""

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MAX_HEAD = 64 * 1024  # bytes of request line and headers
REQUEST_SECONDS = 30.0  # for a whole request


class GuardedProtocol(HttpToolsProtocol):
    """Closes the connection when a request is too long or arrives too slowly. A request that arrives in one piece, as
    most do, needs no timer."""

    _head_size = 0  # bytes of an incomplete head
    _head_open = True
    _complete = False
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._complete or self.transport.is_closing():
            return
        if self._head_open:
            self._head_size += len(data)
            if self._head_size > MAX_HEAD:
                self.send_400_response("The request line and headers are too long.")
                return
        if self._timer is None:
            self._start_timer()

    def on_message_begin(self) -> None:
        self._head_open, self._head_size, self._complete = True, 0, False
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._head_open = False
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._complete = True
        if self._timer is not None:
            self._stop_timer()
        super().on_message_complete()

    def _start_timer(self) -> None:
        self._timer = self.loop.call_later(REQUEST_SECONDS, self.transport.close)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
