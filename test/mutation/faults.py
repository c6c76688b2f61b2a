"""The small faults that can be planted in a C file: a lexer, and one rule for each kind.

Faults stand in the bodies of functions, outside of comments, literals, assertions, sizeof and the
initialisers of tables.
"""

import bisect
import re
from dataclasses import dataclass

BLANKED = re.compile(
    r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|^[ \t]*#(?:\\\n|[^\n])*',
    re.S | re.M)
TOKEN = re.compile(
    r"[A-Za-z_]\w*|\.?\d(?:[eEpP][-+]|[\w.])*|<<=|>>=|\.\.\.|->|\+\+|--|&&|\|\||[-+*/%&|^=!<>]="
    r"|<<|>>|\S")
INTEGER = re.compile(r"(0[xX][0-9a-fA-F]+|\d+)([uUlL]*)")
WORD = re.compile(r"[A-Za-z_]\w*")

TURNED = {
    "==": ["!="], "!=": ["=="],
    "<": ["<=", ">", ">="], "<=": ["<", ">=", ">"],
    ">": [">=", "<", "<="], ">=": [">", "<=", "<"],
    "&&": ["||"], "||": ["&&"], "+=": ["-="], "-=": ["+="], "++": ["--"], "--": ["++"],
}
ASSIGNMENTS = {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=", "++", "--"}
TYPE_WORDS = set("""const static struct union enum unsigned signed char short int long float double
                    bool void volatile register _Atomic _Alignas""".split())
CONTROL = set("""if else for while do switch case default return goto break continue""".split())
ASSERTIONS = {"SL_CHECK", "assert", "static_assert", "_Static_assert"}
CLOSERS = {"(": ")", "[": "]", "{": "}"}


@dataclass(frozen=True)
class Fault:
    """One replacement in one file; `before` and `after` are its lines, without their margins."""

    path: str
    line: int
    before: str
    after: str
    start: int
    end: int
    text: str

    def plant(self, source):
        return source[:self.start] + self.text + source[self.end:]


def blanked(source):
    """The source with comments, literals and directives made blank, every offset kept."""
    return BLANKED.sub(lambda match: re.sub(r"[^\n]", " ", match[0])
                       if match[0][0] not in "\"'" else match[0][0] * len(match[0]), source)


class Body:
    """The tokens of one file, and what stands where in the bodies of its functions."""

    def __init__(self, source):
        text = blanked(source)
        # A literal is one token: a word that nothing here knows.
        self.tokens = list(re.finditer(r"\"+|'+|" + TOKEN.pattern, text))
        self.words = [token[0] for token in self.tokens]
        self.partner = self._pair()
        self.inside = [False] * len(self.words)
        self.skipped = [False] * len(self.words)  # no fault at all
        self.settled = [False] * len(self.words)  # no other constant
        self.statements = []
        for first, word in enumerate(self.words):
            if word == "{" and not self.inside[first] and self._word(first - 1) == ")":
                self._read_body(first)

    def _word(self, index):
        return self.words[index] if 0 <= index < len(self.words) else ""

    def _pair(self):
        partner, open_at = {}, []
        for index, word in enumerate(self.words):
            if word in CLOSERS:
                open_at.append(index)
            elif word in CLOSERS.values() and open_at:
                start = open_at.pop()
                partner[start], partner[index] = index, start
        return partner

    def _mark(self, marks, first, last):
        for index in range(first, last + 1):
            marks[index] = True

    def _read_body(self, first):
        last = self.partner[first]
        self._mark(self.inside, first, last)
        for index in range(first + 1, last):
            word, before = self.words[index], self.words[index - 1]
            if word in ASSERTIONS or word == "sizeof":
                self._mark(self.skipped, index, self._end_of_operand(index))
            elif word == "{" and (before in ("=", ",") or self._is_cast(index - 1)):
                self._mark(self.settled, index, self.partner[index])
            if self._starts_statement(index):
                self._read_statement(index)

    def _end_of_operand(self, index):
        return self.partner[index + 1] if self._word(index + 1) == "(" else index + 1

    def _is_header_end(self, index):
        """Is it the ) of if (...), for (...), while (...) or switch (...)?"""
        return (self._word(index) == ")" and
                self._word(self.partner[index] - 1) in ("if", "for", "while", "switch"))

    def _is_label_end(self, index):
        if self._word(index) != ":":
            return False
        start = index - 1
        while self._word(start) not in ("{", "}", ";", "", ":"):
            start -= 1
        return self._word(start + 1) in ("case", "default") or start + 2 == index

    def _starts_statement(self, index):
        before = self.words[index - 1]
        if before == ";":
            return not self._in_header(index)
        return (before in ("{", "}", "else", "do") or self._is_header_end(index - 1) or
                self._is_label_end(index - 1))

    def _in_header(self, index):
        depth_start = index
        while depth_start > 0:
            depth_start -= 1
            word = self.words[depth_start]
            if word in (")", "]", "}"):
                depth_start = self.partner[depth_start]
            elif word in CLOSERS:
                return word == "("
        return False

    def _end_of_statement(self, index):
        while self._word(index) not in (";", "}", ""):
            index = self.partner[index] + 1 if self.words[index] in CLOSERS else index + 1
        return index

    def _is_declaration(self, index):
        words = [self._word(index + k) for k in range(3)]
        if words[0] in TYPE_WORDS:
            return True
        if not WORD.fullmatch(words[0]):
            return False
        return bool(WORD.fullmatch(words[1]) or (words[1] == "*" and WORD.fullmatch(words[2])))

    def _read_statement(self, index):
        word = self.words[index]
        if word in CONTROL or word in ASSERTIONS or word in ("{", "}", ";") or \
                self._word(index + 1) == ":":
            return
        end = self._end_of_statement(index)
        if self._word(end) != ";":
            return
        if self._is_declaration(index):
            self._settle_declaration(index, end)
        elif any(w in ASSIGNMENTS or w == "(" for w in self.words[index:end]):
            self.statements.append((index, end))

    def _settle_declaration(self, index, end):
        if {"static", "const"} <= set(self.words[index:index + 3]) and "{" in self.words[index:end]:
            self._mark(self.skipped, index, end)
        for k in range(index, end):
            if self.words[k] == "[" and "=" not in self.words[index:k]:
                self._mark(self.skipped, k, self.partner[k])
            if self.words[k - 1] == "=" and self.words[k] in ("0", "1") and \
                    self.words[k + 1] in (",", ";"):
                self.settled[k] = True

    def _is_cast(self, index):
        """Is it the ) of (type)? A word in brackets by itself is one when an operand follows."""
        if self._word(index) != ")":
            return False
        start = self.partner[index]
        inner = self.words[start + 1:index]
        before = self._word(start - 1)
        if not inner or (WORD.fullmatch(before) and before not in ("return", "case")):
            return False
        return inner[0] in TYPE_WORDS or (re.search(r"_t$", inner[0]) is not None and
                                          set(inner[1:]) <= {"*"})

    def _is_binary(self, index):
        before = self._word(index - 1)
        if before in ("return", "case"):
            return False
        if before == ")":
            return not self._is_cast(index - 1)
        return before == "]" or re.match(r"[\w\"']", before) is not None

    def _is_sign(self, index):
        """Is it the 1 of x < y ? -1 : 1, or of return -1? No one asks how large it is."""
        return (self.words[index - 2:index + 2] == ["return", "-", "1", ";"] or
                self.words[index - 2:index + 4] == ["?", "-", "1", ":", "1", ";"] or
                self.words[index - 4:index + 2] == ["?", "-", "1", ":", "1", ";"])

    def _condition_start(self, index):
        """The first token of the condition that ends before the ? at index."""
        while True:
            before = self._word(index - 1)
            if before in (")", "]"):
                index = self.partner[index - 1]
            elif before in ("", "(", "[", "{", ",", ";", "?", ":", "return") or \
                    (before in ASSIGNMENTS and before not in ("++", "--")):
                return index
            else:
                index -= 1

    def changes(self):
        """Lists of (first token, last token, text of the change); one list is one place."""
        for index, word in enumerate(self.words):
            if self.inside[index] and not self.skipped[index]:
                yield from self._changes_at(index, word)
        for first, end in self.statements:
            if not self.skipped[first]:
                yield [(first, end, None)]

    def _changes_at(self, index, word):
        if word in TURNED:
            yield [(index, index, turned) for turned in TURNED[word]]
        elif word in ("+", "-"):
            if self._is_binary(index):
                yield [(index, index, "-" if word == "+" else "+")]
            elif word == "-":
                yield [(index, index, "")]
        elif word == "!":
            yield [(index, index, "")]
        elif word in ("if", "while"):
            yield [(index + 2, self.partner[index + 1] - 1, "!({})")]
        elif word == "?":
            yield [(self._condition_start(index), index - 1, "!({})")]
        elif word in ("true", "false") and self.words[index - 1] == "return":
            yield [(index, index, "false" if word == "true" else "true")]
        elif INTEGER.fullmatch(word) and not self.settled[index]:
            digits, suffix = INTEGER.fullmatch(word).groups()
            value = int(digits, 16 if digits[:2] in ("0x", "0X") else 8 if digits[0] == "0" else 10)
            others = [value - 1] if value > 0 else []
            if not self._is_sign(index) and self.words[index - 2] != "calloc":
                others.append(value + 1)
            yield [(index, index, f"{other}{suffix}") for other in others]
        elif WORD.fullmatch(word):
            swapped = re.sub(r"(?<![a-z])(min|max)(?![a-z])",
                             lambda match: "max" if match[0] == "min" else "min", word)
            if swapped != word and swapped in self.words:
                yield [(index, index, swapped)]


def places(path, source):
    """The places of a file where faults can be planted: for each the list of its faults."""
    body = Body(source)
    starts = [0] + [match.end() for match in re.finditer("\n", source)]
    lines = source.split("\n")
    found = []
    for changes in body.changes():
        faults = []
        for first, last, change in changes:
            start, end = body.tokens[first].start(), body.tokens[last].end()
            old = source[start:end]
            text = ";" + "\n" * old.count("\n") if change is None else change.replace("{}", old)
            top = bisect.bisect_right(starts, start) - 1
            bottom = bisect.bisect_right(starts, end - 1) - 1
            after = (source[:start] + text + source[end:]).split("\n")[top:bottom + 1]
            faults.append(Fault(path, top + 1, _joined(lines[top:bottom + 1]), _joined(after),
                                start, end, text))
        found.append(faults)
    return found


def _joined(lines):
    return " ".join(filter(None, (line.strip() for line in lines)))
