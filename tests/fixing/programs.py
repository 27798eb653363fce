"""Random Python programs with everything that layout can do: comments, odd indents, one-line suites,
semicolons, continued lines, strings over several lines, decorators, chains of `elif`.
"""

from __future__ import annotations

import random

SIMPLE = (
    "a = 1",
    "a = b  # why b",
    "x.y = f(a)",
    "a: int = 3",
    "a += b",
    "f(a)",
    "f(a, k=b)[0].c  # c",
    "x = {'k': [1, 2], 'l': (a, b)}",
    "x = (a)",
    "x = (\n    a  # why a\n    + b\n)",
    "f(\n    a,  # first\n    # between\n    b,\n)  # end",
    "f(\n\ta,\n  b)",
    "x = a + \\\n    b",
    "s = '''one\n    two  # no comment\n\tthree\n'''",
    "s = f'{a}{b!r:>{c}} # no comment'",
    "s = f'''{a}\n  {b}'''",
    "a; b; c",
    "a = 1; b = 2;",
    "x = [i for i in a if i]",
    "x = f(i for i in a)",
    "x = lambda a, b=c: a",
    "x = a if b else c",
    "x = (y := a) + y",
    "x = not(a)or(b)",
    "x = a < b < c",
    "assert a, b",
    "del a.b, c",
    "s = 'é', 'ü' + a.ß",
    "x = a[b:c, ::d]",
    "pass",
    "...",
    "raise a from b",
    "if a: b",
    "if a: b; c  # both",
    "for i in a: f(i)",
    "class C: pass",
    "@a\n# between\n@b.c(d)\ndef f(x, *y, k=a): return x",
)
COMPOUND = (
    "if a:{0}",
    "if a and b:  # test{0}elif c:  # other{1}# before else\nelse:  # rest{2}",
    "if a: b\nelif c: d\nelse: e  # tail",
    "if (a,\n    b):  # pair{0}",
    "for i in a:{0}else:{1}",
    "while a:{0}",
    "with a as b, c:{0}",
    "try:{0}except (A, B) as e:  # caught{1}finally:{2}",
    "try:{0}except A:{1}else:{2}",
    "def f(a, b=c):  # sig{0}",
    "@d  # decorated\nasync def f():{0}",
    "class C(B):{0}",
    "match a:\n    case 1:{0|}",
)
HEADS = (
    "",
    "#!/usr/bin/env python\n",
    "# licence\n# more\n\n",
    '"""Docstring."""\n',
    '"""Doc\n\nstring."""\n\nfrom __future__ import annotations\n\n',
    "import os\n",
    "import os\nimport sys\n\nimport torch\nfrom torch import nn  # layers\n\nfrom . import a\n\n\n",
    "from __future__ import annotations\nif a:\n    import b\n",
    "from zz import *\n",
)


def program(choose: random.Random) -> str:
    """A module of a few statements, nested up to three deep, that parses."""
    unit = choose.choice(("    ", "  ", "\t"))
    lines = _block(choose, 0, unit)
    text = choose.choice(HEADS) + "\n".join(lines) + "\n"
    if choose.random() < 0.2:
        text += choose.choice(("# end\n", "\n\n", "# end\n\n# really\n"))
    if choose.random() < 0.1:
        text = text.rstrip("\n")
    return text


def _block(choose: random.Random, depth: int, unit: str) -> list[str]:
    lines: list[str] = []
    for _ in range(choose.randint(1, 4 - depth)):
        if choose.random() < 0.3:
            lines.append("")
        if choose.random() < 0.3:
            lines.append(choose.choice(("# note", "#: odd", "# ünicode")))
        if depth < 3 and choose.random() < 0.4:
            statement = _compound(choose, depth, unit)
        else:
            statement = choose.choice(SIMPLE)
        lines += statement.split("\n")
    if depth and choose.random() < 0.15:
        lines.append("# at the end of the block")
    return lines


def _compound(choose: random.Random, depth: int, unit: str) -> str:
    text = choose.choice(COMPOUND).replace("    case", unit + "case")
    for hole, levels in (("{0}", 1), ("{1}", 1), ("{2}", 1), ("{0|}", 2)):
        if hole in text:
            inner = _indented(_block(choose, depth + 1, unit), unit * levels)
            text = text.replace(hole, "\n" + inner + "\n")
    return text.rstrip("\n")


def _indented(lines: list[str], indent: str) -> str:
    """Indents lines as a person would: not those inside strings of several lines."""
    out: list[str] = []
    inside = False
    for line in lines:
        out.append(line if inside or not line else indent + line)
        inside ^= line.count("'''") % 2 == 1
    return "\n".join(out)
