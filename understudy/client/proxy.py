"""Connects to a server through an HTTP proxy, with CONNECT."""

import asyncio
import base64
import socket
from urllib.parse import unquote, urlsplit

LONGEST_ANSWER = 16 * 1024  # bytes of the proxy's response


async def connect_through_proxy(proxy: str, host: str, port: int) -> socket.socket:
    """Raises OSError if the proxy cannot be reached or refuses."""
    loop, url = asyncio.get_running_loop(), urlsplit(proxy)
    found = await loop.getaddrinfo(url.hostname, url.port or 80, type=socket.SOCK_STREAM)
    family, kind, protocol, _, address = found[0]
    sock = socket.socket(family, kind, protocol)
    try:
        sock.setblocking(False)
        await loop.sock_connect(sock, address)
        where = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        await loop.sock_sendall(sock, f"CONNECT {where} HTTP/1.1\r\nHost: {where}\r\n{_login(proxy)}\r\n".encode())
        answer = b""
        while b"\r\n\r\n" not in answer and len(answer) < LONGEST_ANSWER:
            piece = await loop.sock_recv(sock, 1)  # byte by byte, so as not to read data of the server behind it
            if not piece:
                break
            answer += piece
        status = answer.split(b"\r\n")[0].split(b" ")
        if len(status) < 2 or status[1] != b"200":
            words = answer.split(b"\r\n")[0].decode(errors="replace") or "nothing"
            raise ConnectionError(f"the proxy {url.hostname}:{url.port or 80} answered {words}")
    except BaseException:
        sock.close()
        raise
    return sock


def _login(proxy: str) -> str:
    url = urlsplit(proxy)
    if not url.username:
        return ""
    login = base64.b64encode(f"{unquote(url.username)}:{unquote(url.password or '')}".encode()).decode()
    return f"Proxy-Authorization: Basic {login}\r\n"
