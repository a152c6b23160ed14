"""AWS: the instance metadata of EC2 into announcements, asked with a session token (IMDSv2)."""

import asyncio
import json
from datetime import datetime
from http import HTTPStatus
from typing import Any

from understudy.node_agent.notices.announcements import Announcement, Announcements, Endpoint, Source
from understudy.node_agent.notices.metadata_server import Answer, Ask, Headers, MetadataServer, NoAnswer

TOKEN_PATH = "/latest/api/token"
TOKEN_SECONDS = 21_600
INTERVAL = 2.0  # seconds; a notice comes 120 s ahead
REBALANCE = "rebalance-recommendation"
WITHIN = 120.0  # seconds that AWS gives a spot instance
_STAYS = ("InService", "Standby")
_NO_SUCH_REQUEST = (HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED)


def parse_instance_action(body: bytes) -> Announcements:
    """`{"action": "terminate", "time": "2026-09-18T08:22:00Z"}`"""
    document = _document(body)
    action = document.get("action")
    if not isinstance(action, str) or not action.isalpha():
        raise ValueError("it names no action")
    return (Announcement(f"spot-{action}", deadline=_time(document.get("time")), within=WITHIN),)


def parse_rebalance(body: bytes) -> Announcements:
    """`{"noticeTime": "2026-10-26T20:52:25Z"}`: the risk is higher than usual, and no time is named."""
    at = _time(_document(body).get("noticeTime"))
    return (Announcement(REBALANCE, deadline=at + WITHIN, at=at),)


def parse_lifecycle_state(body: bytes) -> Announcements:
    """The state that the instance's Auto Scaling group wants it in: `InService`, `Warmed:Stopped`, `Terminated`."""
    state = body.decode("ascii", "replace").strip()
    if state == "Terminated":
        return (Announcement("autoscaling-terminated", within=WITHIN),)
    if state in _STAYS or state.startswith("Warmed:"):
        return ()
    raise ValueError(f"{state[:40]!r} is no lifecycle state")


def _document(body: bytes) -> dict[str, Any]:
    document = json.loads(body)
    if not isinstance(document, dict):
        raise ValueError("it is no JSON object")
    return document


def _time(text: object) -> float:
    moment = datetime.fromisoformat(str(text))
    if moment.tzinfo is None:
        raise ValueError(f"{text!r} has no time zone")
    return moment.timestamp()


class TokenSession:
    """Requests with one token, which is made anew when the server no longer accepts it."""

    def __init__(self, server: MetadataServer) -> None:
        self._server = server
        self._token = ""
        self._turn = asyncio.Lock()

    async def ask(self, path: str, headers: Headers) -> Answer:
        answer = await self._server.get(path, [*headers, *await self._token_header()])
        if answer.status != HTTPStatus.UNAUTHORIZED:
            return answer
        self._token = ""
        return await self._server.get(path, [*headers, *await self._token_header()])

    async def _token_header(self) -> Headers:
        async with self._turn:
            if not self._token:
                self._token = await self._new_token()
        return [("X-aws-ec2-metadata-token", self._token)] if self._token else []

    async def _new_token(self) -> str:
        """Empty where the server gives out no tokens: then it answers without."""
        header = ("X-aws-ec2-metadata-token-ttl-seconds", str(TOKEN_SECONDS))
        answer = await self._server.send("PUT", TOKEN_PATH, [header])
        if answer.status in _NO_SUCH_REQUEST:
            return ""
        token = answer.body.decode("ascii", "replace").strip()
        if answer.status != HTTPStatus.OK or not token.isprintable() or not token.isascii():
            raise NoAnswer(f"no session token: status {answer.status}")
        return token


def ask_with_token(server: MetadataServer) -> Ask:
    return TokenSession(server).ask


AWS = Source(
    name="aws",
    address="http://169.254.169.254",
    endpoints=(
        Endpoint("/latest/meta-data/spot/instance-action", parse_instance_action, interval=INTERVAL),
        Endpoint("/latest/meta-data/autoscaling/target-lifecycle-state", parse_lifecycle_state, interval=INTERVAL),
        Endpoint("/latest/meta-data/events/recommendations/rebalance", parse_rebalance, interval=INTERVAL),
    ),
    ask=ask_with_token,
)
