"""Where an edit moves an opening bracket, what is aligned below it moves along; nothing else does."""

from __future__ import annotations

import pytest
from spans import find, fixed

from distlint.edits import Replace


@pytest.mark.parametrize(
    ("source", "old", "code", "after"),
    [
        (  # CodeT5 7de7f69 CodeT5/run_gen.py:105
            "x = model.generate(ids,\n                   mask=m,\n                   k=1)\ny = 1\n",
            "model",
            "net.module",
            "x = net.module.generate(ids,\n                        mask=m,\n                        k=1)\ny = 1\n",
        ),
        (
            "x = model.generate(ids,\n                   mask=m)\n",
            "model",
            "n",
            "x = n.generate(ids,\n               mask=m)\n",
        ),
        (  # a hanging indent is no alignment
            "x = model.generate(\n    ids,\n    mask=m,\n)\n",
            "model",
            "net.module",
            "x = net.module.generate(\n    ids,\n    mask=m,\n)\n",
        ),
        (  # the bracket does not move
            "x = f(model,\n      y)\n",
            "model",
            "net.module",
            "x = f(net.module,\n      y)\n",
        ),
        (  # a bracket in a continued line
            "x = f(a, g(model.h(b,\n                   c),\n           d),\n      e)\n",
            "model",
            "net.module",
            "x = f(a, g(net.module.h(b,\n                        c),\n           d),\n      e)\n",
        ),
        (  # what a string holds stays
            'x = model.f("""a\n            b""",\n            c)\n',
            "model",
            "net.module",
            'x = net.module.f("""a\n            b""",\n                 c)\n',
        ),
        (
            'x = model.f(a,\n            """b\n  c""",\n            d)\n',
            "model",
            "net.module",
            'x = net.module.f(a,\n                 """b\n  c""",\n                 d)\n',
        ),
        (
            'x = model.f(f"""a{\n            b}""",\n            c)\n',
            "model",
            "net.module",
            'x = net.module.f(f"""a{\n            b}""",\n                 c)\n',
        ),
        (
            "x = model.f(a,  # one\n            # two\n\n            b)\n",
            "model",
            "net.module",
            "x = net.module.f(a,  # one\n                 # two\n\n                 b)\n",
        ),
        (
            "x = model.f('ä', g(b,\n                   c))\n",
            "model",
            "net.module",
            "x = net.module.f('ä', g(b,\n                        c))\n",
        ),
    ],
)
def test_continued_lines(source: str, old: str, code: str, after: str) -> None:
    assert fixed(source, Replace(find(source, old), code)) == after


def test_line_ends_stay() -> None:
    source = "x = model.f(a,\r\n            b)\r\ny = 1\r\n"
    wanted = "x = net.module.f(a,\r\n                 b)\r\ny = 1\r\n"
    assert fixed(source, Replace(find(source, "model"), "net.module")) == wanted
