"""uvicorn's HTTP connection, with bounds on how long and how slow a request may be in coming. Most of this happens
before anybody has shown a token."""

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MAX_HEAD = 64 * 1024  # bytes of request line and headers
PATIENCE_SECONDS = 30.0  # for a whole request


class GuardedProtocol(HttpToolsProtocol):
    """Requests that are too long or too slow in coming end the connection. Those that come in one piece, as most do,
    need no timer."""

    _head_size = 0  # of a head that is not complete yet
    _head_open = True
    _complete = False
    _patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
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
        if self._patience is None:
            self._wait()

    def on_message_begin(self) -> None:
        self._head_open, self._head_size, self._complete = True, 0, False
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._head_open = False
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._complete = True
        if self._patience is not None:
            self._stop_waiting()
        super().on_message_complete()

    def _wait(self) -> None:
        self._patience = self.loop.call_later(PATIENCE_SECONDS, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None
