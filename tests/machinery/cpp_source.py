"""C++ source as the machine checks see it: comments and literals blanked, macro calls with their arguments."""
import dataclasses
import re

TOKEN = re.compile(
    r'(?P<comment>//[^\n]*|/\*.*?\*/)'
    r'|(?P<raw>R"(?P<tag>[^()\s\\]{0,16})\(.*?\)(?P=tag)")'
    r'|(?P<string>"(?:\\.|[^"\\\n])*")'
    r"|(?P<char>(?<![0-9A-Za-z_])'(?:\\.|[^'\\\n])+')", re.DOTALL)


def _blank(text):
    return re.sub(r"[^\n]", " ", text)


def without_comments(text, keep_strings=False):
    """`text` with comments (and, unless kept, what stands inside literals) replaced by blanks: places stay the same."""
    def replacement(match):
        if match["comment"]:
            return _blank(match[0])
        if keep_strings:
            return match[0]
        return match[0][0] + _blank(match[0][1:-1]) + match[0][-1]
    return TOKEN.sub(replacement, text)


@dataclasses.dataclass
class MacroCall:
    """One use of a macro: its arguments as written, and the lines it spans."""
    name: str
    arguments: list
    message: str  # the string literals of the first argument that starts with one, joined
    first_line: int
    last_line: int


def _split_arguments(code, start):
    """Ranges of the top-level arguments after the '(' at `start` - 1, and where the call ends."""
    depth, begin, ranges = 1, start, []
    for position in range(start, len(code)):
        char = code[position]
        if char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
            if depth == 0:
                return ranges + [(begin, position)], position
        elif char == "," and depth == 1:
            ranges.append((begin, position))
            begin = position + 1
    return ranges, len(code)


def macro_calls(text, names):
    """Every use of the macros `names` outside of preprocessor lines."""
    code = without_comments(text)
    kept = without_comments(text, keep_strings=True)
    directives = re.sub(r"(?m)^[ \t]*#(?:[^\n\\]|\\(?:\n|.))*", lambda m: _blank(m[0]), code)
    calls = []
    for match in re.finditer(rf"\b({'|'.join(names)})\s*\(", directives):
        ranges, end = _split_arguments(code, match.end())
        arguments = [kept[a:b].strip() for a, b in ranges]
        sentence = next((argument for argument in arguments if argument.startswith('"')), "")
        message = "".join(m[0][1:-1] for m in TOKEN.finditer(sentence) if m["string"])
        calls.append(MacroCall(match[1], arguments, message, text.count("\n", 0, match.start()) + 1,
                               text.count("\n", 0, end) + 1))
    return calls
