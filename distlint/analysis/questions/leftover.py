"""Functions that no program calls: left over from where a file was copied."""

from __future__ import annotations

import ast
import re
import warnings
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import Function
from distlint.analysis.program.linked import direct_importers, importers
from distlint.analysis.program.memory import remembered
from distlint.analysis.questions.launched import roots
from distlint.nodes import last_name, walk
from distlint.patterns import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from distlint.analysis.live.program import LiveProgram
    from distlint.analysis.program.definitions import Module
    from distlint.analysis.program.program import Program

Written = tuple[int, str, str]
"""An import: its dots, its module, and the name taken from it."""
_OF_ITS_OWN: Final = pattern(r"globals\(\)|locals\(\)|(?<![\w.])eval\(")
"""What finds a function by a name among those of its own file, and of what that imports as a whole."""
_BY_NAME: Final = pattern(
    r"importlib|import_module|instantiate|_target_|\bFire\((?!\s*main\b)|\btyper\b|(?<!\.)\bclick\b|__dict__"
    r"|__all__(?!\s*=\s*[\[(]\s*[\"'])"
)
"""What finds a function by a name that is made, or handed in, or lets others import what it has listed by code."""
_BY_ATTRIBUTE: Final = pattern(r"getattr\(([\w.]+),\s*(?![\"'\s])")
"""What finds a function of a module, or a method of an object, by a name that is made."""
_PLAIN: Final = frozenset(
    {
        "autocast",
        "cache",
        "classmethod",
        "compile",
        "contextmanager",
        "inference_mode",
        "lru_cache",
        "no_grad",
        "staticmethod",
        "wraps",
    }
)
"""Decorators that put a function into no table."""
_IN_COMMENT: Final = pattern(r"^[ \t]*#+[ \t]*(?:\w+ = )?([a-z]\w+)\(.*\)[ \t]*$", re.MULTILINE)
"""A call that stands alone in a comment."""
_NAMELESS: Final = frozenset({"object", "abc.ABC", "typing.Generic", "typing.Protocol"})
"""Classes of libraries that call none of the methods of others."""
_OF_PYTEST: Final = pattern(r"(?:test|pytest|setup|teardown)_|(?:setUp|tearDown)")


def is_left_over(live: LiveProgram, module: Module, line: int) -> bool:
    """Whether a line is in a function of a script, or of what scripts alone import, that nothing names again.

    nanoVLM 4e0c096 utils/run_checkpoint_evaluations.py:42 is a copy of train.py's `wrap_model`; BELLE 645084d
    train/dschat_train_v1/utils/utils.py:113 one of DeepSpeed-Chat's, whose main.py keeps no moving average.
    """
    return any(first <= line <= last for first, last in _left_over(live, module))


@remembered
def holds_several_programs(module: Module) -> bool:
    """Whether a file is several scripts one behind another: it defines anew, behind a main block, what it has defined in front.

    Nobody runs these together, and what one of them does says nothing of the others. MegaPortrait-hack f26aeb8
    reference/warpgenerators/latent-pose-reenactment.py:772, three main blocks in 7,800 lines.
    """
    body = module.source.tree.body
    mains = [
        each.lineno
        for each in body
        if isinstance(each, ast.If) and "__main__" in ast.unparse(each.test)
    ]
    if len(mains) < 2:
        return False
    defined = [each for each in body if isinstance(each, ast.FunctionDef | ast.ClassDef)]
    front = {each.name for each in defined if each.lineno < mains[0]}
    return any(each.name in front for each in defined if each.lineno > mains[0])


@remembered
def cannot_be_read(program: Program, module: Module) -> bool:
    """Whether a file ends at its top, at an import of what its own project does not have, or that cannot be imported so.

    VeOmni d977449 tasks/deprecated_task/train_flux.py:45: `from veomni.utils.lora_utils import add_lora_to_model`. Or
    Python refuses it.
    """
    lacking = set(module.source.lacking)
    return is_refused(module) or any(
        written in lacking or _leaves_its_package(program, module, written)
        for statement in module.source.tree.body
        for written in _imports(statement)
    )


@remembered
def is_refused(module: Module) -> bool:
    """Whether Python's compiler refuses what its parser takes: a keyword twice in one call, `return` outside a function.

    DRPO4LLM d1b9c09 examples/tldr/test.py:147: `metric_for_best_model` again.
    """
    if module.path.endswith(".ipynb"):
        return False
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(module.source.tree, module.path, "exec", flags, dont_inherit=True)
    except SyntaxError:
        return True
    except (ValueError, RecursionError):
        return False
    return False


@remembered
def is_read_by_none(program: Program, module: Module) -> bool:
    """Whether all files that import one, at any depth, cannot be read.

    UniAfford 0b457f7 model/pointcept/engines/hooks/evaluator.py: for train.py and test.py beside it, which import what is not
    there.
    """
    users = direct_importers(program)
    known, waiting = {module}, [module]
    while waiting:
        each = waiting.pop()
        if each.is_script or not users[each]:
            return False
        more = {user for user in users[each] - known if not cannot_be_read(program, user)}
        known |= more
        waiting += more
    return True


def _leaves_its_package(program: Program, module: Module, written: Written) -> bool:
    """Whether an import reads a file whose own imports lead out of the package under which it is read.

    i-Code 9b16730 i-Code-V3/core/models/encoders/clap_modules/training/main.py:31: `from training.data import get_data`,
    which says `from ..open_clip.utils import …` as if it were read as a part of `clap_modules`.
    """
    level, dotted, name = written
    meaning = (module.source.meant or {}).get(written, "")
    names = [*dotted.split("."), *([name] if name and meaning in program.modules else [])]
    read = program.modules.get(meaning) or program.modules.get(meaning.rpartition(".")[0])
    if level or read is None or not f".{read.name}".endswith("." + ".".join(names)):
        return False
    depth = len(names) - (not read.source.is_package)
    return any(
        up > depth for statement in read.source.tree.body for up, _, _ in _imports(statement)
    )


def _imports(statement: ast.stmt) -> Iterator[Written]:
    match statement:
        case ast.Import(names=names):
            yield from ((0, each.name, "") for each in names)
        case ast.ImportFrom(module=of, names=names, level=level):
            yield from ((level, of or "", each.name) for each in names)


@remembered
def started_by_scripts(live: LiveProgram, module: Module) -> bool:
    """Whether scripts alone lead to a file, and all who call its functions name them in code."""
    return led_to_by_scripts(live, module) and not is_looked_up(live, module)


def is_looked_up(live: LiveProgram, module: Module) -> bool:
    """Whether what leads to a file may find its functions by names that are no code."""
    return any(_looks_up(live, user, module) for user in importers(live.program, module))


def led_to_by_scripts(live: LiveProgram, module: Module) -> bool:
    """Whether scripts alone lead to a file."""
    starting = live.answer(roots)[module]
    return bool(starting) and all(root.is_script for root in starting)


@remembered
def _left_over(live: LiveProgram, module: Module) -> tuple[tuple[int, int], ...]:
    """The first and last lines of such functions."""
    users = importers(live.program, module)
    known = started_by_scripts(live, module)
    if not known and not _left_out(users):
        return ()
    return tuple(
        (node.lineno, node.end_lineno or node.lineno)
        for node in (*module.source.tree.body, *_methods(live, module))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (known or node.name in _left_out(users))
        and all(is_plain(each) for each in node.decorator_list)
        and not _OF_PYTEST.match(node.name)
        and not any(_uses(live, each, module, node.name) for each in _near(live, module, users))
    )


def _left_out(users: frozenset[Module]) -> frozenset[str]:
    """The names whose calls stand in comments of the files that use another: what somebody has switched off.

    SLAM-LLM a68e78f src/slam_llm/utils/train_utils.py:392: `# save_train_params(train_config, fsdp_config, rank)`.
    """
    return frozenset(name for user in users for name in _calls_in_comments(user))


@remembered
def _calls_in_comments(module: Module) -> frozenset[str]:
    return frozenset(_IN_COMMENT.findall(module.source.text))


def is_plain(decorator: ast.expr) -> bool:
    """Whether a decorator only changes how a function runs: `@torch.no_grad()`."""
    return last_name(decorator.func if isinstance(decorator, ast.Call) else decorator) in _PLAIN


def _methods(live: LiveProgram, module: Module) -> Iterator[ast.AST]:
    """The methods of classes to which no other library gives names of its own to call."""
    for cls in module.classes.values():
        own, outside = live.program.mro(cls)
        bases = (live.resolve(each.module, base) for each in own for base in each.node.bases)
        if _NAMELESS.issuperset(outside) and None not in bases:
            yield from (m.node for m in cls.methods.values() if not m.name.startswith("__"))


def _looks_up(live: LiveProgram, user: Module, module: Module) -> bool:
    """Whether a file may find the functions of another, or of itself, by names that are no code."""
    text = user.source.text
    if _BY_NAME.search(text) is not None:
        return True
    if any(not _is_of_others(live, user, of) for of in _BY_ATTRIBUTE.findall(text)):
        return True
    if _OF_ITS_OWN.search(text) is None:
        return False
    # Ask-Anything 4dd8210 video_chat2/tasks/train_it.py: `from models import *`, and its data comes from elsewhere.
    passed = importers(live.program, module)
    return user is module or any(
        live.program.modules.get(star) in passed for star in user.star_imports
    )


def _is_of_others(live: LiveProgram, user: Module, name: str) -> bool:
    """Whether a name is that of something of another library, with none of the program's functions in it.

    SLAM-LLM a68e78f src/slam_llm/utils/train_utils.py:347: `getattr(StateDictType, …)`, which torch has.
    """
    root = name.partition(".")[0]
    return root in user.imports and isinstance(live.program.resolve_dotted(user, root), str)


def _near(live: LiveProgram, module: Module, users: frozenset[Module]) -> Iterator[Module]:
    """Where a function of a file may be named: in the file alone where nobody imports it."""
    return iter(users) if users == {module} else iter(live.program.modules.values())


def _uses(live: LiveProgram, user: Module, module: Module, name: str) -> bool:
    """Whether a file names a function of another: not where functions get the name, and not where an import alone does.

    InternVideo 3965eef InternVideo1/Downstream/Spatial-Temporal-Action-Localization/run_class_finetuning.py:22 imports
    `final_test`, and never calls it. What a package imports, others may take from it.
    """
    if name not in user.source.text:
        return False
    if user is not module and not re.search(rf"\.{re.escape(name)}\b", user.source.text):
        match live.program.resolve_dotted(user, name):
            case Function(module=home) if home is not module:
                return False
            case str() as dotted if dotted.split(".")[-2:-1] != module.name.split(".")[-1:]:
                return False  # of a file that is no part of this program
    word = re.compile(rf"(\bdef )?\b{re.escape(name)}\b")
    return not all(word.findall(_without_imports(user)))


@remembered
def _without_imports(module: Module) -> str:
    """The text of a file without comments, and without what it imports under the same name for itself."""
    lines = module.source.text.split("\n")
    for number, line in enumerate(lines):
        if line.lstrip().startswith("#"):
            lines[number] = ""
    for node in () if module.source.is_package else walk(module.source.tree):
        if isinstance(node, ast.ImportFrom) and not any(alias.asname for alias in node.names):
            for number in range(node.lineno - 1, node.end_lineno or node.lineno):
                lines[number] = ""
    return "\n".join(lines)
