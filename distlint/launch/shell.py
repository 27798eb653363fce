"""The commands of a shell script: their words, with the variables filled in whose value stands in the script."""

from __future__ import annotations

import re
import shlex
from dataclasses import field, replace
from functools import cache
from itertools import takewhile
from typing import TYPE_CHECKING, Final

from distlint.findings import Place
from distlint.launch.arithmetic import calculated
from distlint.patterns import pattern
from distlint.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tree_sitter import Node, Parser

MAX_WORDS = 20_000
"""A script with more words is data."""

MAX_SIGNS = 3_000
"""The same of a sign that opens or joins: the parser takes minutes for 50,000 brackets that nothing closes."""

SBATCH: Final = pattern(r"^#SBATCH[ \t]+(--?[\w-]+)(?:[= \t]+(\S+))?", re.MULTILINE)
"""What a script asks of Slurm: the option, and its value."""
_OF_SLURM: Final = {
    "N": ("SLURM_NNODES", "SLURM_JOB_NUM_NODES"),
    "nodes": ("SLURM_NNODES", "SLURM_JOB_NUM_NODES"),
    "n": ("SLURM_NTASKS", "SLURM_NPROCS"),
    "ntasks": ("SLURM_NTASKS", "SLURM_NPROCS"),
    "ntasks-per-node": ("SLURM_NTASKS_PER_NODE",),
}
"""The variables in which it tells a job of them (Slurm 24.05 sbatch(1), OUTPUT ENVIRONMENT VARIABLES)."""
_MAX_HELD: Final = 50_000
"""Signs that a variable holds: `A="$A$A"`, some thirty times, are more than anybody has."""
_FOLDER: Final = r"""dirname (?:-- )?["']?(?:\$0|\$\{?BASH_SOURCE(?:\[0\])?\}?)["']?"""
_OWN_FOLDER: Final = pattern(
    rf"""(?:\$\(|`) *(?:{_FOLDER}|(?:cd|readlink -f|realpath) (?:-- )?["']?\$\( *{_FOLDER} *\)(?P<up>(?:/\.\.)*)/?["']?"""
    r"""(?: *(?:>/dev/null(?: 2>&1)? *)?(?:&&|;) *pwd(?: -P)?)?) *(?:\)|`)"""
)
"""What asks for the folder in which the script itself lies, or one above: `.`, seen from there.

mmpretrain 17a886c tools/dist_train.sh:11: `torch.distributed.launch … $(dirname "$0")/train.py`.
"""
_READS_ALL: Final = pattern(
    r"""(?:IFS=\S*\s+)?read\s+(?:-r\s+)?-(?:r?d)\s+(?:''|"")\s+(?:-r\s+)?(?P<name>[A-Za-z_]\w*)"""
)
"""`read` up to the end of what it gets, and not of a line."""
_OPTION: Final = pattern(r"[\"']?(--?[\w-]+)=")
_KEY: Final = pattern(r"[\"']?\+{0,2}([A-Za-z_][\w./@]*)=")
_WHOLE: Final = pattern(r"[\"']?\$\{?(\w+)\}?[\"']?")
"""A variable, and nothing else."""
_TESTS: Final = frozenset({"if_statement", "elif_clause", "case_statement"})
_VARIABLE: Final = pattern(r"\$\{?[#!]?(\w+)")
_NAMED: Final = pattern(r"\$?\{?([A-Za-z_]\w*)\}?")
"""A variable in a calculation, where the sign may be left out."""
_SEEKS: Final = pattern(r"(?:command\s+-v|which|hash|type(?:\s+-[pPt])?)\s+([\w.+-]+)")
"""How scripts ask whether a program is there."""
_JOINED: Final = frozenset({"string", "concatenation"})
_LOOPS: Final = frozenset({"for_statement", "while_statement", "c_style_for_statement"})
_MAYBE: Final = (
    _TESTS
    | _LOOPS
    | {"function_definition", "list", "subshell", "command_substitution", "pipeline"}
)
"""In what a variable may be set, or is set for what is inside alone."""
_READ: Final = (".json", ".py", ".yaml", ".yml")
"""How programs and configurations are called; of what else a script writes nobody asks."""
_EXPANSIONS: Final = ("simple_expansion", "expansion")


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a command.

    Attributes:
        text: as the command gets it; None where a part of it is not known.
        place: where it is written.
        sure: whether nothing outside of the script changes it: `${N:-8}` is 8 unless N is set.
        option: `--node_rank` of `--node_rank=$N`, whose value is not known.
        own: whether it is a path that begins at the folder of the script itself, wherever that is started.
        given: the argument of the script that it is, or that its option is given: 1 for `$1` and `--nnodes=$1`.
        key: `data.path` of `data.path=$DATA`, whose value is not known.
        around: what is known around the parts that are not: `zero` and `.json` of `zero$STAGE.json`.
    """

    text: str | None
    place: Place
    sure: bool = True
    option: str = ""
    own: bool = False
    given: int = 0
    key: str = ""
    around: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Command:
    """A command: its words, and the variables that it is given (`A=1 command`, and exports before)."""

    words: tuple[Word, ...]
    environment: dict[str, Word] = field(default_factory=dict)
    line: int = 0
    background: bool = False
    """Whether the script goes on while it runs: `command &`."""
    repeated: bool = False
    """Whether it stands in a loop that may come to it again, and does not wait for it."""
    function: str = ""
    """The function of the script in whose body it stands."""
    tested: frozenset[str] = frozenset()
    """The variables that tests around it ask for: in its arm they may be something else than what is written above."""
    sought: frozenset[str] = frozenset()
    """The programs for which tests around it look: `if command -v torchrun`."""
    aside: bool = False
    """Whether it only makes a word of another command: the folder that it changes to is its own."""


@cache
def _parser() -> Parser:
    import tree_sitter_bash
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_bash.language()))


def commands_of(path: str, text: str, first: int = 1) -> list[Command]:
    """The commands of the script `text`, whose first line is line `first` of the file `path`.

    Bodies of here-documents are data. What cannot be parsed is passed over.
    """
    if max(text.count(sign) for sign in "(|{<`") > MAX_SIGNS:
        return []
    reader = _Script(path, first, _set_by_scheduler(path, text, first))
    try:
        reader.read(_parser().parse(text.encode("utf-8", "replace")).root_node)
    except RecursionError:  # `${A:-${A:-…` a thousand deep
        return []
    return reader.commands


def _set_by_scheduler(path: str, text: str, first: int) -> dict[str, list[Word]]:
    """What Slurm tells a job of what its script asks for (sbatch(1)); options of the command line go before these.

    zwd-into-aurora 06e19fd scripts/inference/inference_zwd_precip.sh:72: `torchrun --nnodes=$SLURM_JOB_NUM_NODES`.
    """
    found: dict[str, list[Word]] = {}
    for match in SBATCH.finditer(text):
        line = first + text.count("\n", 0, match.start())
        known = match[2] if (match[2] or "").isdecimal() else None
        for name in _OF_SLURM.get(match[1].lstrip("-"), ()):
            found[name] = [Word(known, Place(path, line, 0, line, len(match[0])), sure=False)]
    return found


def is_shell(text: str) -> bool:
    """Whether all of `text` is a shell script: other languages end it somewhere."""
    if max(text.count(sign) for sign in "(|{<`") > MAX_SIGNS:
        return False
    return not _parser().parse(text.encode("utf-8", "replace")).root_node.has_error


@dataclass(frozen=True, slots=True)
class _Around:
    """What is around a node: see `Command`."""

    background: bool = False
    repeated: bool = False
    function: str = ""
    tested: frozenset[str] = frozenset()
    sought: frozenset[str] = frozenset()
    aside: bool = False
    maybe: bool = False
    """Whether it may be passed over: an arm of a test, the body of a loop or function, what follows `&&`."""
    outside: bool = False
    """Whether the innermost loop around it stands in another one."""


class _Script:
    """One script, read from top to bottom."""

    def __init__(self, path: str, first: int, variables: dict[str, list[Word]]) -> None:
        self._path = path
        self._first = first
        self._variables = variables
        self._exported: dict[str, Word] = {}
        self._words = 0
        self._added: set[Place] = set()
        """Where more is added to a variable (`ARGS+=" --lr 1"`): those words of it stand there, and not where it is used."""
        self.commands: list[Command] = []

    def read(self, root: Node) -> None:
        # What is around a node is handed down: to ask each one for its parents takes minutes where 2,000 `if` nest.
        waiting = [(root, _Around())]
        while waiting and self._words < MAX_WORDS:
            node, around = waiting.pop()
            below = _below(node, around)
            match node.type:
                case "command":
                    self._command(node, around)
                    children = [each for each in below if each[0].type != "variable_assignment"]
                    waiting.extend(reversed(children))
                    continue
                case "for_statement":
                    variable = node.child_by_field_name("variable")
                    if variable is not None:
                        self._variables[_text(variable)] = [Word(None, self._place(node))]
                case "variable_assignment":
                    self._assign(node, around)
                case "declaration_command":
                    self._declare(node, around)
                    continue
                case "redirected_statement":
                    self._read_from_here(node, around)
                    self._write(node)
                case "heredoc_body":
                    continue
            waiting.extend(reversed(below))

    def _declare(self, node: Node, around: _Around) -> None:
        """`export A=1`, `declare A=1`."""
        exports = bool(node.children) and _text(node.children[0]) == "export"
        for child in node.named_children:
            if child.type == "variable_assignment":
                name = self._assign(child, around)
                if exports and name in self._variables:
                    self._exported[name] = _joined(self._variables[name], self._place(child))
            elif child.type == "variable_name" and exports:
                name = _text(child)
                if name in self._variables:
                    self._exported[name] = _joined(self._variables[name], self._place(child))

    def _assign(self, node: Node, around: _Around) -> str:
        """Remember what a variable is set to; one that may be set a second time, or not, is not known after that."""
        name_node, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        name = _text(name_node) if name_node is not None else ""
        before, place = self._variables.get(name), self._place(node)
        adds = "+=" in _text(node)[: len(name) + 2]
        if value is not None and (adds or (before is not None and _goes_on(value, name))):
            words = self._more(name, value, adds)
            if around.maybe:
                own = self._place(value)
                words = [replace(w, sure=False) if w.place == own else w for w in words]
        else:
            words = self._held(value) if value is not None else [Word("", place)]
            texts = [[word.text for word in each] for each in (before or words, words)]
            if around.maybe and texts[0] != texts[1]:
                words = [Word(None, place)]
        if sum(len(w.text or "") + 1 for w in words) > _MAX_HELD:
            words = [Word(None, place)]
        self._variables[name] = words
        if name in self._exported:
            self._exported[name] = _joined(words, place)
        return name

    def _write(self, node: Node) -> None:
        """`> config.json` makes the file, as `tee` does.

        Megatron-DeepSpeed f4157be examples_deepspeed/data_efficiency/bert/finetune_glue/ds_finetune_bert_glue.sh:91: `sed … > ${config_json}`.
        """
        for each in node.children_by_field_name("redirect"):
            to = each.child_by_field_name("destination")
            if each.type == "file_redirect" and to is not None and b">" in (each.text or b""):
                word = self._word(to)
                if (word.text or "").endswith(_READ):
                    words = (Word("tee", word.place), word)
                    self.commands.append(Command(words, line=node.start_point[0] + self._first))

    def _read_from_here(self, node: Node, around: _Around) -> None:
        """`read -r -d '' COMMAND <<EOF`: all of a here-document is what the variable holds.

        lmm-r1 f917f18 examples/scripts/train_sft_llama.sh:3, which goes on `deepspeed --module $training_commands`.
        """
        body, here = node.child_by_field_name("body"), node.child_by_field_name("redirect")
        found = _READS_ALL.fullmatch(_text(body)) if body is not None else None
        text = next((e for e in here.children if e.type == "heredoc_body"), None) if here else None
        if found is None or text is None or text.has_error:
            return
        pieces = [
            each if isinstance(each, Word) else self._value(each) for each in self._inside(text)
        ]
        known = not around.maybe or found["name"] not in self._variables
        self._variables[found["name"]] = (
            _apart(pieces) if known else [Word(None, self._place(node))]
        )

    def _held(self, value: Node) -> list[Word]:
        """The words that a variable is set to."""
        if value.type == "array":
            return [word for child in value.named_children for word in self._expanded(child)]
        word = self._word(value)
        if value.type == "string" and (word.text is None or not word.sure):
            return self._words_of(value)
        return [word]

    def _more(self, name: str, value: Node, adds: bool) -> list[Word]:
        """The words of a variable to which a value is added: `ARGS+=" --lr 1"`, `ARGS="$ARGS --lr 1"`.

        VisCPM d21f3eb finetune/ft_viscpm_chat/run_viscpm_chat_ft.sh:23.
        """
        before = self._variables.get(name, [Word(None, self._place(value))])
        self._added.add(self._place(value))
        if value.type == "array":
            own = [word for child in value.named_children for word in self._expanded(child)]
            return [*before, *(replace(each, place=self._place(value)) for each in own)]
        if not adds:
            words = _apart(self._pieces(value))
            # What stood in front is as sure as it was: voca dba8562 scripts/train_localization_v2.sh:91.
            held = before if len(before) > 1 else _apart(before)
            pairs = zip(held, words, strict=False)
            same = takewhile(lambda pair: pair[0].text == pair[1].text, pairs)
            kept = [each for each, _ in same]
            return [*kept, *words[len(kept) :]]
        pieces = list(self._pieces(value))
        *others, last = before
        # What stood between the last of several words and the end of the variable is not known any more.
        start = "".join("-" if p.text is None else p.text for p in pieces)[:1]
        open_end = bool(others) and not start.isspace()
        pieces.insert(0, replace(last, text=None) if open_end else last)
        return [*others, *_apart(pieces)]

    def _command(self, node: Node, around: _Around) -> None:
        words: list[Word] = []
        environment = dict(self._exported)
        end = -1
        for child in node.named_children:
            goes_on, end = child.start_byte == end and bool(words), child.end_byte
            if goes_on and "redirect" not in child.type:
                # The parser makes two words of `$A-$B/log`: ShapeLLM f754b0d scripts/pretrain.sh:28.
                words[-1] = replace(words[-1], text=None)
            elif child.type == "variable_assignment":
                key, value = child.child_by_field_name("name"), child.child_by_field_name("value")
                if key is not None and value is not None:
                    environment[_text(key)] = replace(self._word(value), place=self._place(child))
            elif child.type == "command_name":
                words += self._expanded(child.named_children[0] if child.named_children else child)
            elif words and words[0].text == "eval" and child.type in (*_EXPANSIONS, "string"):
                words += self._words_of(child)
            elif "redirect" not in child.type:
                words += self._expanded(child)
        if len(words) > 1 and words[0].text == "eval":
            words = words[1:]
        self._words += len(words)
        line = node.start_point[0] + self._first
        self.commands.append(
            Command(
                tuple(words),
                environment,
                line,
                around.background,
                around.repeated,
                around.function,
                around.tested,
                around.sought,
                around.aside,
            )
        )

    def _expanded(self, node: Node) -> list[Word]:
        """The words that one written word becomes: `$ARGS` without quotes may be several."""
        inner = node
        if node.type == "string" and len(node.named_children) == 1:
            child = node.named_children[0]
            if child.type == "expansion" and "[@]" in _text(child):
                inner = child
        if inner.type in ("simple_expansion", "expansion"):
            place = self._place(node)
            known = self._variables.get(_variable(inner))
            if known is not None and len(known) > 1:
                return [w if w.place in self._added else replace(w, place=place) for w in known]
            word = replace(self._word(inner), place=place)
            if word.text is not None and node.type != "string":
                parts = _split(word.text)
                return [replace(word, text=p, own=word.own and not n) for n, p in enumerate(parts)]
            return [word]
        return [self._word(node)]

    def _word(self, node: Node) -> Word:
        word = self._value(node)
        if word.text is not None:
            return word
        text = _text(node)
        named, keyed = _OPTION.match(text), _KEY.match(text)
        value = _WHOLE.fullmatch(text[named.end() :]) if named is not None else None
        return replace(
            word,
            option=named[1] if named else "",
            key=keyed[1] if keyed is not None else "",
            given=self._of_variable(value[1], word.place).given if value else word.given,
        )

    def _value(self, node: Node) -> Word:
        """A written word as the command gets it."""
        text, place = _text(node), self._place(node)
        match node.type:
            case "word" | "number" | "string_content" | "heredoc_content" | "special_variable_name":
                return Word(_unescaped(text), place)
            case "raw_string":
                return Word(text[1:-1], place)
            case "simple_expansion":
                return self._of_variable(_variable(node), place)
            case "expansion":
                return self._expansion(node)
            case "string" | "concatenation":
                return self._parts(node)
            case "arithmetic_expansion":
                return self._calculated(text, place)
            case "command_substitution" if found := _OWN_FOLDER.fullmatch(text):
                return Word("." + (found["up"] or ""), place, own=True)
        return Word(None, place)

    def _calculated(self, text: str, place: Place) -> Word:
        """`$((N * 8))` and `$[N * 8]`, where all variables are known.

        PLLaVA 6f49fd2 scripts/train_pllava_34b.sh:20: `gradient_accumulation_steps=$[$full_batch_size/($batch_size*$num_gpus)]`.
        """
        inside = text[3:-2] if text.startswith("$((") else text[2:-1]
        known = {name: self._of_variable(name, place) for name in _NAMED.findall(inside)}
        if any(not (word.text or "").strip().isdecimal() for word in known.values()):
            return Word(None, place)
        written = _NAMED.sub(lambda found: known[found[1]].text or "", inside)
        result = calculated(written)
        sure = all(word.sure for word in known.values())
        return Word(None if result is None else str(result), place, sure)

    def _parts(self, node: Node) -> Word:
        """Joins the children of a word. What stands between them is text, too."""
        parts = [p if isinstance(p, Word) else self._value(p) for p in self._inside(node)]
        pieces = [each for each in parts if each.text != ""]
        place, sure = self._place(node), all(each.sure for each in pieces)
        if len(pieces) == 1:
            return replace(pieces[0], place=place)
        if any(each.text is None for each in pieces):
            known = [each.text if each.text is not None else "\0" for each in pieces]
            return Word(None, place, sure, around=tuple("".join(known).split("\0")))
        text = "".join(each.text or "" for each in pieces)
        return Word(text, place, sure, own=bool(pieces) and pieces[0].own)

    def _inside(self, node: Node) -> Iterator[Word | Node]:
        """The children of a written word, and the texts between them."""
        source, base, place = node.text or b"", node.start_byte, self._place(node)
        quoted = node.type == "string"
        at, end = node.start_byte + quoted, node.end_byte - quoted
        for child in node.named_children:
            start = child.start_byte
            while quoted and child.type in _EXPANSIONS and source[start - base] in b" \t\n":
                start += 1  # the parser counts the spaces in front of `" $@"` to the variable
            yield Word(_unescaped(_decoded(source[at - base : start - base])), place)
            yield child
            at = child.end_byte
        yield Word(_unescaped(_decoded(source[at - base : end - base])), place)

    def _words_of(self, node: Node) -> list[Word]:
        """The words in a text of which a part is not known, or not sure: that is only of the words around it.

        mistral bf9eff0 scripts/run/ddp.sh:20: `CONFIG_ARGS="--config conf/a.yaml --nnodes ${nnodes}"`.
        """
        words = _apart(self._pieces(node))
        return words if len(words) > 1 else [self._word(node)]

    def _pieces(self, node: Node) -> Iterator[Word]:
        """The parts of a text that a shell cuts into words at its spaces, each at the place of the text."""
        place = self._place(node)
        known = self._variables.get(_variable(node), ()) if _is_plain(node) else ()
        if len(known) > 1:
            for each in known:
                yield each if each.place in self._added else replace(each, place=place)
                yield Word(" ", place)
        elif node.type in _JOINED:
            for part in self._inside(node):
                inner = [part] if isinstance(part, Word) else self._pieces(part)
                yield from (p if p.place in self._added else replace(p, place=place) for p in inner)
        else:
            yield self._value(node)

    def _expansion(self, node: Node) -> Word:
        """`${N}` and `${N:-8}`; what cuts or replaces is not known."""
        name, place = _variable(node), self._place(node)
        if _is_plain(node):
            return self._of_variable(name, place)
        for operator in (":-", "-", ":="):
            if _text(node).startswith(f"${{{name}{operator}"):
                known = self._of_variable(name, place)
                if known.text is not None and known.sure:
                    return known
                rest = [child for child in node.named_children if child.type != "variable_name"]
                if len(rest) > 1:
                    return Word(None, place, False)
                text = self._value(rest[0]).text if rest else ""
                return Word(text, place, False)
        return Word(None, place)

    def _of_variable(self, name: str, place: Place) -> Word:
        known = self._variables.get(name)
        if known is None:
            given = int(name) if name.isdecimal() else 0
            return Word(None, place, given=given)
        return replace(known[0], place=place) if len(known) == 1 else _joined(known, place)

    def _place(self, node: Node) -> Place:
        (line, column), (end_line, end_column) = node.start_point, node.end_point
        return Place(self._path, line + self._first, column, end_line + self._first, end_column)


def _below(node: Node, around: _Around) -> list[tuple[Node, _Around]]:
    """The children of a node, and what is around each: a pipeline that ends in `&`, a loop, a function, a test."""
    joined = node.type in ("redirected_statement", "pipeline")
    around = replace(around, maybe=around.maybe or node.type in _MAYBE)
    if node.type in _LOOPS:
        around = replace(around, repeated=True, outside=around.repeated)
    elif node.type == "command_substitution":
        around = replace(around, aside=True)
    elif node.type == "function_definition":
        name = node.child_by_field_name("name")
        around = replace(around, function=_text(name) if name is not None else "")
    elif node.type in _TESTS:
        test = _text(node.named_children[0]) if node.named_children else ""
        around = replace(
            around,
            tested=around.tested | _asked_for(node),
            sought=around.sought | set(_SEEKS.findall(test)),
        )
    children = node.children
    after = [each.type == "&" for each in (*children[1:], *children[-1:])]
    left = _followed_by(b"break", children) if around.repeated else range(0)
    waited = _followed_by(b"wait", children) if around.repeated else range(0)
    return [
        (
            child,
            replace(
                around,
                background=around.background if joined else ends,
                repeated=around.repeated
                and number not in waited
                and (number not in left or around.outside),
            ),
        )
        for number, (child, ends) in enumerate(zip(children, after, strict=True))
        if child.is_named
    ]


def _followed_by(word: bytes, children: list[Node]) -> range:
    """The statements of a loop behind which all rounds come to a command of one word: `break` leaves it, `wait` waits for them.

    SAMRefer 7964155 scripts/autodl.sh:147: a launch into the background where the time is over, and `break`.
    """
    ends = [at for at, each in enumerate(children) if each.type == "command" and each.text == word]
    last = max(ends, default=0)
    goes_on = (at for at in range(last) if b"continue" in (children[at].text or b""))
    return range(max(goes_on, default=-1) + 1, last)


def _asked_for(node: Node) -> frozenset[str]:
    """The variables in the test of an `if`, `elif` or `case`."""
    tests = [each for each in node.named_children[:1] if each.type not in ("command", "comment")]
    return frozenset(name for each in tests for name in _VARIABLE.findall(_text(each)))


def _goes_on(value: Node, name: str) -> bool:
    """Whether a text that is assigned to a variable has what the variable holds in it."""
    return value.type in _JOINED and any(
        (_is_plain(child) and _variable(child) == name) or _goes_on(child, name)
        for child in value.named_children
    )


def _is_plain(node: Node) -> bool:
    """Whether a part of a script is what a variable holds, and nothing cut or replaced."""
    name = _variable(node)
    return node.type == "simple_expansion" or (
        node.type == "expansion"
        and _text(node) in (f"${{{name}}}", f"${{{name}[@]}}", f"${{{name}[*]}}")
    )


def _apart(pieces: Iterable[Word]) -> list[Word]:
    """The words of a text, by the spaces in what is known of it."""
    words: list[Word] = []
    held: Word | None = None
    for piece in pieces:
        parts = re.split(r"\s+", piece.text) if piece.text is not None and piece.sure else [None]
        for number, part in enumerate(parts):
            if number and held is not None:
                words.append(held)
                held = None
            if part is None or part:
                held = _glued(held, piece if part is None else replace(piece, text=part))
    return words if held is None else [*words, held]


def _glued(first: Word | None, second: Word) -> Word:
    if first is None:
        return second
    known = first.text is not None and second.text is not None
    text = f"{first.text}{second.text}" if known else None
    glued = replace(first, text=text, sure=first.sure and second.sure)
    named, keyed = _OPTION.match(first.text or ""), _KEY.match(first.text or "")
    if known or (named is None and keyed is None):
        return glued
    return replace(
        glued,
        option=named[1] if named is not None else "",
        key=keyed[1] if keyed is not None else "",
    )


def _joined(words: list[Word], place: Place) -> Word:
    if any(word.text is None for word in words):
        return Word(None, place)
    text = " ".join(word.text or "" for word in words)
    return Word(text, place, all(word.sure for word in words))


def _variable(node: Node) -> str:
    for child in node.named_children:
        if child.type in ("variable_name", "special_variable_name"):
            return _text(child)
        if child.type == "subscript":
            return _variable(child)
    return ""


def _text(node: Node) -> str:
    return _decoded(node.text or b"")


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _unescaped(text: str) -> str:
    return (
        text.replace("\\\n", "").replace("\\\r\n", "").replace("\\", "") if "\\" in text else text
    )


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()
