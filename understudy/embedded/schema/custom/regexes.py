"""The text of a regular expression, in RE2's syntax as Kubernetes reads it, into a tree. What RE2 has no word for
(look-around, back-references) is refused in words, and so is what would grow too large."""

import unicodedata

import msgspec

MAX_REPEAT = 1000
MAX_LENGTH = 4096
MAX_DEPTH = 50


class BadPattern(ValueError):
    """Not a regular expression, or none that is understood here."""


class Chars(msgspec.Struct, frozen=True, tag=True):
    """Any one character of these ranges, or outside of them."""

    ranges: tuple[tuple[int, int], ...]
    negated: bool = False
    categories: tuple[tuple[str, bool], ...] = ()  # \p{L}: a Unicode category, and whether it is meant negated

    def matches(self, char: str) -> bool:
        code = ord(char)
        inside = any(low <= code <= high for low, high in self.ranges) or any(
            unicodedata.category(char).startswith(name) is not negated for name, negated in self.categories
        )
        return inside is not self.negated


class Assertion(msgspec.Struct, frozen=True, tag=True):
    kind: str  # one of start, end, word, inside


class Sequence(msgspec.Struct, frozen=True, tag=True):
    parts: tuple["Tree", ...]


class Choice(msgspec.Struct, frozen=True, tag=True):
    options: tuple["Tree", ...]


class Repeat(msgspec.Struct, frozen=True, tag=True):
    part: "Tree"
    least: int
    most: int | None


Tree = Chars | Assertion | Sequence | Choice | Repeat

DIGIT = ((48, 57),)
WORD = ((48, 57), (65, 90), (95, 95), (97, 122))
SPACE = ((9, 10), (12, 13), (32, 32))
_CLASSES = {"d": DIGIT, "w": WORD, "s": SPACE}
_NAMED = {
    "alnum": ((48, 57), (65, 90), (97, 122)), "alpha": ((65, 90), (97, 122)), "ascii": ((0, 127),),
    "blank": ((9, 9), (32, 32)), "cntrl": ((0, 31), (127, 127)), "digit": DIGIT, "graph": ((33, 126),),
    "lower": ((97, 122),), "print": ((32, 126),), "punct": ((33, 47), (58, 64), (91, 96), (123, 126)),
    "space": ((9, 13), (32, 32)), "upper": ((65, 90),), "word": WORD, "xdigit": ((48, 57), (65, 70), (97, 102)),
}  # fmt: skip
_CONTROLS = {"n": 10, "r": 13, "t": 9, "f": 12, "v": 11, "a": 7}
_ASSERTIONS = {"A": "start", "z": "end", "b": "word", "B": "inside"}


def parse(text: str) -> Tree:
    if len(text) > MAX_LENGTH:
        raise BadPattern(f"the pattern is longer than {MAX_LENGTH} characters")
    reader = _Reader(text)
    tree = reader.choice(0)
    if reader.rest():
        raise BadPattern(f"unexpected ) at position {reader.at}")
    return tree


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.ignore_case = False
        self.dot_all = False

    def rest(self) -> bool:
        return self.at < len(self.text)

    def peek(self, length: int = 1) -> str:
        return self.text[self.at : self.at + length]

    def take(self) -> str:
        if not self.rest():
            raise BadPattern("the pattern ends too early")
        self.at += 1
        return self.text[self.at - 1]

    def accept(self, expected: str) -> bool:
        if self.text.startswith(expected, self.at):
            self.at += len(expected)
            return True
        return False

    def choice(self, depth: int) -> Tree:
        if depth > MAX_DEPTH:
            raise BadPattern(f"groups are nested deeper than {MAX_DEPTH}")
        options = [self.sequence(depth)]
        while self.accept("|"):
            options.append(self.sequence(depth))
        return options[0] if len(options) == 1 else Choice(tuple(options))

    def sequence(self, depth: int) -> Tree:
        parts: list[Tree] = []
        while self.rest() and self.peek() not in "|)":
            parts.append(self.repeated(self.atom(depth)))
        return Sequence(tuple(parts))

    def repeated(self, part: Tree) -> Tree:
        """Greedy or not makes no difference to whether something matches."""
        bounds = self.bounds()
        if bounds is None:
            return part
        self.accept("?")
        if self.bounds() is not None:
            raise BadPattern(f"a repetition is repeated before position {self.at}")
        return Repeat(part, *bounds)

    def bounds(self) -> tuple[int, int | None] | None:
        for mark, bounds in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self.accept(mark):
                return bounds
        end = self.text.find("}", self.at)
        if self.peek() != "{" or end < 0:
            return None
        least, comma, most = self.text[self.at + 1 : end].partition(",")
        if not least.isdecimal() or not (most == "" or most.isdecimal()):
            return None  # an ordinary brace
        self.at = end + 1
        found = int(least), (int(most) if most else None) if comma else int(least)
        if max(found[0], found[1] or 0) > MAX_REPEAT or (found[1] is not None and found[1] < found[0]):
            raise BadPattern(f"the repetition {{{least}{comma}{most}}} is not possible; {MAX_REPEAT} is the most")
        return found

    def atom(self, depth: int) -> Tree:
        match self.take():
            case "(":
                return self.group(depth)
            case "[":
                return self.bracket()
            case ".":
                return Chars((), negated=True) if self.dot_all else Chars(((10, 10),), negated=True)
            case "^":
                return Assertion("start")
            case "$":
                return Assertion("end")
            case "\\":
                return self.escape()
            case "*" | "+" | "?" as mark:
                raise BadPattern(f"nothing to repeat before {mark} at position {self.at - 1}")
            case char:
                return self.literal(ord(char))

    def literal(self, code: int) -> Chars:
        return self.folded(((code, code),))

    def folded(self, ranges: tuple[tuple[int, int], ...]) -> Chars:
        if not self.ignore_case:
            return Chars(ranges)
        both = [*ranges]
        for low, high in ranges:
            for first, last, shift in ((65, 90, 32), (97, 122, -32)):
                if max(low, first) <= min(high, last):
                    both.append((max(low, first) + shift, min(high, last) + shift))
        return Chars(tuple(both))

    def group(self, depth: int) -> Tree:
        outside = self.ignore_case, self.dot_all
        if self.accept("?"):
            if self.accept("P<") or (self.peek() == "<" and self.peek(2) not in ("<=", "<!") and self.accept("<")):
                self.name()
            elif not self.flags():
                return Sequence(())  # (?i) lasts to the end of the group it stands in
        tree = self.choice(depth + 1)
        if not self.accept(")"):
            raise BadPattern("a group is not closed")
        self.ignore_case, self.dot_all = outside
        return tree

    def name(self) -> None:
        while self.take() != ">":
            pass

    def flags(self) -> bool:
        """Reads `i:` or `i)`. Whether a group follows, as after the colon."""
        on = True
        while (mark := self.take()) not in ":)":
            match mark:
                case "i":
                    self.ignore_case = on
                case "s":
                    self.dot_all = on
                case "-":
                    on = False
                case "U":
                    pass
                case _:
                    raise BadPattern(f"(?{mark} is not supported: there is no look-around, and no flags but i, s and U")
        return mark == ":"

    def escape(self) -> Tree:
        if self.peek() in _ASSERTIONS:
            return Assertion(_ASSERTIONS[self.take()])
        if self.accept("Q"):
            end = self.text.find("\\E", self.at)
            quoted = self.text[self.at : end if end >= 0 else None]
            self.at += len(quoted) + (2 if end >= 0 else 0)
            return Sequence(tuple(self.literal(ord(char)) for char in quoted))
        found = self.escaped()
        return found if found.negated or found.categories else msgspec.structs.replace(self.folded(found.ranges))

    def escaped(self) -> Chars:
        char = self.take()
        if char.lower() in _CLASSES and char.isalpha():
            return Chars(_CLASSES[char.lower()], negated=char.isupper())
        if char in "pP":
            return self.category(negated=char == "P")
        if char in _CONTROLS:
            return Chars(((_CONTROLS[char],) * 2,))
        if char == "x":
            return Chars(((self.code(),) * 2,))
        if char.isalnum():
            raise BadPattern(f"\\{char} is not supported")
        return Chars(((ord(char),) * 2,))

    def code(self) -> int:
        digits = ""
        if self.accept("{"):
            while (char := self.take()) != "}":
                digits += char
        else:
            digits = self.take() + self.take()
        try:
            code = int(digits, 16)
        except ValueError:
            raise BadPattern(f"\\x{digits} is not a character") from None
        if code > 0x10FFFF:
            raise BadPattern(f"\\x{{{digits}}} is not a character")
        return code

    def category(self, *, negated: bool) -> Chars:
        name = ""
        if self.accept("{"):
            while (char := self.take()) != "}":
                name += char
        else:
            name = self.take()
        if name not in _CATEGORIES:
            raise BadPattern(f"\\p{{{name}}} is not supported")
        return Chars((), categories=((name, negated),))

    def bracket(self) -> Chars:
        negated = self.accept("^")
        ranges: list[tuple[int, int]] = []
        categories: list[tuple[str, bool]] = []
        first = True
        while first or self.peek() != "]":
            first = False
            one = self.member()
            if one.negated:
                ranges += _outside(one.ranges)
            elif self.peek() == "-" and self.peek(2) != "-]" and _single(one):
                self.take()
                ranges.append(self.up_to(one))
            else:
                ranges += one.ranges
            categories += one.categories
        self.take()
        folded = self.folded(tuple(ranges))
        return Chars(folded.ranges, negated, tuple(categories))

    def up_to(self, low: Chars) -> tuple[int, int]:
        high = self.member()
        if not _single(high) or high.ranges[0][0] < low.ranges[0][0]:
            raise BadPattern(f"a range in brackets runs backwards before position {self.at}")
        return low.ranges[0][0], high.ranges[0][0]

    def member(self) -> Chars:
        if self.accept("[:"):
            end = self.text.find(":]", self.at)
            name = self.text[self.at : end] if end >= 0 else ""
            if name.removeprefix("^") not in _NAMED:
                raise BadPattern(f"[:{name}:] is not a class of characters")
            self.at = end + 2
            return Chars(_NAMED[name.removeprefix("^")], negated=name.startswith("^"))
        char = self.take()
        return self.escaped() if char == "\\" else Chars(((ord(char),) * 2,))


_CATEGORIES = {"L", "Ll", "Lu", "Lt", "Lm", "Lo", "N", "Nd", "Nl", "No", "P", "S", "Z", "Zs", "M", "C"}


def _single(chars: Chars) -> bool:
    return len(chars.ranges) == 1 and chars.ranges[0][0] == chars.ranges[0][1] and not chars.negated


def _outside(ranges: tuple[tuple[int, int], ...]) -> list[tuple[int, int]]:
    edges = sorted(ranges)
    found, start = [], 0
    for low, high in edges:
        if low > start:
            found.append((start, low - 1))
        start = max(start, high + 1)
    return [*found, (start, 0x10FFFF)]
