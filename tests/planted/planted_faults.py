"""Hand-made faults of one line each, with what each breaks: the tests have to notice them.

A snippet has to occur exactly once in its file. Where code changes on purpose, its snippet changes here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Fault:
    """`find` in the file becomes `replace`; `tests` are asked in place of those of the room."""

    file: str
    find: str
    replace: str
    breaks: str
    tests: tuple[str, ...] = ()

    @property
    def room(self) -> str:
        """The folder of the package that it is planted in."""
        return self.file.split("/")[1]

    @property
    def asked(self) -> tuple[str, ...]:
        """The tests that have to notice it, the quick ones first."""
        return self.tests or next(TESTS[room] for room in TESTS if self.file.startswith(room))


_PROGRAMS = (
    "tests/analysis/test_whole_programs.py",
    "tests/analysis/test_ways_out.py",
    "tests/analysis/test_contexts.py",
    "tests/analysis/test_divergence.py",
    "tests/analysis/test_signals.py",
    "tests/analysis/test_summaries.py",
    "tests/analysis/test_compare.py",
)
_RULES = (
    "tests/rules/test_questions.py",
    "tests/rules/test_severities.py",
    "tests/rules/test_cases.py",
)
_ENTERED = (
    "tests/analysis/test_joint_entry.py",
    "tests/analysis/test_processes.py",
    "tests/analysis/test_one_process.py",
)
TESTS: Final[dict[str, tuple[str, ...]]] = {
    "distlint/analysis/interpreter/": (
        "tests/analysis/interpreter/test_laws_of_values.py",
        "tests/analysis/interpreter/test_scope.py",
        "tests/analysis/interpreter/test_ranks.py",
        "tests/analysis/interpreter/test_narrowing.py",
        "tests/analysis/interpreter/test_signature.py",
        "tests/analysis/interpreter/test_constants.py",
        *_PROGRAMS,
    ),
    "distlint/analysis/program/": ("tests/analysis/program", *_PROGRAMS),
    "distlint/analysis/live/": (*_RULES, *_ENTERED),
    "distlint/analysis/questions/": (*_RULES, *_ENTERED),
    "distlint/analysis/": _PROGRAMS,
    "distlint/knowledge/": ("tests/knowledge", *_RULES),
    "distlint/project/": ("tests/project", "tests/cli/test_cache.py"),
    "distlint/fixing/": (
        "tests/fixing/test_comments.py",
        "tests/fixing/test_diff.py",
        "tests/fixing/test_writing.py",
        "tests/fixing/test_reproducing.py",
        "tests/fixing/test_engine.py",
        "tests/fixing/test_imports.py",
    ),
    "distlint/repairs/": ("tests/repairs",),
    "distlint/reporting/": ("tests/reporting",),
    "distlint/runtime/": ("tests/runtime/test_runtime_alone.py",),
}
"""The quick tests of each part, by how the paths of its files begin."""

_ANALYSIS = "distlint/analysis"
_INTERPRETER = f"{_ANALYSIS}/interpreter"
_PROGRAM = f"{_ANALYSIS}/program"
_TRACES = f"{_ANALYSIS}/traces"
_LIVE = f"{_ANALYSIS}/live"
_QUESTIONS = f"{_ANALYSIS}/questions"
_FIXING = "distlint/fixing"
_REPAIRS = "distlint/repairs"
_REPORTING = "distlint/reporting"
_RUNTIME = "distlint/runtime"

FAULTS: Final = (
    # -- values and variables
    Fault(
        f"{_INTERPRETER}/values.py",
        "hi = a if a.variance >= b.variance else b",
        "hi = a if a.variance <= b.variance else b",
        "a join takes the smaller spread",
    ),
    Fault(
        f"{_INTERPRETER}/values.py",
        "if value.variance > variance:",
        "if value.variance < variance:",
        "what is computed from a rank's own value is taken for the same on all",
    ),
    Fault(
        f"{_INTERPRETER}/values.py",
        "tags=variance_of((a, b))[2]",
        "tags=a.tags & b.tags",
        "a join keeps only the tags of both",
    ),
    Fault(
        f"{_INTERPRETER}/values.py",
        "a.const if same_const else UNKNOWN,",
        "a.const,",
        "a join keeps the constant of one side",
    ),
    Fault(
        f"{_INTERPRETER}/values.py",
        "not_none=a.never_none and b.never_none,",
        "not_none=a.never_none or b.never_none,",
        "a join of None and something is not None",
    ),
    Fault(
        f"{_INTERPRETER}/values.py",
        "(of_a, of_b) if len(of_a) >= len(of_b) else (of_b, of_a)",
        "(of_a, of_b) if len(of_a) <= len(of_b) else (of_b, of_a)",
        "a model wrapped on one way is taken for bare",
    ),
    Fault(
        f"{_INTERPRETER}/values.py",
        "truth=ta if ta == tb else None,",
        "truth=ta,",
        "a join keeps the truth of one side",
    ),
    Fault(
        f"{_INTERPRETER}/values.py",
        "either = a if a.variance >= b.variance else b",
        "either = a",
        "a join of equal values takes the spread of the first",
    ),
    Fault(
        f"{_INTERPRETER}/variables.py",
        'elif "." not in name:',
        "elif name:",
        "a path that one side alone knows is known behind both",
    ),
    Fault(
        f"{_INTERPRETER}/variables.py",
        "self.values[name] = value\n        self.forget_below(name)",
        "self.values[name] = value",
        "paths survive the binding of their root",
    ),
    Fault(
        f"{_INTERPRETER}/variables.py",
        "self.values.pop(path, None)\n        self.forget_below(path)",
        "self.values.pop(path, None)",
        "paths survive the end of their root",
    ),
    Fault(
        f"{_INTERPRETER}/variables.py",
        "new.values = dict(self.values)",
        "new.values = self.values",
        "both arms of a condition write to the same variables",
    ),
    Fault(
        f"{_INTERPRETER}/variables.py",
        "new._roots = self._roots | other._roots",
        "new._roots = set()",
        "paths behind a merge are never forgotten",
    ),
    # -- scope
    Fault(
        f"{_INTERPRETER}/scope.py",
        "return self if test.variance is Variance.UNIFORM else self._replace(control=test)",
        "return self",
        "what is assigned under a rank's own condition is taken for the same on all",
    ),
    Fault(
        f"{_INTERPRETER}/scope.py",
        "for guard in reversed(self.guards):",
        "for guard in self.guards:",
        "the outermost condition on the rank is named, not the innermost",
    ),
    Fault(
        f"{_INTERPRETER}/scope.py",
        "return self._replace(handling=True, alone",
        "return self._replace(handling=False, alone",
        "an except block is not known as one",
    ),
    # -- narrowing
    Fault(
        f"{_INTERPRETER}/narrowing.py",
        "if path and taken is isinstance(op, ast.Is):",
        "if path and taken is isinstance(op, ast.IsNot):",
        "`x is None` says that x is not None",
    ),
    Fault(
        f"{_INTERPRETER}/narrowing.py",
        "if taken is isinstance(op, ast.And):",
        "if taken is isinstance(op, ast.Or):",
        "`or` narrows as `and` does",
    ),
    Fault(
        f"{_INTERPRETER}/narrowing.py",
        "narrow(frame, operand, not taken)",
        "narrow(frame, operand, taken)",
        "`not` does not turn what a test says",
    ),
    Fault(
        f"{_INTERPRETER}/narrowing.py",
        "if path and not taken:",
        "if path and taken:",
        'hasattr(model, "module") says that the model is bare',
    ),
    Fault(
        f"{_INTERPRETER}/narrowing.py",
        "other = _names_data(kinds) or _names_classes(frame, kinds)",
        "other = _names_wrapper(kinds)",
        "isinstance(model, DDP) says that the model is bare",
    ),
    # -- signatures
    Fault(
        f"{_INTERPRETER}/signature.py",
        "args = [receiver, *args]",
        "args = list(args)",
        "a method's arguments are bound one place too early",
    ),
    Fault(
        f"{_INTERPRETER}/signature.py",
        "bound = {**defaults, **bound}",
        "bound = {**bound, **defaults}",
        "a default replaces a positional argument",
    ),
    Fault(
        f"{_INTERPRETER}/signature.py",
        "return [*closure.args, *args], {",
        "return [*args, *closure.args], {",
        "what functools.partial has bound comes last",
    ),
    Fault(
        f"{_INTERPRETER}/signature.py",
        "{**dict(closure.keywords), **keywords}",
        "{**keywords, **dict(closure.keywords)}",
        "a keyword of functools.partial wins over that of the call",
    ),
    Fault(
        f"{_INTERPRETER}/signature.py",
        "names = [a.arg for a in (*spec.posonlyargs, *spec.args)]",
        "names = [a.arg for a in spec.args]",
        "positional-only parameters are left out",
    ),
    # -- conditions and expressions
    Fault(
        f"{_INTERPRETER}/conditions.py",
        "decided = operands[-1].truthiness() is (not is_and)",
        "decided = False",
        "operands behind the one that decides are evaluated",
    ),
    Fault(
        f"{_INTERPRETER}/conditions.py",
        "then, orelse = (steps, []) if is_and else ([], steps)",
        "then, orelse = (steps, [])",
        "the second operand of `or` is evaluated where the first is true",
    ),
    Fault(
        f"{_INTERPRETER}/conditions.py",
        "ast.NotIn: lambda a, b: a not in b,",
        "ast.NotIn: lambda a, b: a in b,",
        "`not in` means `in`",
    ),
    Fault(
        f"{_INTERPRETER}/conditions.py",
        "return constant(not truth, value.variance, value.origin, value.tags)",
        "return constant(truth, value.variance, value.origin, value.tags)",
        "`not` of a known value is the value",
    ),
    Fault(
        f"{_INTERPRETER}/conditions.py",
        "ast.GtE: ast.Lt,",
        "ast.GtE: ast.Gt,",
        "`>=` is taken for the opposite of `>`",
    ),
    Fault(
        f"{_INTERPRETER}/conditions.py",
        "if test.variance > value.variance:",
        "if test.variance < value.variance:",
        "a value chosen by a rank's own condition is taken for the same on all",
    ),
    Fault(
        f"{_INTERPRETER}/expressions.py",
        "ast.Sub: operator.sub,",
        "ast.Sub: operator.add,",
        "a difference is a sum",
    ),
    Fault(
        f"{_INTERPRETER}/expressions.py",
        "return constant(-value.const, value.variance, value.origin, value.tags)",
        "return constant(value.const, value.variance, value.origin, value.tags)",
        "a minus sign is lost",
    ),
    Fault(
        f"{_INTERPRETER}/expressions.py",
        "frame.variables = saved",
        "saved.copy()",
        "the variable of a comprehension replaces one of the function",
    ),
    # -- statements
    Fault(
        f"{_INTERPRETER}/statements.py",
        "narrow(frame, node, taken)",
        "narrow(frame, node, True)",
        "the other arm of a test knows what the first one knows",
    ),
    Fault(
        f"{_INTERPRETER}/statements.py",
        "frame.variables = then if then_alive else other",
        "frame.variables = then",
        "behind an arm that leaves, the variables of that arm hold",
    ),
    Fault(
        f"{_INTERPRETER}/statements.py",
        "if guard.value.variance > value.variance and guard.value.truthiness() is None:",
        "if guard.value.variance < value.variance and guard.value.truthiness() is None:",
        "what a rank's own condition returns is taken for the same on all",
    ),
    Fault(
        f"{_INTERPRETER}/statements.py",
        "if code is not None and fails(frame.evaluate(code)):",
        "if code is not None:",
        "exit code 0 of SystemExit counts as failure",
    ),
    Fault(
        f"{_INTERPRETER}/libraries.py",
        "return code.known and code.const not in (None, 0)",
        "return code.known",
        "sys.exit(0) counts as failure",
    ),
    Fault(
        f"{_INTERPRETER}/statements.py",
        "value = binary(old, frame.evaluate(statement.value), statement.op)",
        "value = old",
        "`x += 1` leaves x as it is",
    ),
    Fault(
        f"{_INTERPRETER}/statements.py",
        "frame.variables.remove(path)",
        "frame.variables.forget_below(path)",
        "a deleted name is still known",
    ),
    Fault(
        f"{_INTERPRETER}/statements.py",
        "narrow(frame, statement.test, True)",
        "narrow(frame, statement.test, False)",
        "an assert says the opposite of its test",
    ),
    # -- loops, handlers, contexts
    Fault(
        f"{_INTERPRETER}/loops.py",
        "for _ in range(_MAX_PASSES):",
        "for _ in range(1):",
        "no second pass over a loop",
    ),
    Fault(
        f"{_INTERPRETER}/loops.py",
        "frame.variables.refine(name, value.replace(key=key, truth=None, logic=None, not_none=False))",
        "frame.variables.refine(name, value)",
        "what a loop assigns is known at its head",
    ),
    Fault(
        f"{_INTERPRETER}/loops.py",
        "open_.loop.volatile |= _symbols(test)",
        "open_.loop.volatile |= set()",
        "a condition in a loop has one answer for all iterations",
    ),
    Fault(
        f"{_INTERPRETER}/loops.py",
        "return not loop.endless or _contains_break(statement.body)",
        "return not loop.endless",
        "behind a `while True` with a break nothing is followed",
    ),
    Fault(
        f"{_INTERPRETER}/exceptions.py",
        "failed = before.merge(frame.variables, id(statement))",
        "failed = before",
        "a handler does not see what the body has assigned",
    ),
    Fault(
        f"{_INTERPRETER}/exceptions.py",
        "return bool(ends) and final_alive",
        "return bool(ends)",
        "a `finally` that returns is passed over",
    ),
    Fault(
        f"{_INTERPRETER}/exceptions.py",
        "ends = [frame.variables] if alive else []",
        "ends = []",
        "behind a try only the variables of its handlers hold",
    ),
    Fault(
        f"{_INTERPRETER}/exceptions.py",
        "return caught is None or any(",
        "return any(",
        "a bare except does not catch SystemExit",
    ),
    Fault(
        f"{_INTERPRETER}/contexts.py",
        "attempt = Try(statement, [], [[]] if suppress else [], [], [])",
        "attempt = Try(statement, [], [], [], [])",
        "contextlib.suppress catches nothing",
    ),
    Fault(
        f"{_INTERPRETER}/contexts.py",
        "frame.call(Closure(methods[1], {}, value)",
        "frame.call(Closure(methods[0], {}, value)",
        "a class's __enter__ runs again where its __exit__ should",
    ),
    Fault(
        f"{_INTERPRETER}/contexts.py",
        "return alive or suppress",
        "return alive",
        "nothing follows a suppressed raise",
    ),
    # -- the engine
    Fault(
        f"{_INTERPRETER}/underway.py",
        "complete = min(run.lowest, run.assuming) >= depth or not self._runs",
        "complete = True",
        "a run that a recursion cut short is remembered",
    ),
    Fault(
        f"{_INTERPRETER}/outside.py",
        "if value.known and (times != 1 or incomplete):",
        "if value.known and incomplete:",
        "an attribute that two methods assign is taken for a constant",
    ),
    Fault(
        f"{_INTERPRETER}/underway.py",
        "return _facts_of(assigned) == _facts_of(Value(()))",
        "return True",
        "runs that took an attribute for unknown stay when it is known",
    ),
    Fault(
        f"{_INTERPRETER}/summaries.py",
        "and not main.depends_on & RANK_KINDS",
        "and not main.depends_on - RANK_KINDS",
        "a function that asks for the rank runs as on rank 0 everywhere",
    ),
    Fault(
        f"{_INTERPRETER}/ranks.py",
        "return self.rank == WORLD_SIZE - 1",
        "return self.rank == WORLD_SIZE",
        "no rank is the last",
    ),
    Fault(
        f"{_INTERPRETER}/ranks.py",
        'NODE_MAIN: frozenset({"local_rank", "is_local_main"}),',
        'NODE_MAIN: frozenset({"local rank"}),',
        "the first rank of another node is not followed",
    ),
    # -- the program
    Fault(
        f"{_PROGRAM}/program.py",
        "head = next((order[0] for order in rest if order[0] not in later), rest[0][0])",
        "head = rest[0][0]",
        "classes come in the order depth first",
    ),
    Fault(
        f"{_PROGRAM}/program.py",
        "own = own[own.index(after) + 1 :] if after in own else self.mro(after)[0][1:]",
        "own = own[own.index(after) :] if after in own else self.mro(after)[0][1:]",
        "super() finds the method itself",
    ),
    Fault(
        f"{_PROGRAM}/program.py",
        "for base in self.mro(candidate)[0][1:]:",
        "for base in self.mro(candidate)[0]:",
        "a class is a subclass of its own",
    ),
    Fault(
        f"{_PROGRAM}/linked.py",
        "leader[find(other)] = find(module)",
        "leader[other] = module",
        "files that import one another are analysed apart",
    ),
    # -- graphs and their comparison
    Fault(
        f"{_TRACES}/graph.py",
        "break_=through(ways.break_),",
        "break_=ways.break_,",
        "no `finally` on break",
    ),
    Fault(
        f"{_TRACES}/graph.py",
        "continue_=through(ways.continue_),",
        "continue_=ways.continue_,",
        "no `finally` on continue",
    ),
    Fault(
        f"{_TRACES}/graph.py",
        "return_=through(ways.return_),",
        "return_=ways.return_,",
        "no `finally` on return",
    ),
    Fault(
        f"{_TRACES}/graph.py",
        "exit_=through(ways.exit_),",
        "exit_=ways.exit_,",
        "no `finally` on sys.exit",
    ),
    Fault(
        f"{_TRACES}/graph.py",
        "raise_=_lazy(failed),",
        "raise_=ways.raise_,",
        "no `finally` on a raise that is caught further out",
    ),
    Fault(
        f"{_TRACES}/graph.py",
        "break_=resumed(at, ways.break_),",
        "break_=ways.break_,",
        "a generator's rest does not run on break",
    ),
    Fault(
        f"{_TRACES}/graph.py",
        "return head.body if loop.once else head",
        "return head",
        "a loop that surely runs once may run never",
    ),
    Fault(
        f"{_TRACES}/graph.py",
        "head.exit = None if loop.endless else self._block(loop.orelse, after, ways)",
        "head.exit = None if loop.endless else after",
        "the `else` of a loop does not run",
    ),
    Fault(
        f"{_TRACES}/graph.py",
        'result = then if op == "and" else orelse',
        'result = orelse if op == "and" else then',
        "`and` and `or` lead to the wrong arm",
    ),
    Fault(
        f"{_TRACES}/graph.py",
        "return ways.exit_() if step.by_rank else RAISE",
        "return RAISE",
        "an exit with a code that a rank takes is no end of its path",
    ),
    Fault(
        f"{_TRACES}/graph.py",
        "return self._known[asked] is value",
        "return self._known[asked] is not value",
        "an argument that is None answers `is None` with False",
    ),
    Fault(
        f"{_TRACES}/compare.py",
        "left.event.op == right.event.op\n",
        "left.event is not None\n",
        "different collectives meet each other",
    ),
    Fault(
        f"{_TRACES}/fronts.py",
        "if fails(node):",
        "if False:",
        "what may fail on one side alone is an end of that side",
    ),
    Fault(
        f"{_TRACES}/compare.py",
        "anew = frozenset(left.loop.volatile | right.loop.volatile)",
        "anew = frozenset[Hashable]()",
        "a loop does not ask its conditions anew",
    ),
    # -- fixing
    Fault(
        f"{_FIXING}/engine.py",
        "or any(_crosses(a, b) for a in self.wraps for b in other.wraps)",
        "or False",
        "two `with` blocks that cross are both put in",
    ),
    Fault(
        f"{_FIXING}/engine.py",
        "if any(fix.edits == other.edits for other, _ in accepted):",
        "if not fix.edits:",
        "equal fixes are conflicts",
    ),
    Fault(
        f"{_FIXING}/engine.py",
        "if left or not self._needs_parentheses(target, outer, bare):",
        "if left or outer is not target:",
        "an expression inside another gets no parentheses",
    ),
    Fault(
        f"{_FIXING}/diff.py",
        'return f"{start + 1 if length else start},{length}"',
        'return f"{start + 1},{length}"',
        "a patch that only adds lines puts them one line too late",
    ),
    Fault(
        f"{_FIXING}/diff.py",
        'yield b"\\n" + _NO_NEWLINE.encode()',
        'yield b"\\n"',
        "a patch does not say that the last line has no end",
    ),
    Fault(
        f"{_FIXING}/writing.py",
        "if target.read_bytes() != before:",
        "if not target.exists():",
        "a file that changed since it was read is overwritten",
    ),
    Fault(
        f"{_FIXING}/writing.py",
        "temporary.chmod(stat.S_IMODE(status.st_mode))",
        "temporary.stat()",
        "a fixed file loses its mode",
    ),
    Fault(
        f"{_FIXING}/writing.py",
        "target = Path(os.path.realpath(path))",
        "target = Path(path)",
        "a symbolic link is replaced by a file",
    ),
    Fault(
        f"{_FIXING}/comments.py",
        "elif any(overlap(one, other) for one in found for other in edits):",
        "elif False:",
        "two fixes of one comment are both carried out",
    ),
    Fault(
        f"{_FIXING}/reproducing.py",
        'return text + "\\r"',
        "return text",
        "a carriage return at the end of a file is lost",
    ),
    # -- repairs
    Fault(
        f"{_REPAIRS}/guarding.py",
        'if any(keyword.arg in ("broadcast", "timeout") for keyword in call.keywords):',
        'if any(keyword.arg == "broadcast" for keyword in call.keywords):',
        "run_on_main takes the timeout that is meant for the function",
    ),
    Fault(
        f"{_REPAIRS}/guarding.py",
        'f"    {line}" if line.strip() else line for line in (first, *rest)',
        'f"    {line}" for line in (first, *rest)',
        "empty lines get blanks",
    ),
    Fault(
        f"{_REPAIRS}/guarding.py",
        "and node.lineno > last\n        and node not in own",
        "and node.lineno < last\n        and node not in own",
        "names read above a statement count as read behind it",
    ),
    Fault(
        f"{_REPAIRS}/arguments.py",
        "if isinstance(last, ast.GeneratorExp | ast.Starred):",
        "if isinstance(last, ast.Starred):",
        "a keyword is put behind a bare generator",
    ),
    Fault(
        f"{_REPAIRS}/arguments.py",
        "size = sum(len(line.encode()) + 1 for line in lines[:-1])",
        "size = sum(len(line) + 1 for line in lines[:-1])",
        "a keyword is put into the middle of an argument with letters beyond ASCII",
    ),
    # -- reports
    Fault(
        f"{_REPORTING}/report.py",
        'if self.problems or any(row.finding.code == "DL902" for row in self.findings):',
        "if self.problems:",
        "a file that does not parse gives exit code 1",
    ),
    Fault(
        f"{_REPORTING}/github.py",
        'return _data(text).replace(":", "%3A").replace(",", "%2C")',
        'return _data(text).replace(":", "%3A")',
        "a comma in a path ends the property",
    ),
    Fault(
        f"{_REPORTING}/github.py",
        "if place.line == place.end_line:",
        "if place.line <= place.end_line:",
        "GitHub refuses columns of a range of several lines",
    ),
    Fault(
        f"{_REPORTING}/junit.py",
        '{"message": _clean(finding.message), "type"',
        '{"message": finding.message, "type"',
        "a control character makes the XML invalid",
    ),
    Fault(
        f"{_REPORTING}/sarif.py",
        '"executionSuccessful": not report.problems,',
        '"executionSuccessful": True,',
        "a check that failed is told as done",
    ),
    Fault(
        f"{_REPORTING}/json.py",
        '"end_column": end_column,',
        '"end_column": column,',
        "a finding has no width",
    ),
    Fault(
        f"{_REPORTING}/text.py",
        "{'' if number == 1 else 's'}",
        "s",
        "one finding is told as `1 errors`",
    ),
    # -- the runtime, on one process
    Fault(
        f"{_RUNTIME}/identity.py",
        "if world_size() == 1:\n        return 0",
        "if world_size() == 0:\n        return 0",
        "one process takes the local rank of an earlier launch",
    ),
    Fault(
        f"{_RUNTIME}/environment.py",
        "if value is None:\n                os.environ.pop(name, None)\n            else:\n                os.environ[name] = value",
        "if value is not None:\n                os.environ[name] = value",
        "a variable that was absent stays behind",
    ),
    Fault(
        f"{_RUNTIME}/environment.py",
        "if name not in kept and (",
        "if (",
        "a variable to keep is removed",
    ),
    Fault(
        f"{_RUNTIME}/randomness.py",
        "if not 0 <= seed < 2**32:",
        "if not 0 <= seed <= 2**32:",
        "a seed that numpy refuses is taken",
    ),
    Fault(
        f"{_RUNTIME}/randomness.py",
        'text = f"{seed}/{rank}/{step}/{purpose}".encode()',
        'text = f"{seed + rank}/{step}/{purpose}".encode()',
        "rank 1 of one seed draws what rank 0 of the next draws",
    ),
    Fault(
        f"{_RUNTIME}/saving.py",
        "temporary.unlink(missing_ok=True)\n        raise",
        "raise",
        "a save that failed leaves its temporary file behind",
    ),
    Fault(
        f"{_RUNTIME}/saving.py",
        "temporary.chmod(stat.S_IMODE(path.stat().st_mode))",
        "temporary.stat()",
        "a saved file loses its mode",
    ),
    Fault(
        f"{_RUNTIME}/temporary.py",
        "for undo in reversed(undos):",
        "for undo in undos:",
        "attributes are set back in the wrong order",
    ),
    Fault(
        f"{_RUNTIME}/sections.py",
        "if world_size() == 1 or (local_rank() if local else rank()) == 0:",
        "if (local_rank() if local else rank()) != 0:",
        "run_on_main calls nothing on one process",
    ),
    # -- who enters together, and where
    Fault(
        f"{_LIVE}/joint_entry.py",
        "return [site for site, ranks in by_node.values() if MAIN in ranks and len(ranks) > 1]",
        "return [site for site, ranks in by_node.values() if MAIN in ranks]",
        "what rank 0 alone calls counts as called by all",
    ),
    Fault(
        f"{_LIVE}/joint_entry.py",
        'part[1][0] != "ranked" and part[1][:2]',
        "part[1][:2]",
        "runs that differ in an argument of the rank are not of one family",
    ),
    Fault(
        f"{_LIVE}/joint_entry.py",
        "found.setdefault((function, family), why)",
        "found[function, None] = why",
        "a reason is noted for other arguments than those it was seen with",
    ),
    Fault(
        f"{_LIVE}/joint_entry.py",
        "return _is_collective(site) and not _open(site)",
        "return _is_collective(site)",
        "a collective under a condition shows that every rank comes",
    ),
    Fault(
        f"{_LIVE}/processes.py",
        "return whole and len(numbers) == len(sizes) and prod(numbers) == 1",
        "return len(numbers) == len(sizes) and prod(numbers) == 1",
        "a tensor parallel size of 1 makes one process",
    ),
    Fault(
        f"{_LIVE}/processes.py",
        'found == ["1"] and "nnodes" not in command',
        'found == ["1"]',
        "one process for each of several machines counts as one process",
    ),
    # -- what several rules ask
    Fault(
        f"{_QUESTIONS}/seeding.py",
        "if given is not None and not (given.known and given.const is None):",
        "if given is not None:",
        "generator=None counts as a generator of one's own",
    ),
    Fault(
        f"{_QUESTIONS}/seeding.py",
        "return kept[0] if len(kept) == 1 else None if len(kept) == 0 else node",
        "return node",
        "the seed without the rank still holds the rank",
    ),
    Fault(
        f"{_QUESTIONS}/seeding.py",
        'per_rank = site.name in randomness.DECORRELATING or row.seed == "self"',
        "per_rank = False",
        "a call that seeds each rank by itself is taken for one seed for all",
    ),
    Fault(
        f"{_QUESTIONS}/caught.py",
        "any(not (_raises_again(h) or _is_of_a_process(h)) for h in attempt.handlers)",
        "bool(attempt.handlers)",
        "a handler that raises again goes on behind the exception",
    ),
    Fault(
        f"{_QUESTIONS}/caught.py",
        "level = [caller for caller in further if caller not in seen]",
        "level = []",
        "a handler around the caller of a caller is not seen",
    ),
    Fault(
        f"{_QUESTIONS}/hazards.py",
        "if synced is not None and synced.truthiness() is not False:",
        "if synced is not None:",
        "sync_module_states=False copies rank 0's weights",
    ),
    Fault(
        f"{_QUESTIONS}/hazards.py",
        "after = [s for s in ordered if s.node.lineno > seed.site.node.lineno]",
        "after = ordered",
        "what stands above a seed is built after it",
    ),
    Fault(
        f"{_QUESTIONS}/training.py",
        "names |= more",
        "return frozenset(names | more)",
        "gradients are followed through one assignment alone",
    ),
    Fault(
        f"{_QUESTIONS}/filesystem.py",
        "writes = bool(set(text) & (sinks.CREATING_MODES if opens.maps else sinks.WRITING_MODES))",
        'writes = text == "w"',
        "open(path, 'wb') reads",
    ),
    Fault(
        f"{_QUESTIONS}/filesystem.py",
        "MAIN in self.ranks and len(self.ranks) > 1 and not self._may_be_guarded",
        "MAIN in self.ranks and not self._may_be_guarded",
        "what rank 0 alone writes is written by several",
    ),
    # -- comparison
    Fault(
        f"{_TRACES}/fronts.py",
        "node, returns = returns[0].next, returns[1]",
        "node, returns = returns[0].next, ()",
        "behind a call in a call the outer one's rest is lost",
    ),
    Fault(
        f"{_TRACES}/answers.py",
        "if same == what and another != constant:",
        "if same == what and another == constant:",
        "`x == a` excludes `x == a`, not `x == b`",
    ),
    Fault(
        f"{_TRACES}/slicing.py",
        "and event.group is None",
        "and True",
        "a collective of a subgroup counts for all ranks",
    ),
    Fault(
        f"{_TRACES}/parting.py",
        "arm = branch.body if guard.taken else branch.orelse",
        "arm = branch.orelse if guard.taken else branch.body",
        "the exit is looked for in the arm that was not taken",
    ),
    Fault(
        f"{_TRACES}/divergence.py",
        "if _place(divergence) < _place(known):",
        "if _place(divergence) > _place(known):",
        "of what waits for ranks that left, the last collective is named",
    ),
    # -- the tables
    Fault(
        "distlint/knowledge/facts.py",
        "for left, kind in reversed(tuple(enumerate(kinds))):",
        "for left, kind in enumerate(kinds):",
        "`.module` takes off the innermost layer",
    ),
    Fault(
        "distlint/knowledge/facts.py",
        "if not row.forwards or attr in row.own:",
        "if attr in row.own:",
        "DDP passes attributes on as torch.compile does",
    ),
    Fault(
        "distlint/knowledge/facts.py",
        "current = conventions.CLASS_BASES.get(current) or bases.BASES.get(current)",
        "current = conventions.CLASS_BASES.get(current)",
        "a library class has no bases",
    ),
    Fault(
        "distlint/knowledge/facts.py",
        "if compared_with in (0, -1) and type(compared_with) is int:",
        "if compared_with in (0, -1):",
        "`args.rank == False` asks for the rank",
    ),
    Fault(
        "distlint/knowledge/facts.py",
        "any_attributes={**known.any_attributes, **by_last},",
        "any_attributes=known.any_attributes,",
        "an attribute that the settings list is no rank test",
    ),
    # -- the project
    Fault(
        "distlint/project/cache.py",
        "if max(stamp[0], stamp[1]) < newest",
        "if max(stamp[0], stamp[1]) >= 0",
        "a file that changed within the clock's tick is taken from the cache",
    ),
    Fault(
        "distlint/project/cache.py",
        "return sorted(found, reverse=True)",
        "return sorted(found)",
        "the entries used last go first",
    ),
    Fault(
        "distlint/project/cache.py",
        'digest.update(f"{shown}\\0{content}\\0{reported:d}\\n".encode("utf-8", "surrogateescape"))',
        'digest.update(f"{shown}\\0{content}\\n".encode("utf-8", "surrogateescape"))',
        "a file that is only imported has the result of one that is checked",
    ),
    Fault(
        "distlint/project/cache.py",
        "if digest != _checksum(name, payload):",
        "if not digest:",
        "an entry that was altered is believed",
    ),
    Fault(
        "distlint/project/fingerprints.py",
        'key = (finding.code, path, "".join(line.split()))',
        "key = (finding.code, path, line)",
        "another indentation gives a finding another name",
    ),
    Fault(
        "distlint/project/baseline.py",
        "pairs.append((-len(same), old, new))",
        "pairs.append((len(same), old, new))",
        "a renamed file is taken for the one it shares least with",
    ),
    Fault(
        "distlint/project/selection.py",
        "if (unwanted and unwanted >= wanted) or lower > wanted:",
        "if (unwanted and unwanted > wanted) or lower > wanted:",
        "`select` wins over an equally specific `ignore`",
    ),
    Fault(
        "distlint/project/suppressions.py",
        "item.first, item.last = min(item.first, start), max(item.last, token.start[0])",
        "item.first, item.last = start, start",
        "a comment covers only the first line of its statement",
    ),
    Fault(
        "distlint/project/suppressions.py",
        "and all(each.code in running for each in known if match(word, each))",
        "and any(each.code in running for each in known if match(word, each))",
        "a comment for a prefix is idle though not all of its rules run",
    ),
    Fault(
        "distlint/project/prefilter.py",
        'found.append(data[data.rfind(b"\\n", 0, at) + 1 : end])',
        "found.append(data[at:end])",
        "`from x import` is not seen by its module",
    ),
    # -- fixing
    Fault(
        f"{_FIXING}/importing.py",
        "at = next((i for i, old in enumerate(names) if _name(old) > item.name), len(names))",
        "at = len(names)",
        "a new name goes to the end of an import",
    ),
    Fault(
        f"{_FIXING}/importing.py",
        "return _STANDARD if root in sys.stdlib_module_names else _INSTALLED",
        "return _INSTALLED",
        "an import from the standard library goes to the installed ones",
    ),
    Fault(
        f"{_FIXING}/importing.py",
        "at -= 1  # the comment at the end of the line stays with its name",
        "pass",
        "the comment of the last name goes to the new one",
    ),
    Fault(
        f"{_FIXING}/naming.py",
        "if imported.index >= before or self._meanings[imported.local] != {imported.target}:",
        "if self._meanings[imported.local] != {imported.target}:",
        "an import below its use serves for it",
    ),
    Fault(
        f"{_FIXING}/engine.py",
        "or any(a.contains(b) for a in self.whole for b in other.anchors)",
        "or False",
        "something is put beside a statement that another fix removes",
    ),
    Fault(
        f"{_FIXING}/engine.py",
        "or bool(self.gaps & other.gaps)",
        "or False",
        "two fixes put code into one gap",
    ),
    Fault(
        f"{_FIXING}/engine.py",
        "return Range(self._tree.extent(node.decorators[0]).start, place.end)",
        "return place",
        "a function is replaced without its decorators",
    ),
    Fault(
        f"{_FIXING}/rewriting.py",
        "return self.block(body)  # the handlers of nothing never run",
        "return False",
        "a `try` around nothing stays",
    ),
    # -- reports
    Fault(
        f"{_REPORTING}/sarif.py",
        'result["ruleIndex"] = index[finding.code]',
        'result["ruleIndex"] = 0',
        "every result points to the first rule",
    ),
    Fault(
        f"{_REPORTING}/sarif.py",
        'return {"uri": quote(path), "uriBaseId": "%SRCROOT%"}',
        'return {"uri": path, "uriBaseId": "%SRCROOT%"}',
        "a blank in a path makes an invalid URI",
    ),
    Fault(
        f"{_REPORTING}/gitlab.py",
        '"lines": {"begin": row.finding.place.line, "end": row.finding.place.end_line},',
        '"lines": {"begin": row.finding.place.line, "end": row.finding.place.line},',
        "GitLab marks the first line of a finding alone",
    ),
    Fault(
        f"{_REPORTING}/report.py",
        "key=lambda row: (-row[1], row[0])",
        "key=lambda row: (row[1], row[0])",
        "the rarest rule comes first in the statistics",
    ),
    Fault(
        f"{_REPORTING}/frames.py",
        "if second - first <= NEAR:",
        "if second - first < NEAR:",
        "the lines between two near places are left out",
    ),
    Fault(
        f"{_REPORTING}/frames.py",
        '0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1',
        "1",
        "a mark below wide characters stands too far left",
    ),
    # -- the runtime, on one process
    Fault(
        f"{_RUNTIME}/wrapping.py",
        "while (inner := wrapped(model)) is not None:",
        "if (inner := wrapped(model)) is not None:",
        "unwrap takes off one layer",
    ),
    Fault(
        f"{_RUNTIME}/state.py",
        "while here is not None and (inner := _content(here)) is not None and inner[0] != name:",
        "while False:",
        "a key that a wrapper has cleaned itself is followed wrongly",
    ),
    Fault(
        f"{_RUNTIME}/state.py",
        "first = aliases.get(name, name)",
        "first = name",
        "tied weights are two tensors in the file",
    ),
    Fault(
        f"{_RUNTIME}/agreement.py",
        "if world_size() == 1:\n        return condition",
        "if world_size() == 1:\n        return any_of",
        "on one process any_rank is always true",
    ),
    Fault(
        f"{_RUNTIME}/devices.py",
        "if x.device == device:\n            return x",
        "if x.device == device:\n            return x.clone()",
        "a tensor that is there already is copied",
    ),
    Fault(
        f"{_RUNTIME}/saving.py",
        "if isinstance(error, OSError) or not temporary.is_file():",
        "if not temporary.is_file():",
        "an OSError of save_fn is asked about once more",
    ),
    Fault(
        f"{_RUNTIME}/saving.py",
        '.tmp{path.suffix}")',
        '.tmp")',
        "a save function that looks at the ending gets another one",
    ),
)
