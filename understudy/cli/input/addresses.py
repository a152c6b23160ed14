"""Addresses to listen on, as users write them."""

from understudy.cli.errors import BadInput


def parse_listen(text: str, example: str) -> tuple[str, int]:
    """HOST:PORT of the option --listen; without a host, every address of this machine."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdigit() or int(port) > 65535:
        raise BadInput(f"--listen {text}: expected HOST:PORT, such as {example}")
    return host.strip("[]") or "0.0.0.0", int(port)
