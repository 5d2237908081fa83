"""Regular expressions of Java, texts that they may match, and replacements: some with what Spark makes of them.

Those made at random are the same for each seed.
"""

from __future__ import annotations

from random import Random

TEXTS = ("k-17", "é😀-5\n", "a-1\r\n", "a\n-1\n\n", "", "\U0010ffffab-3\n", None)
EXTRACTED = {
    (r"(\w)-(\d)", "1"): ["k", "", "a", "", "", "b", None],
    (r"(\w)-(\d)", "2"): ["1", "", "1", "", "", "3", None],
    (r"-(\d+)$", "0"): ["-17", "-5", "-1", "", "", "-3", None],
    (r"-(\d+)\s*$", "0"): ["-17", "-5\n", "-1\r\n", "-1\n\n", "", "-3\n", None],
    (r"^(.+?)-", "1"): ["k", "é😀", "a", "", "", "\U0010ffffab", None],
    (r"(k)|-", "1"): ["k", "", "", "", "", "", None],
    ("[^-]$", "0"): ["7", "5", "1", "\n", "", "3", None],
}
REPLACED = {
    (r"(\w)-(\d)", r"$2\$$1$0"): ["1$kk-17", "é😀-5\n", "1$aa-1\r\n", "a\n-1\n\n", "", "\U0010ffffa3$bb-3\n", None],
    (r"\d$", "$01"): ["k-171", "é😀-51\n", "a-11\r\n", "a\n-1\n\n", "", "\U0010ffffab-31\n", None],
    (r"\s$", "\\\\"): ["k-17", "é😀-5\\", "a-1\r\\", "a\n-1\\\\", "", "\U0010ffffab-3\\", None],
    (r"\d*", ""): ["k-", "é😀-\n", "a-\r\n", "a\n-\n\n", "", "\U0010ffffab-\n", None],
}
_TERMINATORS = ("\n", "\r", "\r\n", "\u0085", "\u2028", "\u2029", "\n\r", "\n\n")
_CHARACTERS = ("a", "b", "c", "ab", "1", "_", "-", " ", "\t", "\x0b", ".", "$", "é", "Ω", "😀", *_TERMINATORS)
_ATOMS = ("a", "b", "c", "1", "-", "é", ".", "Ω", "\n", ",")
_ESCAPES = (r"\d", r"\w", r"\s", r"\D", r"\W", r"\S", r"\.", r"\$", r"\n", r"\t", r"\x61", r"\u0062", r"\-", r"\r")
_CLASSES = (
    "[ab]",
    "[^a]",
    "[a-c1-3]",
    r"[\w.-]",
    r"[^\s]",
    "[-b]",
    "[^b-]",
    r"[\n\r]",
    r"[^\d]",
    "[$.]",
    "[^é]",
    "[a&]",
)
_QUANTIFIERS = ("*", "+", "?", "{2}", "{1,2}", "{2,}", "{0,1}", "*?", "+?", "??", "{1,2}?", "{0,2}")
_REFUSED = (r"\b", "*+", "(?=a)", r"\1", "[a[b]]", "(?i)", r"\p{L}", "(|a)", "$a", "[a-z&&b]")
REPLACEMENTS = ("", "-", "<$0>", "$1", "[$1$1]", "$12", r"\$1", r"\\", r"$1\x", "é😀", "$01")


def random_pattern(random: Random) -> str:
    """A pattern, mostly one of which the meaning is certain."""
    return _alternatives(random, 3)


def random_text(random: Random) -> str:
    """A text of the characters that patterns speak of, often with a line terminator at its end."""
    text = "".join(random.choice(_CHARACTERS) for _ in range(random.randrange(8)))
    return text + (random.choice(_TERMINATORS) if random.random() < 0.3 else "")


def _alternatives(random: Random, depth: int) -> str:
    return "|".join(_sequence(random, depth) for _ in range(random.choice((1, 1, 1, 2, 3))))


def _sequence(random: Random, depth: int) -> str:
    parts = [_repeated(random, depth) for _ in range(random.randrange(1, 4))]
    head = "^" if random.random() < 0.1 else ""
    return head + "".join(parts) + ("$" if random.random() < 0.2 else "")


def _repeated(random: Random, depth: int) -> str:
    quantifier = random.choice(_QUANTIFIERS) if random.random() < 0.45 else ""
    return _atom(random, depth) + quantifier


def _atom(random: Random, depth: int) -> str:
    kind = random.random()
    if kind < 0.3 and depth:
        return random.choice(("(", "(", "(?:")) + _alternatives(random, depth - 1) + ")"
    if kind < 0.32:
        return random.choice(_REFUSED)
    return random.choice(random.choice((_ATOMS, _ATOMS, _ESCAPES, _CLASSES)))
