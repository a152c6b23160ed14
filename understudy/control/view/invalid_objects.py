"""Invalid objects, alone or in combination with others: recorded with the reason, so that they do not stop the rest."""

from collections.abc import Iterator, Mapping

from understudy.objects.errors import BadObject


class InvalidObjects:
    """The present problems, by object or gang, and those that were not reported yet."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}
        self._news: dict[str, str] = {}

    @property
    def known(self) -> Mapping[str, str]:
        return self._known

    def found(self, about: str, error: BadObject) -> None:
        words = str(error)
        if self._known.get(about) != words:
            self._known[about] = self._news[about] = words

    def over(self, about: str) -> None:
        if self._known and self._known.pop(about, None) is not None:
            self._news.pop(about, None)

    def news(self) -> Iterator[tuple[str, str]]:
        """(object, message), each once."""
        while self._news:
            yield self._news.popitem()
