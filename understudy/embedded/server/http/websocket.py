"""A WebSocket: accepted once, then whole messages in both directions."""

from collections.abc import AsyncIterator, Sequence

from understudy.embedded.server.http.request import Receive, Scope, Send
from understudy.embedded.server.http.response import Response


class WebSocket:
    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.subprotocols: Sequence[str] = scope.get("subprotocols", ())
        self.accepted = False
        self._receive = receive
        self._send = send

    async def accept(self, subprotocol: str | None) -> None:
        await self._send({"type": "websocket.accept", "subprotocol": subprotocol})
        self.accepted = True

    async def refuse(self, response: Response) -> None:
        """Sends an HTTP response instead of the upgrade."""
        headers = [
            (b"content-type", response.content_type),
            (b"content-length", str(len(response.body)).encode()),
            *response.headers,
        ]
        await self._send({"type": "websocket.http.response.start", "status": response.code, "headers": headers})
        await self._send({"type": "websocket.http.response.body", "body": response.body})

    async def send(self, message: bytes) -> None:
        await self._send({"type": "websocket.send", "bytes": message})

    async def close(self, code: int = 1000) -> None:
        await self._send({"type": "websocket.close", "code": code})

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Messages until the client disconnects."""
        while True:
            message = await self._receive()
            match message["type"]:
                case "websocket.receive":
                    data = message.get("bytes")
                    yield data if data is not None else message.get("text", "").encode()
                case "websocket.disconnect":
                    return
