"""How many examples of a law a test tries, where a law needs more or fewer than the profile says."""

from hypothesis import settings

_THOROUGH = 100  # examples of a law in the thorough profile, which is the default of Hypothesis


def examples(thorough: int) -> int:
    """`thorough` examples in thorough tests, and the same share of them as of other laws in other profiles."""
    return max(thorough * settings.default.max_examples // _THOROUGH, 5) if settings.default else thorough


def seeds(thorough: int) -> range:
    """The seeds of a law that draws its examples itself: all of them in thorough tests, a tenth of them elsewhere."""
    every = settings.default is None or settings.default.max_examples >= _THOROUGH
    return range(thorough if every else thorough // 10)
