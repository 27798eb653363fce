"""Programs of many constructs: distlint says that ranks part exactly where they do when Python runs them."""

from __future__ import annotations

import itertools
import textwrap

import pytest
from python_runs import parts, said_lines

PROGRAMS = {
    # -- conditions
    "and stops at the first that is false": """
        def main(flag, items, x):
            done = flag and dist.get_rank() == 0 and sync(x)
        """,
    "and goes on": """
        def main(flag, items, x):
            done = flag and dist.get_rank() < 9 and sync(x)
        """,
    "or is the other way round": """
        def main(flag, items, x):
            if dist.get_rank() == 0:
                flag or sync(x)
            elif not flag:
                sync(x)
        """,
    "or decided by the rank": """
        def main(flag, items, x):
            dist.get_rank() == 0 or sync(x)
        """,
    "not in": """
        def main(flag, items, x):
            if dist.get_rank() not in (0, 1, 2, 3):
                sync(x)
        """,
    "a value chosen by the rank's own clock": """
        def main(flag, items, x):
            mode = 1 if time.time() > 4 else 2
            if mode == 1:
                sync(x)
        """,
    "a value assigned under the rank's own clock": """
        def main(flag, items, x):
            mode = 1
            if time.time() > 4:
                mode = unknown(x) if items is None else 2
            if mode == 1:
                sync(x)
        """,
    "a value returned under the rank's own clock": """
        def mode(x):
            if time.time() > 4:
                return 1
            return 2
        def main(flag, items, x):
            if mode(x) == 1:
                sync(x)
        """,
    "the rank handed on": """
        def work(number, x):
            if number == 0:
                sync(x)
        def main(flag, items, x):
            work(dist.get_rank(), x)
        """,
    "the rank handed on by all alike": """
        def work(number, x):
            if number < 9:
                sync(x)
        def main(flag, items, x):
            work(dist.get_rank(), x)
        """,
    "the last rank": """
        def main(flag, items, x):
            if dist.get_rank() == dist.get_world_size() - 1:
                sync(x)
        """,
    "the first rank of another node": """
        def main(flag, items, x):
            if int(os.environ["LOCAL_RANK"]) == 0 and dist.get_rank() != 0:
                sync(x)
        """,
    # -- exits
    "an exit that some ranks take by themselves": """
        def main(flag, items, x):
            if time.time() > 4:
                sys.exit(0)
            sync(x)
        """,
    "such a raise of SystemExit": """
        def main(flag, items, x):
            if time.time() > 4:
                raise SystemExit(0)
            sync(x)
        """,
    "an exit that ends the whole job": """
        def main(flag, items, x):
            if time.time() > 4:
                sys.exit(1)
            sync(x)
        """,
    "such a raise of SystemExit with a code": """
        def main(flag, items, x):
            if time.time() > 4:
                raise SystemExit(1)
            sync(x)
        """,
    "a bare except catches it": """
        def main(flag, items, x):
            if dist.get_rank() == 0:
                try:
                    raise SystemExit
                except:
                    pass
            sync(x)
        """,
    # -- loops
    "a loop until something is found": """
        def main(flag, items, x):
            while True:
                dist.gather(x)
                if flag or not items:
                    break
                items = items[1:]
            if dist.get_rank() == 0:
                sync(x)
        """,
    "a value that comes round the loop": """
        def main(flag, items, x):
            first = False
            for item in items:
                if first:
                    sync(x)
                first = time.time() > 4
        """,
    "the else of a loop": """
        def main(flag, items, x):
            for item in items:
                if flag:
                    break
            else:
                if dist.get_rank() == 0:
                    sync(x)
        """,
    "a value that a loop turns": """
        def main(flag, items, x):
            done = False
            while not done:
                done = not done
                if done and dist.get_rank() == 0:
                    sync(x)
        """,
    "the variable of a comprehension": """
        def main(flag, items, x):
            rank = dist.get_rank()
            seen = [rank for rank in items]
            if rank == 0:
                sync(x)
        """,
    "a comprehension of collectives": """
        def main(flag, items, x):
            if dist.get_rank() == 0:
                seen = [sync(item) for item in items]
            else:
                for item in items:
                    dist.barrier()
        """,
    # -- handlers and contexts
    "a handler sees what the body has assigned": """
        def main(flag, items, x):
            done = False
            try:
                done = True
                failing(flag)
            except KeyError:
                if done:
                    dist.gather(x)
                    if dist.get_rank() == 0:
                        sync(x)
        """,
    "a finally that returns": """
        def main(flag, items, x):
            quiet = True
            if flag:
                quiet = False
                try:
                    failing(flag)
                finally:
                    return
            if quiet:
                return
            if dist.get_rank() == 0:
                sync(x)
        """,
    "behind a try the variables of its body": """
        def main(flag, items, x):
            loud = False
            try:
                loud = True
            except KeyError:
                loud = False
            if loud and dist.get_rank() == 0:
                sync(x)
        """,
    "behind a suppressed raise": """
        def main(flag, items, x):
            with suppress(KeyError):
                if dist.get_rank() == 0:
                    raise KeyError(x)
                dist.gather(x)
            dist.barrier()
        """,
    "all that follows a suppressed raise": """
        def main(flag, items, x):
            with suppress(KeyError):
                raise KeyError(x)
            if dist.get_rank() == 0:
                dist.barrier()
        """,
    "a class around a block, written out": """
        def main(flag, items, x):
            if dist.get_rank() == 0:
                with Around():
                    sync(x)
            else:
                dist.all_gather_object(x, x)
                dist.barrier()
                dist.reduce(x, 0)
        """,
    "a generator around a block, written out": """
        def main(flag, items, x):
            if dist.get_rank() == 0:
                with generated(x):
                    sync(x)
            else:
                dist.all_gather_object(x, x)
                dist.barrier()
                dist.reduce(x, 0)
        """,
    # -- what is called
    "a lambda": """
        def main(flag, items, x):
            call = lambda: dist.barrier()
            if dist.get_rank() == 0:
                call()
        """,
    "a lambda that all call": """
        def main(flag, items, x):
            call = lambda: dist.barrier()
            if dist.get_rank() == 0:
                call()
            else:
                sync(x)
        """,
    "what functools.partial has bound comes first": """
        def work(loud, quiet, x=0):
            if loud and not quiet:
                sync(x)
        def main(flag, items, x):
            call = partial(work, False)
            if dist.get_rank() == 0:
                call(True)
                call(False)
        """,
    "methods and properties": """
        class Thing:
            def __init__(self, loud):
                self.loud = loud
            @property
            def size(self):
                if self.loud:
                    dist.barrier()
                return 3
            @staticmethod
            def alone(flag):
                if flag:
                    dist.reduce(flag, 0)
        def main(flag, items, x):
            thing = Thing(True)
            if dist.get_rank() == 0:
                size = thing.size
                Thing.alone(False)
        """,
    "a method of the next class": """
        class Base:
            def work(self):
                dist.barrier()
        class Thing(Base):
            def work(self):
                super().work()
        def main(flag, items, x):
            if dist.get_rank() == 0:
                Thing().work()
            else:
                dist.barrier()
        """,
    "a match on values": """
        def main(flag, items, x):
            match dist.get_rank():
                case 0 if flag:
                    sync(x)
                case 1 | 2 | 3:
                    sync(x)
                case _:
                    pass
        """,
    "a match that all take alike": """
        def main(flag, items, x):
            match dist.get_rank():
                case 0:
                    sync(x)
                case _:
                    dist.barrier()
        """,
    "a match on structure": """
        def main(flag, items, x):
            match items:
                case [first, *rest]:
                    if dist.get_rank() == 0:
                        sync(first)
                case _:
                    pass
        """,
    # -- values that other functions leave behind
    "an attribute that is set from outside": """
        class Thing:
            def __init__(self):
                self.loud = False
            def reset(self):
                self.loud = False
            def work(self, x):
                if self.loud:
                    sync(x)
        def main(flag, items, x):
            thing = Thing()
            thing.reset()
            thing.loud = True
            if dist.get_rank() == 0:
                thing.work(x)
        """,
    "an attribute that is asked for before it is set": """
        class Thing:
            def __init__(self, flag, x):
                if flag:
                    self.work(x)
                self.first = dist.get_rank() == 0
            def work(self, x):
                if self.first:
                    sync(x)
        def main(flag, items, x):
            thing = Thing(False, x)
            thing.work(x)
        """,
    "a function that asks who it is": """
        def first():
            return dist.get_rank() == 0
        def work(x):
            if first():
                sync(x)
        def main(flag, items, x):
            work(x)
        """,
    "functions that call each other, with collectives": """
        def ping(n, x):
            dist.barrier()
            if n:
                pong(n - 1, x)
        def pong(n, x):
            dist.gather(x)
            if n:
                ping(n - 1, x)
        def main(flag, items, x):
            if dist.get_rank() == 0:
                ping(1, x)
            else:
                pong(1, x)
        """,
    "a recursion that all enter": """
        def down(n, x):
            dist.barrier()
            if n:
                down(n - 1, x)
        def main(flag, items, x):
            if dist.get_rank() == 0:
                down(2, x)
            else:
                down(2, x)
        """,
    "what a recursion returns": """
        def depth(n):
            if n > 0:
                found = depth(n - 1)
                if found is not None:
                    if dist.get_rank() == 0:
                        dist.barrier()
                return found
            return 5
        def main(flag, items, x):
            depth(len(items))
        """,
    "what a recursion of two functions returns": """
        def even(n):
            if n == 0:
                return "x"
            return odd(n - 1)
        def odd(n):
            if n == 0:
                return "y"
            return even(n - 1)
        def main(flag, items, x):
            found = even(2)
            if dist.get_rank() == 0:
                if found is not None:
                    dist.barrier()
        """,
    "a class method that makes its class": """
        class Saver:
            def __init__(self, x):
                dist.barrier()
            @classmethod
            def make(cls, x):
                return cls(x)
        def main(flag, items, x):
            if dist.get_rank() == 0:
                Saver.make(x)
        """,
    "a method of what a class method makes": """
        class Saver:
            def sync(self, x):
                dist.barrier()
            @classmethod
            def make(cls, x):
                return cls()
        def main(flag, items, x):
            if dist.get_rank() == 0:
                Saver.make(x).sync(x)
        """,
    "a class method that makes the base class": """
        class Base:
            def sync(self, x):
                pass
            @classmethod
            def make(cls, x):
                return cls()
        class Saver(Base):
            def sync(self, x):
                dist.barrier()
        def main(flag, items, x):
            if dist.get_rank() == 0:
                Base.make(x).sync(x)
        """,
    "a class method that makes the class it is called on": """
        class Base:
            def sync(self, x):
                pass
            @classmethod
            def make(cls, x):
                return cls()
        class Saver(Base):
            def sync(self, x):
                dist.barrier()
        def main(flag, items, x):
            if dist.get_rank() == 0:
                Saver.make(x).sync(x)
        """,
    "a class method that calls another": """
        class Saver:
            def __init__(self, x):
                dist.barrier()
            @classmethod
            def inner(cls, x):
                return cls(x)
            @classmethod
            def make(cls, x):
                return cls.inner(x)
        def main(flag, items, x):
            if dist.get_rank() == 0:
                Saver.make(x)
        """,
    "another object of the own class": """
        class Saver:
            def sync(self, x):
                dist.barrier()
            def again(self, x):
                type(self)().sync(x)
                self.__class__().sync(x)
        def main(flag, items, x):
            if dist.get_rank() == 0:
                Saver().again(x)
        """,
    "a function that makes an object": """
        class Saver:
            def __init__(self, x):
                dist.barrier()
        def build(x):
            return Saver(x)
        def main(flag, items, x):
            if dist.get_rank() == 0:
                build(x)
        """,
    "a function that makes an object of a subclass": """
        class Base:
            def __init__(self, x):
                dist.barrier()
        class Saver(Base):
            pass
        def build(x):
            return Saver(x)
        def main(flag, items, x):
            if dist.get_rank() == 0:
                build(x)
        """,
    "a collective of rank 0 in an endless loop of all": """
        def main(flag, items, x):
            n = 0
            while True:
                if dist.get_rank() == 0:
                    dist.barrier()
                n += 1
                if n > 2:
                    break
        """,
    "a collective behind an endless loop of rank 0": """
        def main(flag, items, x):
            n = 0
            if dist.get_rank() == 0:
                while True:
                    n += 1
                    if n > 2:
                        break
                dist.barrier()
        """,
    "rank 0 leaves an endless loop of all": """
        def main(flag, items, x):
            while True:
                dist.reduce(x, 0)
                if dist.get_rank() == 0:
                    break
                dist.barrier()
                break
        """,
    "a handler to which rank 0 alone may come": """
        def main(flag, items, x):
            try:
                if dist.get_rank() == 0:
                    failing(True)
            except KeyError:
                dist.barrier()
        """,
    "such a handler and an else alike": """
        def main(flag, items, x):
            try:
                if dist.get_rank() == 0:
                    failing(True)
                else:
                    pass
            except KeyError:
                dist.barrier()
            else:
                dist.barrier()
        """,
    "a handler to which all may come": """
        def main(flag, items, x):
            try:
                if dist.get_rank() == 0:
                    failing(True)
                failing(True)
            except KeyError:
                dist.barrier()
        """,
    "such a handler that calls what waits": """
        def main(flag, items, x):
            try:
                if dist.get_rank() == 0:
                    failing(True)
            except KeyError:
                sync(x)
        """,
    "a condition of the rank that comes round a loop": """
        def main(flag, items, x):
            done = False
            for i in items:
                if done:
                    dist.barrier()
                done = dist.get_rank() == 0
        """,
    "one in an attribute": """
        class T:
            pass
        def main(flag, items, x):
            t = T()
            t.done = False
            for i in items:
                if t.done:
                    dist.barrier()
                t.done = dist.get_rank() == 0
        """,
    "one in a loop over a generator": """
        def main(flag, items, x):
            done = False
            for i in counted(x):
                if done:
                    dist.barrier()
                done = dist.get_rank() == 0
        """,
    "one that comes round twice": """
        def main(flag, items, x):
            done = False
            last = False
            for i in (1, 2, 3, 4):
                if last:
                    dist.barrier()
                last = done
                done = dist.get_rank() == 0
        """,
    "a flag that rank 0 alone sets for the next turn": """
        def main(flag, items, x):
            done = False
            for i in items:
                if done:
                    dist.barrier()
                if dist.get_rank() == 0:
                    done = True
        """,
    "a flag that all set for the next turn": """
        def main(flag, items, x):
            done = False
            for i in items:
                if done:
                    dist.barrier()
                done = dist.get_rank() >= 0
        """,
    "a count of turns": """
        def main(flag, items, x):
            turn = 0
            for i in items:
                if dist.get_rank() == 0 and turn == 1:
                    print(x)
                turn += 1
                if turn == 2:
                    dist.barrier()
        """,
    "the first turn is another for all": """
        def main(flag, items, x):
            first = True
            for i in items:
                if not first or dist.get_rank() == 0:
                    print(x)
                if first:
                    dist.barrier()
                first = False
        """,
    "what rank 0 alone keeps for the next turn": """
        def main(flag, items, x):
            saved = None
            for i in items:
                if dist.get_rank() == 0:
                    saved = i
                if saved is not None:
                    print(x)
            dist.barrier()
        """,
    "a number of the rank that changes in each turn": """
        def main(flag, items, x):
            mine = dist.get_rank()
            for i in items:
                if mine >= 0:
                    dist.barrier()
                mine = mine + 4
        """,
    "behind a call in a call": """
        def outer(x):
            sync(x)
            dist.gather(x)
        def main(flag, items, x):
            if dist.get_rank() == 0:
                outer(x)
            else:
                dist.barrier()
                dist.gather(x)
            dist.reduce(x, 0)
        """,
    "nothing behind a call in a call": """
        def outer(x):
            sync(x)
            dist.gather(x)
        def main(flag, items, x):
            if dist.get_rank() == 0:
                outer(x)
                dist.reduce(x, 0)
            else:
                dist.barrier()
                dist.gather(x)
        """,
    "an operand behind the first that decides": """
        def main(flag, items, x):
            if dist.get_rank() == 0:
                ready = True or sync(x)
        """,
    "an operand behind one in the middle that decides": """
        def main(flag, items, x):
            if dist.get_rank() == 0:
                ready = flag and False and sync(x)
        """,
    "such an operand of or": """
        def main(flag, items, x):
            if dist.get_rank() == 0:
                ready = flag or True or sync(x)
        """,
    "a condition that a loop asks anew": """
        def ready(state):
            state.append(0)
            return len(state) > 1
        def main(flag, items, x):
            state = []
            done = False
            while not done:
                if ready(state):
                    dist.barrier()
                    return
                done = flag
            if dist.get_rank() == 0 and ready(state):
                dist.gather(x)
        """,
    "a handler to which only who has not left may come": """
        def main(flag, items, x):
            try:
                if dist.get_rank() != 0:
                    return
                failing(True)
            except KeyError:
                dist.barrier()
        """,
    "a generator that hands over to another": """
        def both(x):
            yield from counted(x)
        def main(flag, items, x):
            if dist.get_rank() == 0:
                for i in both(x):
                    pass
        """,
    "rank 0 leaves a loop over such a generator": """
        def both(x):
            yield from counted(x)
            dist.gather(x)
        def main(flag, items, x):
            rank = dist.get_rank()
            try:
                for i in both(x):
                    if rank == 0:
                        return
            except KeyError:
                pass
            dist.barrier()
        """,
    "all leave a loop over such a generator": """
        def both(x):
            yield from counted(x)
            dist.gather(x)
        def main(flag, items, x):
            rank = dist.get_rank()
            try:
                for i in both(x):
                    if flag:
                        return
            except KeyError:
                pass
            dist.barrier()
        """,
    "an exception in a context manager inside another": """
        @contextmanager
        def twice(x):
            with generated(x):
                dist.scatter(x)
                yield
                dist.gather(x)
        def main(flag, items, x):
            rank = dist.get_rank()
            try:
                with twice(x):
                    if rank == 0:
                        raise KeyError(x)
            except KeyError:
                pass
            dist.barrier()
        """,
    "a return in a context manager inside another": """
        @contextmanager
        def twice(x):
            with generated(x):
                dist.scatter(x)
                yield
                dist.gather(x)
        def main(flag, items, x):
            rank = dist.get_rank()
            try:
                with twice(x):
                    if flag:
                        return
            except KeyError:
                pass
            dist.barrier()
        """,
    "a context manager of two ways": """
        @contextmanager
        def maybe(flag, x):
            if flag:
                dist.scatter(x)
                yield
                dist.gather(x)
            else:
                yield
        def main(flag, items, x):
            rank = dist.get_rank()
            try:
                with maybe(flag, x):
                    if flag:
                        return
            except KeyError:
                pass
            dist.barrier()
        """,
    "a generator that hands over to itself": """
        def down(n, x):
            dist.barrier()
            yield n
            if n:
                yield from down(n - 1, x)
        def main(flag, items, x):
            if dist.get_rank() == 0:
                for i in down(2, x):
                    pass
        """,
    "such a generator that all go through": """
        def down(n, x):
            dist.barrier()
            yield n
            if n:
                yield from down(n - 1, x)
        def main(flag, items, x):
            rank = dist.get_rank()
            for i in down(2, x):
                if rank == 0:
                    print(i)
        """,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_ranks_part_where_python_says_so(name: str) -> None:
    assert bool(said_lines(PROGRAMS[name])) == parts(PROGRAMS[name])


@pytest.mark.parametrize("name", [n for n in PROGRAMS if "each other" in n or "recursion" in n])
def test_the_order_of_definitions_changes_nothing(name: str) -> None:
    """Which function of a recursion is followed first does not change what is found."""
    blocks = textwrap.dedent(PROGRAMS[name]).strip().split("\ndef ")
    pieces = [block if block.startswith("def ") else f"def {block}" for block in blocks]
    found = {tuple(said_lines("\n".join(order))) for order in itertools.permutations(pieces)}
    assert len(found) == 1


ORDERS = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "==": "!=", "!=": "==", "is": "is not",
          "is not": "is", "in": "not in", "not in": "in"}  # fmt: skip


@pytest.mark.parametrize("operator", ORDERS)
@pytest.mark.parametrize("turned", ["if a {} b:", "if not a {} b:"])
def test_of_a_comparison_and_its_opposite_one_holds(operator: str, turned: str) -> None:
    """`a >= b` and `a < b` are one question: of two collectives under them one takes place."""
    program = f"""
        def main(a, b, x):
            if dist.get_rank() == 0:
                {turned.format(operator)}
                    sync(x)
                {turned.format(ORDERS[operator])}
                    sync(x)
            else:
                sync(x)
        """
    assert not said_lines(program)
    assert said_lines(program.replace(turned.format(ORDERS[operator]), turned.format(operator)))


def test_a_loop_in_which_one_class_serves_the_others_is_not_compared() -> None:
    """What rank 0 sends comes from elsewhere: from a server, or from what calls `main` on it."""
    serving = """
        def main(flag, items, x):
            while True:
                if dist.get_rank() == 0:
                    answer(x)
                else:
                    dist.broadcast(x, 0)
        """
    assert not said_lines(serving)
    assert said_lines(serving.replace("answer(x)", "dist.barrier()"))
    alone = """
        def main(flag, items, x):
            if dist.get_rank() != 0:
                while True:
                    dist.broadcast(x, 0)
        """
    assert not said_lines(alone)


@pytest.mark.parametrize("leave", ["sys.exit(1)", "sys.exit(flag)", "raise SystemExit(3)"])
def test_an_exit_with_a_code_is_the_end_of_a_ranks_path(leave: str) -> None:
    """Not each launcher ends the others then, and none does at once."""
    program = f"""
        def main(flag, items, x):
            dist.gather(x)
            if dist.get_rank() == 0:
                {leave}
            dist.barrier()
        """
    assert said_lines(program) == ["dist.barrier()"]
    assert not said_lines(program.replace("dist.get_rank() == 0", "flag"))
