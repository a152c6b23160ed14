"""The API of a test cluster for its set-up and for checks: one request at a time, answers as plain values."""

import contextlib
import functools
import http.client
import json
import ssl
import threading
import time
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple
from urllib.parse import urlencode, urlsplit

Object = dict[str, Any]
JSON, MERGE, APPLY = "application/json", "application/merge-patch+json", "application/apply-patch+yaml"
STRATEGIC = "application/strategic-merge-patch+json"
OWNER = "understudy-tests"
# A kind that was defined just now is served some seconds before the server can answer for it; until then it says this.
BEGINNING, PATIENCE, GLANCE = b"initializing", 60.0, 0.2


class Answer(NamedTuple):
    status: int
    text: bytes
    warnings: list[str]  # the Warning headers


class ApiError(Exception):
    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(f"{status} {reason}: {message}")
        self.status = status
        self.reason = reason
        self.message = message


class Api:
    """One connection a thread."""

    def __init__(self, server: str, tls: ssl.SSLContext, token: str) -> None:
        self.server = server
        self.token = token
        self._tls = tls
        self._lines = threading.local()

    def get(self, path: str) -> Object:
        return self.request("GET", path)

    def items(self, path: str) -> list[Object]:
        return list(self.get(path)["items"])

    def create(self, document: Object, namespace: str = "") -> Object:
        collection, _ = self.place(document, namespace)
        return self.request("POST", collection, document)

    def apply(self, document: Object, namespace: str = "") -> Object:
        """Creates the object, or updates it."""
        collection, name = self.place(document, namespace)
        query = urlencode({"fieldManager": OWNER, "force": "true"})
        return self.request("PATCH", f"{collection}/{name}?{query}", document, APPLY)

    def apply_all(self, documents: Iterable[Object], namespace: str = "") -> None:
        for document in documents:
            self.apply(document, namespace)

    def patch(self, path: str, change: object, form: str = MERGE) -> Object:
        return self.request("PATCH", path, change, form)

    def delete(self, path: str, grace: int | None = None) -> None:
        """An absent object is no error."""
        with contextlib.suppress(_NotFound):
            self.request("DELETE", path, {} if grace is None else {"gracePeriodSeconds": grace})

    def exists(self, path: str) -> bool:
        try:
            self.get(path)
        except _NotFound:
            return False
        return True

    def place(self, document: Object, namespace: str = "") -> tuple[str, str]:
        """The path of the collection that an object belongs to, and its name there."""
        group, kind = document["apiVersion"], document["kind"]
        root = f"/apis/{group}" if "/" in group else f"/api/{group}"
        plural, namespaced = self._resource(root, kind)
        metadata = document["metadata"]
        inside = metadata.get("namespace") or namespace or "default"
        prefix = f"{root}/namespaces/{inside}" if namespaced else root
        return f"{prefix}/{plural}", metadata.get("name", "")

    def path(self, document: Object, namespace: str = "") -> str:
        return "/".join(self.place(document, namespace))

    @functools.cache  # noqa: B019  a cluster has one of these, and ends with it
    def _resource(self, root: str, kind: str) -> tuple[str, bool]:
        for resource in self.get(root)["resources"]:
            if resource["kind"] == kind and "/" not in resource["name"]:
                return resource["name"], resource["namespaced"]
        raise ApiError(404, "NotFound", f"there is no {kind} at {root}")

    def request(self, method: str, path: str, body: object = None, content_type: str = JSON) -> Object:
        text = self.text(method, path, body, content_type)
        return json.loads(text) if text.startswith(b"{") else {}

    def text(self, method: str, path: str, body: object = None, content_type: str = JSON) -> bytes:
        status, text, _ = self.answer(method, path, body, {"Content-Type": content_type})
        if status >= 300:
            raise _error(status, text)
        return text

    def answer(self, method: str, path: str, body: object, headers: Mapping[str, str]) -> Answer:
        """Errors are answers, too."""
        data = None if body is None else json.dumps(body).encode()
        sent = {"Authorization": f"Bearer {self.token}", "Accept": JSON, **headers}
        deadline = time.monotonic() + PATIENCE
        while True:
            answer = self._answer(method, path, data, sent)
            if not (answer.status == 429 and BEGINNING in answer.text and time.monotonic() < deadline):
                return answer
            time.sleep(GLANCE)

    def _answer(self, method: str, path: str, data: bytes | None, headers: Mapping[str, str]) -> Answer:
        for attempt in (1, 2):
            line = self._line(anew=attempt > 1)
            try:
                line.request(method, path, data, headers)
                answer = line.getresponse()
                return Answer(answer.status, answer.read(), answer.headers.get_all("Warning") or [])
            except (ConnectionError, ssl.SSLError, http.client.HTTPException):
                line.close()  # a kept connection may have been closed by the other side meanwhile
                if attempt > 1:
                    raise
        raise AssertionError("the second attempt was the last")

    def _line(self, anew: bool) -> http.client.HTTPSConnection:
        line: http.client.HTTPSConnection | None = getattr(self._lines, "line", None)
        if line is None or anew:
            where = urlsplit(self.server)
            line = http.client.HTTPSConnection(where.hostname or "", where.port, timeout=60, context=self._tls)
            self._lines.line = line
        return line

    def close(self) -> None:
        line: http.client.HTTPSConnection | None = getattr(self._lines, "line", None)
        if line is not None:
            line.close()


class _NotFound(ApiError):
    pass


def _error(status: int, text: bytes) -> ApiError:
    try:
        told = json.loads(text)
        reason, message = told.get("reason", ""), told.get("message", "")
    except ValueError:
        reason, message = "", text.decode(errors="replace")
    return (_NotFound if status == 404 else ApiError)(status, reason, message)
