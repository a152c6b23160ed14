"""A client without a valid token learns nothing and changes nothing: every request gets the same answer."""

import base64
from collections.abc import Iterator

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tests.faults.server_process import ServerProcess, running_server
from tests.faults.wires import asked, wire
from tests.fuzz.request_strategies import METHODS, PLACES, Asked, requests
from understudy.objects.resources import CONFIG_MAPS, PODS

MAPS = CONFIG_MAPS.path("default")
POD = {"metadata": {"name": "one"}, "spec": {"containers": [{"name": "main", "image": "x"}]}}
NO_ENTRY = (
    b'{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Unauthorized",'
    b'"reason":"Unauthorized","code":401}'
)
UPGRADE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec_WebSocket_Version": "13",
    "Sec_WebSocket_Key": base64.b64encode(bytes(16)).decode(),
    "Sec_WebSocket_Protocol": "v5.channel.k8s.io",
}


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    with running_server() as server:
        assert asked(server.config, "POST", PODS.path("default"), msgspec.json.encode(POD)).status == 201
        before = _state(server)
        yield server
        assert _state(server) == before
        server.check_health()


def _state(server: ServerProcess) -> bytes:
    """A list says the revision of the whole store."""
    return asked(server.config, "GET", MAPS).body


def credentials(token: str) -> st.SearchStrategy[str]:
    """None at all, and what is nearly right."""
    near = [
        token[:-1],
        f"{token}x",
        token.upper(),
        f"x{token}",
        f"{token},{token}",
        f'"{token}"',
        token[::-1],
        "",
        "\xff",  # HTTP itself has no room for DEL
    ]
    schemes = ["Bearer {}", "bearer  {}", "Basic {}", "Digest {}", "{}", "Token {}", "Bearer\t{}"]
    wrong = st.builds(str.format, st.sampled_from(schemes), st.sampled_from([one for one in near if one != token]))
    others = st.sampled_from([f"Basic {base64.b64encode(f'admin:{token}'.encode()).decode()}", f"Token {token}", token])
    return st.just("") | wrong | others


def check_no_entry(server: ServerProcess, request: Asked, authorization: str) -> None:
    with wire(server.config) as line:
        headers = {name.replace("-", "_"): value for name, value in request.headers.items()}
        line.send(line.request(request.method, request.path, request.body, Authorization=authorization, **headers))
        reply = line.reply(request.method)
    assert (reply.status, reply.body) == (401, b"" if request.method == "HEAD" else NO_ENTRY)
    assert set(reply.headers) <= {"content-type", "content-length", "www-authenticate", "connection"}
    assert reply.headers["www-authenticate"] == "Bearer"


@settings(max_examples=examples(150), suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_any_request_without_a_valid_token_gets_the_same_refusal(server: ServerProcess, data: st.DataObject) -> None:
    request = data.draw(requests())
    check_no_entry(server, request, data.draw(credentials(server.config.token)))


@pytest.mark.parametrize("method", METHODS)
def test_so_does_what_the_server_says_about_itself(server: ServerProcess, method: str) -> None:
    for path in (*PLACES, "/readyz", "/livez", "/nowhere", "/api/v1/nodes", "/favicon.ico", "*"):
        check_no_entry(server, Asked(method, path, {}), "")


def test_a_token_counts_nowhere_but_in_its_header(server: ServerProcess) -> None:
    token = server.config.token
    path = f"{MAPS}?token={token}&access_token={token}&authorization=Bearer+{token}"
    check_no_entry(server, Asked("GET", path, {"Cookie": f"token={token}", "X-Auth-Token": token}), "")
    protocol = f"base64url.bearer.authorization.k8s.io.{base64.urlsafe_b64encode(token.encode()).decode().rstrip('=')}"
    check_no_entry(server, Asked("GET", MAPS, {"Proxy-Authorization": f"Bearer {token}", "X-Remote-User": "admin"}), "")
    check_no_entry(server, Asked("GET", MAPS, {"Sec-WebSocket-Protocol": protocol, "Impersonate-User": "admin"}), "")


@pytest.mark.parametrize("path", [PODS.path("default", "one", "exec"), PODS.path("default", "two", "exec"), MAPS, "/x"])
def test_websockets_are_not_opened(server: ServerProcess, path: str) -> None:
    for authorization in ("", "Bearer x"):
        with wire(server.config) as line:
            line.send(line.request("GET", f"{path}?command=true", b"", Authorization=authorization, **UPGRADE))
            reply = line.reply()
        assert (reply.status, reply.body) == (401, NO_ENTRY)


def test_what_a_stranger_sends_is_not_waited_for(server: ServerProcess) -> None:
    with wire(server.config) as line:
        line.send(
            line.request("POST", MAPS, Authorization="", Content_Length=str(10**12), Content_Type="application/json")
        )
        assert line.reply().body == NO_ENTRY
    with wire(server.config) as line:
        head = line.request("POST", MAPS, Authorization="", Transfer_Encoding="chunked", Expect="100-continue")
        line.send(head)
        assert line.reply().body == NO_ENTRY


def test_one_connection_may_be_shared_by_friend_and_stranger(server: ServerProcess) -> None:
    """What was allowed for one request does not count for the next."""
    with wire(server.config) as line:
        line.send(line.request("GET", MAPS) + line.request("GET", MAPS, Authorization="") + line.request("GET", MAPS))
        assert [line.reply().status for _ in range(3)] == [200, 401, 200]
