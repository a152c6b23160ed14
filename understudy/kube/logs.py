"""One line for everything that happens, for people or for whoever collects them."""

import logging
import sys
from datetime import UTC, datetime
from typing import Literal

import msgspec

Form = Literal["text", "json"]
FIELDS = ("action", "gang")  # what some lines say of themselves besides their words

_encode = msgspec.json.Encoder().encode


class JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "part": record.name.removeprefix("understudy."),
            "message": record.getMessage(),
            **{field: value for field in FIELDS if (value := getattr(record, field, None)) is not None},
        }
        if record.exc_info:
            line["trace"] = self.formatException(record.exc_info)
        return _encode(line).decode()


def log_to_stderr(form: Form, level: str) -> None:
    handler = logging.StreamHandler(sys.stderr)
    plain = logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s")
    handler.setFormatter(JsonLines() if form == "json" else plain)
    logging.basicConfig(level={"warn": "WARNING"}.get(level, level.upper()), handlers=[handler], force=True)
