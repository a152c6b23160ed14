"""SPDY/3.1, as far as kubectl needs it: bytes into frames, and frames into bytes. kubectl speaks it inside a WebSocket
when it forwards ports."""

import struct
import zlib
from collections.abc import Iterator, Mapping

import msgspec

_VERSION = 3
_SYN_STREAM, _SYN_REPLY, _RST_STREAM, _PING, _GOAWAY = 1, 2, 3, 6, 7
_CONTROL, _FIN = 1 << 31, 1
_HEAD = 8  # bytes before the content of any frame
_LARGEST = 1 << 20  # bytes in one frame; clients send far less
_ID = 0x7FFFFFFF

# Both sides compress headers with a dictionary that the protocol defines: words, each with its length, and more text.
_WORDS = (
    "options head post put delete trace accept accept-charset accept-encoding accept-language accept-ranges age allow "
    "authorization cache-control connection content-base content-encoding content-language content-length "
    "content-location content-md5 content-range content-type date etag expect expires from host if-match "
    "if-modified-since if-none-match if-range if-unmodified-since last-modified location max-forwards pragma "
    "proxy-authenticate proxy-authorization range referer retry-after server te trailer transfer-encoding upgrade "
    "user-agent vary via warning www-authenticate method get status 200+OK version HTTP/1.1 url public set-cookie "
    "keep-alive origin"
)
_TEXT = (
    "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505"
    "203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized403 Forbidden"
    "404 Not Found500 Internal Server Error501 Not Implemented503 Service UnavailableJan Feb Mar Apr May Jun Jul Aug "
    "Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMTchunked,text/html,image/png,image/jpg,image/gif,"
    "application/xml,application/xhtml+xml,text/plain,text/javascript,publicprivatemax-age=gzip,deflate,sdch"
    "charset=utf-8charset=iso-8859-1,utf-,*,enq=0."
)


def _words() -> list[str]:
    return [word.replace("+", " ") for word in _WORDS.split()]


DICTIONARY = b"".join(struct.pack(">I", len(word)) + word.encode() for word in _words()) + _TEXT.encode()


class Malformed(ValueError):
    """The peer does not speak SPDY/3.1."""


class StreamOpened(msgspec.Struct, frozen=True):
    stream: int
    headers: Mapping[str, str]
    ends: bool  # the peer sends nothing on it


class StreamData(msgspec.Struct, frozen=True):
    stream: int
    data: bytes
    ends: bool


class StreamReset(msgspec.Struct, frozen=True):
    stream: int


class Ping(msgspec.Struct, frozen=True):
    number: int


class GoAway(msgspec.Struct, frozen=True):
    """The peer opens no more streams."""


Frame = StreamOpened | StreamData | StreamReset | Ping | GoAway


class FrameReader:
    """Frames out of bytes that arrive in any pieces. Frames that say nothing here, such as settings, are left out."""

    def __init__(self) -> None:
        self._rest = b""
        self._inflate = zlib.decompressobj(zdict=DICTIONARY)

    def feed(self, data: bytes) -> Iterator[Frame]:
        self._rest += data
        while len(self._rest) >= _HEAD:
            first, second = struct.unpack_from(">II", self._rest)
            flags, length = second >> 24, second & 0xFFFFFF
            if length > _LARGEST:
                raise Malformed(f"a frame of {length} bytes; at most {_LARGEST} are taken")
            if len(self._rest) < _HEAD + length:
                return
            content = self._rest[_HEAD : _HEAD + length]
            self._rest = self._rest[_HEAD + length :]
            if not first & _CONTROL:
                yield StreamData(first & _ID, content, bool(flags & _FIN))
            elif (frame := self._control(first, flags, content)) is not None:
                yield frame

    def _control(self, first: int, flags: int, content: bytes) -> Frame | None:
        if (first >> 16) & 0x7FFF != _VERSION:
            raise Malformed("another version of SPDY than 3.1")
        try:
            match first & 0xFFFF:
                case 1:
                    stream = struct.unpack_from(">I", content)[0] & _ID
                    return StreamOpened(stream, self._headers(content[10:]), bool(flags & _FIN))
                case 3:
                    return StreamReset(struct.unpack_from(">I", content)[0] & _ID)
                case 6:
                    return Ping(struct.unpack_from(">I", content)[0])
                case 7:
                    return GoAway()
                case _:
                    return None
        except (struct.error, zlib.error) as wrong:
            raise Malformed(f"a frame that cannot be read: {wrong}") from None

    def _headers(self, block: bytes) -> dict[str, str]:
        text = self._inflate.decompress(block, _LARGEST)
        (count,), at = struct.unpack_from(">I", text), 4
        found = {}
        for _ in range(count):
            name, at = _counted(text, at)
            value, at = _counted(text, at)
            found[name.lower()] = value
        return found


def _counted(text: bytes, at: int) -> tuple[str, int]:
    (length,) = struct.unpack_from(">I", text, at)
    end = at + 4 + length
    if end > len(text):
        raise Malformed("a header that is longer than its frame")
    return text[at + 4 : end].decode("latin-1"), end


class FrameWriter:
    """Frames into bytes, in the order in which they are sent."""

    def __init__(self) -> None:
        self._deflate = zlib.compressobj(zdict=DICTIONARY)

    def accept(self, stream: int) -> bytes:
        """The answer to a stream that the peer has opened: no headers."""
        block = self._deflate.compress(struct.pack(">I", 0)) + self._deflate.flush(zlib.Z_SYNC_FLUSH)
        return _control_frame(_SYN_REPLY, struct.pack(">I", stream) + block)

    def open(self, stream: int, headers: Mapping[str, str], *, ends: bool = False) -> bytes:
        parts = [struct.pack(">I", len(headers))]
        for name, value in headers.items():
            parts += [struct.pack(">I", len(one)) + one.encode() for one in (name.lower(), value)]
        block = self._deflate.compress(b"".join(parts)) + self._deflate.flush(zlib.Z_SYNC_FLUSH)
        return _control_frame(_SYN_STREAM, struct.pack(">IIH", stream, 0, 0) + block, _FIN if ends else 0)

    @staticmethod
    def data(stream: int, data: bytes = b"", *, ends: bool = False) -> bytes:
        return struct.pack(">II", stream, (_FIN if ends else 0) << 24 | len(data)) + data

    @staticmethod
    def reset(stream: int, status: int) -> bytes:
        return _control_frame(_RST_STREAM, struct.pack(">II", stream, status))

    @staticmethod
    def pong(number: int) -> bytes:
        return _control_frame(_PING, struct.pack(">I", number))

    @staticmethod
    def go_away() -> bytes:
        return _control_frame(_GOAWAY, struct.pack(">II", 0, 0))


def _control_frame(kind: int, content: bytes, flags: int = 0) -> bytes:
    return struct.pack(">II", _CONTROL | _VERSION << 16 | kind, flags << 24 | len(content)) + content
