"""Where imports go and under which names: the whole file before and after."""

from __future__ import annotations

import pytest
from spans import find, fix, fixed

from distlint.edits import AddImport, Delete, Insert, Move, Replace
from distlint.fixing.requests import SkipKind


def unwrapped(source: str, code: str = "$unwrap(m)") -> str:
    """`source` with its `m` in `m.config` replaced."""
    where = find(source, "m.config")
    inner = type(where)(where.line, where.column, where.line, where.column + 1)
    return fixed(source, Replace(inner, code))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(
            "m.config\n",
            "from distlint.runtime import unwrap\n\nunwrap(m).config\n",
            id="no imports",
        ),
        pytest.param(
            '"""Doc."""\nm.config\n',
            '"""Doc."""\n\nfrom distlint.runtime import unwrap\n\nunwrap(m).config\n',
            id="docstring",
        ),
        pytest.param(
            '"""Doc."""\n\nfrom __future__ import annotations\n\nm.config\n',
            '"""Doc."""\n\nfrom __future__ import annotations\n\n'
            "from distlint.runtime import unwrap\n\nunwrap(m).config\n",
            id="future",
        ),
        pytest.param(
            "#!/usr/bin/env python\n# -*- coding: utf-8 -*-\n\n# the work\nm.config\n",
            "#!/usr/bin/env python\n# -*- coding: utf-8 -*-\n\n"
            "from distlint.runtime import unwrap\n\n# the work\nunwrap(m).config\n",
            id="shebang, cookie and a comment of the statement",
        ),
        pytest.param(
            "# Licence\n# of the file\ndef f(m):\n    return m.config\n",
            "# Licence\n# of the file\n\nfrom distlint.runtime import unwrap\n\n\n"
            "def f(m):\n    return unwrap(m).config\n",
            id="licence directly above",
        ),
        pytest.param(
            "import os\n\nimport torch\nimport yaml\nfrom torch import nn\n\nfrom . import a\n\nm.config\n",
            "import os\n\nimport torch\nimport yaml\nfrom distlint.runtime import unwrap\n"
            "from torch import nn\n\nfrom . import a\n\nunwrap(m).config\n",
            id="sorted into the installed packages",
        ),
        pytest.param(
            "# this should be the first import (do not reorder)\nfrom zoo.env import set_up\n\n"
            "import os\n\nimport torch\nfrom zoo import bear\n\nm.config\n",
            "# this should be the first import (do not reorder)\nfrom zoo.env import set_up\n\n"
            "import os\n\nimport torch\nfrom distlint.runtime import unwrap\nfrom zoo import bear\n\n"
            "unwrap(m).config\n",
            id="behind an import that has to be first",
        ),
        pytest.param(
            "from torch import nn\nimport os\nimport torch\nimport yaml\n\nm.config\n",
            "from torch import nn\nimport os\nimport torch\nimport yaml\n"
            "from distlint.runtime import unwrap\n\nunwrap(m).config\n",
            id="behind the installed packages where nobody sorts",
        ),
        pytest.param(
            "import os\n\nm.config\n",
            "import os\n\nfrom distlint.runtime import unwrap\n\nunwrap(m).config\n",
            id="a group of its own behind the standard library",
        ),
        pytest.param(
            "from . import a\n\nm.config\n",
            "from distlint.runtime import unwrap\n\nfrom . import a\n\nunwrap(m).config\n",
            id="before relative imports",
        ),
        pytest.param(
            "import os\n\n# installed\nfrom torch import nn\n\nm.config\n",
            "import os\n\n# installed\nfrom distlint.runtime import unwrap\nfrom torch import nn\n\n"
            "unwrap(m).config\n",
            id="under the heading of its group",
        ),
        pytest.param(
            "import torch\n\nif torch:\n    import a\nlog = 1\nimport b\n\n\ndef f(m):\n    import c\n"
            "    return m.config\n\n\nimport d\n",
            "import torch\n\nif torch:\n    import a\nlog = 1\nimport b\n"
            "from distlint.runtime import unwrap\n\n\ndef f(m):\n    import c\n"
            "    return unwrap(m).config\n\n\nimport d\n",
            id="last run above the first function",
        ),
        pytest.param(
            "import os\nm.config\nimport torch\n",
            "import os\n\nfrom distlint.runtime import unwrap\nunwrap(m).config\nimport torch\n",
            id="before the first use",
        ),
        pytest.param(
            "def f(m):\n    import torch\n    return m.config\n",
            "from distlint.runtime import unwrap\n\n\n"
            "def f(m):\n    import torch\n    return unwrap(m).config\n",
            id="imports only inside functions",
        ),
        pytest.param(
            "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from distlint.runtime import unwrap\n\n"
            "m.config\n",
            "from typing import TYPE_CHECKING\n\nfrom distlint.runtime import unwrap\n\n"
            "if TYPE_CHECKING:\n    from distlint.runtime import unwrap\n\nunwrap(m).config\n",
            id="an import for type checkers does not count",
        ),
        pytest.param(
            "try:\n    from distlint.runtime import unwrap\nexcept ImportError:\n    unwrap = None\nm.config\n",
            "from distlint.runtime import unwrap as distlint_unwrap\n\n"
            "try:\n    from distlint.runtime import unwrap\nexcept ImportError:\n    unwrap = None\n"
            "distlint_unwrap(m).config\n",
            id="a fallback is another meaning",
        ),
        pytest.param(
            "import random\nimport numpy\nimport atexit\n\nimport torch\n\nm.config\n",
            "import random\nimport numpy\nimport atexit\n\nimport torch\n"
            "from distlint.runtime import unwrap\n\nunwrap(m).config\n",
            id="beside a stray of its section",
        ),
        pytest.param(
            "import os; import torch\nm.config\n",
            "import os; import torch\n\nfrom distlint.runtime import unwrap\n\nunwrap(m).config\n",
            id="imports that share a line",
        ),
    ],
)
def test_new_import(before: str, after: str) -> None:
    if "os; import" in before:
        after = after.replace("\n\nunwrap", "\nunwrap")
    assert unwrapped(before) == after


@pytest.mark.parametrize(
    ("line", "written"),
    [
        ("from distlint.runtime import unwrap", "unwrap"),
        ("from distlint.runtime import save, unwrap as u", "u"),
        ("import distlint.runtime as dr", "dr.unwrap"),
        ("import distlint.runtime", "distlint.runtime.unwrap"),
        ("import distlint\nimport distlint.runtime", "distlint.runtime.unwrap"),
        ("from distlint import runtime", "runtime.unwrap"),
        ("from distlint import runtime as rt", "rt.unwrap"),
    ],
)
def test_an_import_that_is_there_is_used(line: str, written: str) -> None:
    assert unwrapped(f"{line}\n\nm.config\n") == f"{line}\n\n{written}(m).config\n"


@pytest.mark.parametrize(
    ("line", "after"),
    [
        ("from distlint.runtime import save", "from distlint.runtime import save, unwrap"),
        ("from distlint.runtime import zero", "from distlint.runtime import unwrap, zero"),
        ("from distlint.runtime import (save)", "from distlint.runtime import (save, unwrap)"),
        (
            "from distlint.runtime import (\n    barrier,  # b\n    save,\n)",
            "from distlint.runtime import (\n    barrier,  # b\n    save,\n    unwrap,\n)",
        ),
        (
            "from distlint.runtime import (\n    barrier,\n    zero,  # z\n)  # end",
            "from distlint.runtime import (\n    barrier,\n    unwrap,\n    zero,  # z\n)  # end",
        ),
        (
            "from distlint.runtime import (\n    barrier,\n    save,  # s\n)",
            "from distlint.runtime import (\n    barrier,\n    unwrap,\n    save,  # s\n)",
        ),
        (
            "from distlint.runtime import (\n    barrier,\n    save  # s\n)",
            "from distlint.runtime import (\n    barrier,\n    save,\n    unwrap  # s\n)",
        ),
    ],
)
def test_an_import_from_the_runtime_is_extended(line: str, after: str) -> None:
    assert unwrapped(f"{line}\n\nm.config\n") == f"{after}\n\nunwrap(m).config\n"


@pytest.mark.parametrize(
    "other",
    [
        "unwrap = 1",
        "def f(unwrap): pass",
        "def f():\n    unwrap = 1",
        "def unwrap(): pass",
        "class unwrap: pass",
        "from accelerate.utils import unwrap",
        "import unwrap",
        "import unwrap.x",
        "for unwrap in a: pass",
        "with a as unwrap: pass",
        "try: pass\nexcept A as unwrap: pass",
        "match a:\n    case [unwrap]: pass",
        "match a:\n    case {**unwrap}: pass",
        "x = lambda unwrap: 1",
        "x = [unwrap for unwrap in a]",
        "def f():\n    global unwrap",
        "x = unwrap",
        "def f():\n    from distlint.runtime import unwrap",
        "(unwrap := 1)",
        "from a import *\nunwrap",
    ],
)
def test_a_taken_name_gets_an_alias(other: str) -> None:
    after = unwrapped(f"{other}\nm.config\n")
    assert "from distlint.runtime import unwrap as distlint_unwrap\n" in after
    assert after.endswith("distlint_unwrap(m).config\n")


@pytest.mark.parametrize(
    "other",
    ["x.unwrap", "f(unwrap=1)", "class C:\n    def unwrap(self): pass", "x = 'unwrap'  # unwrap"],
)
def test_attributes_keywords_and_methods_take_no_name(other: str) -> None:
    after = unwrapped(f"{other}\nm.config\n")
    assert "import unwrap\n" in after
    assert after.endswith("\nunwrap(m).config\n")


def test_a_method_takes_the_name_in_the_body_of_its_class() -> None:
    source = "class C:\n    def unwrap(self): pass\n    x = m.config\n"
    assert "import unwrap as distlint_unwrap\n" in unwrapped(source)


def test_the_alias_can_be_taken_too() -> None:
    after = unwrapped("unwrap = distlint_unwrap = 1\nm.config\n")
    assert "import unwrap as distlint_unwrap_2\n" in after


def test_builtins_keep_their_meaning() -> None:
    source = "def f():\n    breakpoint()\n"
    assert fixed(source, Replace(find(source, "breakpoint"), "$breakpoint")) == (
        "from distlint.runtime import breakpoint as distlint_breakpoint\n\n\n"
        "def f():\n    distlint_breakpoint()\n"
    )


def test_names_that_the_new_code_binds_are_taken() -> None:
    source = "def f():\n    x = 1\n"
    after = fixed(source, Replace(find(source, "x = 1"), "generator = $generator(0)"))
    assert "    generator = distlint_generator(0)\n" in after


def test_code_from_the_file_may_use_the_import_that_is_there() -> None:
    source = "from distlint.runtime import unwrap\n\nsave(unwrap(m))\n"
    after = fixed(source, Replace(find(source, "save(unwrap(m))"), "$unwrap(unwrap(m))"))
    assert after == "from distlint.runtime import unwrap\n\nunwrap(unwrap(m))\n"


def test_an_import_that_comes_too_late_is_not_used() -> None:
    source = "m.config\nfrom distlint.runtime import unwrap\n"
    assert unwrapped(source) == (
        "from distlint.runtime import unwrap\n\n"
        "unwrap(m).config\nfrom distlint.runtime import unwrap\n"
    )


def test_two_names_share_one_import() -> None:
    source = "a = 1\nb = 2\n"
    after = fixed(
        source, Replace(find(source, "1"), "$unwrap()"), Replace(find(source, "2"), "$save()")
    )
    assert after == "from distlint.runtime import save, unwrap\n\na = unwrap()\nb = save()\n"


def test_the_runtime_may_be_a_vendored_copy() -> None:
    source = "import torch\nx = 1\n"
    result = fix(source, Replace(find(source, "1"), "$unwrap()"), runtime_module="zoo.dist")
    assert result.data.decode() == "import torch\nfrom zoo.dist import unwrap\nx = unwrap()\n"


def test_a_dollar_in_a_string_or_comment_is_no_reference() -> None:
    source = "x = 1\n"
    code = "f('$HOME', r\"$a\", '''$b''', $save)  # $c"
    after = fixed(source, Replace(find(source, "x = 1"), code))
    assert after == (
        "from distlint.runtime import save\n\nf('$HOME', r\"$a\", '''$b''', save)  # $c\n"
    )


def test_a_dollar_in_the_braces_of_an_f_string_is_a_reference() -> None:
    source = "import rank\n\nx = 1\n"
    code = "x = f'$a {$rank()} {{$b}}' + rf\"{$rank()}\" + '{$c}'"
    assert fixed(source, Replace(find(source, "x = 1"), code)) == (
        "import rank\nfrom distlint.runtime import rank as distlint_rank\n\n"
        "x = f'$a {distlint_rank()} {{$b}}' + rf\"{distlint_rank()}\" + '{$c}'\n"
    )


@pytest.mark.parametrize(
    ("before", "module", "name", "after"),
    [
        ("x = 1\n", "hashlib", "", "import hashlib\n\nx = 2\n"),
        ("import hashlib\nx = 1\n", "hashlib", "", "import hashlib\nx = 2\n"),
        ("import os\nimport torch\nx = 1\n", "hashlib", "", None),
        (
            "from contextlib import suppress\nx = 1\n",
            "contextlib",
            "nullcontext",
            "from contextlib import nullcontext, suppress\nx = 2\n",
        ),
        ("import os.path\nx = 1\n", "os", "", "import os\nimport os.path\nx = 2\n"),
        ("import torch\nx = 1\n", "torch.distributed", "", None),
        (
            "from zoo import *\nos.getpid()\nx = 1\n",
            "os",
            "",
            "from zoo import *\nos.getpid()\nx = 2\n",
        ),
        ("from zoo import *\nx = 1\n", "os", "", "from zoo import *\nimport os\nx = 2\n"),
    ],
)
def test_add_import(before: str, module: str, name: str, after: str | None) -> None:
    result = fixed(before, Replace(find(before, "1"), "2"), AddImport(module, name))
    if after is None:
        assert f"import {module}\n" in result
        after = result
    assert result == after
    again = fixed(result, Replace(find(result, "2"), "3"), AddImport(module, name))
    assert again == after.replace("= 2", "= 3")


def test_add_import_of_a_name_with_another_meaning_is_refused() -> None:
    source = "hashlib = 1\n"
    result = fix(source, Replace(find(source, "1"), "2"), AddImport("hashlib"))
    assert result.data == source.encode()
    assert result.skipped[0].kind is SkipKind.REFUSED
    assert result.skipped[0].reason == (
        "the file already uses the name `hashlib` for something else"
    )


def test_an_import_next_to_a_deleted_first_statement() -> None:
    source = "# top\n\nold = 1\nnew = 2\n"
    after = fixed(source, Delete(find(source, "old = 1")), Replace(find(source, "2"), "$save()"))
    assert after == "# top\n\nfrom distlint.runtime import save\n\nnew = save()\n"


@pytest.mark.parametrize("head", ["# top\n\n", "\n"])
def test_the_comment_of_a_first_statement_goes_with_it(head: str) -> None:
    source = f"{head}# why old\nold = 1\nif a:\n    b()\nelse:  # rest\n    c()\n"
    after = fixed(
        source,
        Move(find(source, "old = 1"), find(source, "c()")),
        Replace(find(source, "b()"), "$save()"),
    )
    assert after == (
        f"{head}from distlint.runtime import save\n\nif a:\n    save()\nelse:  # rest\n"
        "    # why old\n    old = 1\n    c()\n"
    )


def test_insert_at_the_very_top() -> None:
    source = "import os\n"
    after = fixed(source, Insert(find(source, "import os"), "$clean_distributed_env()"))
    assert after == (
        "from distlint.runtime import clean_distributed_env\n\nclean_distributed_env()\nimport os\n"
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (  # what stands below a star keeps its name
            "import os\nfrom utils import *\n\n\ndef f(m):\n    return m.config\n",
            "import os\nfrom utils import *\nfrom distlint.runtime import unwrap\n\n\n"
            "def f(m):\n    return unwrap(m).config\n",
        ),
        (
            "import torch\nfrom models import *\nfrom tasks import run\n\n\ndef f(m):\n    return m.config\n",
            "import torch\nfrom models import *\nfrom distlint.runtime import unwrap\n"
            "from tasks import run\n\n\ndef f(m):\n    return unwrap(m).config\n",
        ),
        (  # which name it may bring, the file reads
            "from utils import *\n\n\ndef f(m):\n    return g(unwrap, m.config)\n",
            "from utils import *\nfrom distlint.runtime import unwrap as distlint_unwrap\n\n\n"
            "def f(m):\n    return g(unwrap, distlint_unwrap(m).config)\n",
        ),
        (  # under a condition it may come later
            "import os\nif os.name:\n    from utils import *\n\n\ndef f(m):\n    return m.config\n",
            "import os\n\nfrom distlint.runtime import unwrap as distlint_unwrap\n"
            "if os.name:\n    from utils import *\n\n\ndef f(m):\n    return distlint_unwrap(m).config\n",
        ),
        (  # below the code that uses it
            "import os\nx = m.config\nfrom utils import *\n",
            "import os\n\nfrom distlint.runtime import unwrap as distlint_unwrap\n"
            "x = distlint_unwrap(m).config\nfrom utils import *\n",
        ),
    ],
)
def test_beside_imports_with_a_star(before: str, after: str) -> None:
    assert unwrapped(before) == after
