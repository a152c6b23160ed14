"""Regular expressions of schemas, matched by RE2 as in Kubernetes: in time that grows with the length of the text only.

With Python's own engine a short pattern and a short text can take for ever, and both come from clients.
"""

from functools import lru_cache

import re2  # type: ignore[import-untyped]

from understudy.embedded.schema.custom.work_budget import WorkBudget

_INSTRUCTIONS_PER_UNIT = 500  # RE2 may fall back to following every instruction of a pattern at every character
_OPTIONS = re2.Options()
_OPTIONS.log_errors = False


class BadPattern(ValueError):
    """RE2 does not accept the pattern; look-around and back-references are not part of its language."""


class Pattern:
    def __init__(self, text: str) -> None:
        try:
            self._compiled = re2.compile(_encodable(text), _OPTIONS)
        except re2.error as error:
            (reason,) = error.args
            raise BadPattern(reason.decode(errors="replace")) from None
        self._units_per_character = 1 + self._compiled.programsize // _INSTRUCTIONS_PER_UNIT

    def search(self, text: str, budget: WorkBudget) -> bool:
        """Whether the pattern matches anywhere in the text."""
        budget.spend(1 + len(text) * self._units_per_character)
        return self._compiled.search(_encodable(text)) is not None


@lru_cache(maxsize=256)
def compiled(text: str) -> Pattern:
    return Pattern(text)


def _encodable(text: str) -> str:
    """RE2 reads UTF-8, which has no lone surrogates."""
    return text if text.isascii() else text.encode(errors="replace").decode()
