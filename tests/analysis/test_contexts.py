"""What a call hands to the function that it calls: kinds of arguments, bound arguments, base classes."""

from __future__ import annotations

import ast
import textwrap

import pytest

from distlint.analysis import Model, Source, build_model

HEAD = """
import functools
import torch.distributed as dist

"""


def model_of(text: str) -> Model:
    source = HEAD + textwrap.dedent(text)
    return build_model([Source("script.py", "script", source, ast.parse(source))])


def lines_of(model: Model) -> list[str]:
    found = []
    for divergence in model.divergences():
        line = divergence.event.node.lineno  # type: ignore[attr-defined]
        found.append(divergence.module.source.text.splitlines()[line - 1].strip())
    return found


@pytest.mark.parametrize("number", range(1, 13))
def test_a_hang_is_found_whichever_caller_causes_it(number: int) -> None:
    """The n-th of twelve calls with arguments of their own is the one that hangs."""
    calls = [
        f"    work(mode{i}=True)"
        if i != number
        else "    if dist.get_rank() == 0:\n        work(bad=True)"
        for i in range(1, 13)
    ]
    modes = ", ".join(f"mode{i}=False" for i in range(1, 13))
    asked = "\n".join(f"    if mode{i}:\n        print({i})" for i in range(1, 13))
    model = model_of(
        f"def work({modes}, bad=False):\n{asked}\n    if bad:\n        dist.barrier()\n\n"
        f"def main():\n" + "\n".join(calls) + "\n\nmain()\n"
    )
    assert lines_of(model) == ["dist.barrier()"]


def test_arguments_bound_by_partial_reach_the_function() -> None:
    model = model_of(
        """
        def save(sync):
            if sync:
                dist.barrier()

        def main():
            quiet = functools.partial(save, sync=False)
            loud = functools.partial(save, True)
            if dist.get_rank() == 0:
                quiet()
            loud()

        main()
        """
    )
    assert lines_of(model) == []
    model = model_of(
        """
        def save(sync):
            if sync:
                dist.barrier()

        def main():
            loud = functools.partial(save, True)
            if dist.get_rank() == 0:
                loud()

        main()
        """
    )
    assert lines_of(model) == ["dist.barrier()"]


def test_arguments_bound_to_a_library_function() -> None:
    model = model_of(
        """
        def main():
            group = dist.new_group([0])
            alone = functools.partial(dist.barrier, group=group)
            if dist.get_rank() == 0:
                alone()

        main()
        """
    )
    assert lines_of(model) == []


def test_methods_are_looked_up_in_the_order_of_python() -> None:
    """`D(B, C)`: the method of C comes before that of A, which both derive from."""
    model = model_of(
        """
        class A:
            def sync(self):
                dist.barrier()

        class B(A):
            pass

        class C(A):
            def sync(self):
                return None

        class D(B, C):
            pass

        def main():
            if dist.get_rank() == 0:
                D().sync()

        main()
        """
    )
    assert lines_of(model) == []
    classes = {c.name: c for m in model.program.modules.values() for c in m.all_classes}
    assert [c.name for c in model.program.mro(classes["D"])[0]] == ["D", "B", "C", "A"]


def test_an_order_that_python_refuses_ends() -> None:
    model = model_of(
        """
        class A: ...
        class B(A): ...
        class C(A, B): ...
        class E(E): ...
        """
    )
    classes = {c.name: c for m in model.program.modules.values() for c in m.all_classes}
    assert {c.name for c in model.program.mro(classes["C"])[0]} == {"A", "B", "C"}
    assert [c.name for c in model.program.mro(classes["E"])[0]] == ["E"]


def test_more_kinds_of_arguments_than_are_followed_are_said() -> None:
    calls = "\n".join(f"    work(a{i}=True)" for i in range(40))
    parameters = ", ".join(f"a{i}=False" for i in range(40))
    asked = "\n".join(f"    if a{i}:\n        print({i})" for i in range(40))
    model = model_of(
        f"def work({parameters}):\n{asked}\n    dist.barrier()\n\ndef main():\n{calls}\n\nmain()\n"
    )
    list(model.divergences())
    assert any("kinds of arguments" in problem.text for problem in model.problems)


def test_what_the_end_of_a_script_calls_is_followed_once() -> None:
    """`main` reads a variable of the file whose body is under way: its run there is the one that stays."""
    model = model_of(
        """
        logger = make_logger()

        def main():
            logger.info("start")
            dist.barrier()

        if __name__ == "__main__":
            main()
        """
    )
    (module,) = model.program.modules.values()
    body, main = (model.summaries_of(f) for f in (module.body, module.functions["main"]))
    assert body is not None and main is not None
    (_, run), *_ = body.summaries()
    assert run.children[0] in [kept for _, kept in main.summaries()]


def test_a_flag_that_is_set_between_two_calls_is_told_apart() -> None:
    model = model_of(
        """
        sync = False

        def main():
            if sync:
                dist.barrier()

        main()
        sync = True
        if dist.get_rank() == 0:
            main()
        """
    )
    assert lines_of(model) == ["dist.barrier()"]


@pytest.mark.parametrize(("given", "found"), [("None", ["dist.barrier()"]), ("False", [])])
def test_what_a_call_beyond_the_last_kind_says_of_none(given: str, found: list[str]) -> None:
    """Its run is one for many calls, but whether `path` is None it says itself."""
    calls = "\n".join(f'    work(a{i}=True, path="x")' for i in range(40))
    parameters = ", ".join(f"a{i}=False" for i in range(41))
    asked = "\n".join(f"    if a{i}:\n        print({i})" for i in range(41))
    model = model_of(
        f"def work({parameters}, path=None):\n{asked}\n    if path is None:\n        dist.barrier()\n\n"
        f"def main():\n{calls}\n    if dist.get_rank() == 0:\n        work(a40=True, path={given})\n\n"
        "main()\n"
    )
    assert lines_of(model) == found
