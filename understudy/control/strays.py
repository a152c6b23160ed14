"""Pods that came before their job: each kind has a watch of its own, and one may be ahead of another.

How many belong to the gang only the job says. Until it must have been seen, if it is there at all, nobody is seated:
else the first pods that are made would be taken for the whole gang.
"""

from msgspec.structs import replace

from understudy.model.gangs import Gang


class Strays:
    def __init__(self, lag: float = 0.0) -> None:
        """`lag` are the seconds by which one kind may be seen later than another; 0: they are seen in order."""
        self.lag = lag
        self._until: dict[str, float] = {}  # gangs without a job, and when they are gangs all the same
        self._waiting: set[str] = set()

    def due(self, now: float) -> list[str]:
        """Those whose time has come since this was asked before."""
        found = [key for key in self._waiting if self._until[key] <= now]
        self._waiting.difference_update(found)
        return found

    def judged(self, key: str, gang: Gang | None, owned: bool, now: float) -> Gang | None:
        """The gang that was told from pods alone. One that sits is left as it is: its job may have just gone.

        Pods that are `owned` by a job that is not there are never seated: the job will be seen, or they are garbage, of
        which some may be collected already. Others may belong to no job."""
        if gang is None or not self.lag or gang.seated():
            return gang
        if not owned:
            if self._until.setdefault(key, now + self.lag) <= now:
                return gang
            self._waiting.add(key)
        return replace(gang, awaits=(*gang.awaits, f"{gang.title} has not been seen, only pods of it"))

    def claimed(self, key: str) -> None:
        """The job is there, or none of its pods is any more."""
        if self._until.pop(key, None) is not None:
            self._waiting.discard(key)

    def next_look(self) -> float | None:
        return min((self._until[key] for key in self._waiting), default=None)
