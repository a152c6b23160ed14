"""`$(NAME)` in commands and values: replaced where NAME is known, left as it is where not; `$$` stands for `$`."""

import re
from collections.abc import Mapping

_REFERENCE = re.compile(r"\$(?:(\$)|\(([^()]*)\))")


def expand(text: str, values: Mapping[str, str]) -> str:
    def replacement(match: re.Match[str]) -> str:
        return "$" if match[1] else values.get(match[2], match[0])

    return _REFERENCE.sub(replacement, text) if "$" in text else text
