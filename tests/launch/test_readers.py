"""Scripts and configurations: what is read, where it stands, and that no input ends the program."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distlint.launch.json_text import read_json
from distlint.launch.kinds import Kind
from distlint.launch.made import enters
from distlint.launch.project import Format, LaunchFiles, TextFile, read_files
from distlint.launch.shell import commands_of
from distlint.launch.tree import Unreadable
from distlint.launch.yaml_text import read_yaml


def words(text: str) -> list[list[str | None]]:
    return [[word.text for word in command.words] for command in commands_of("run.sh", text)]


def read(name: str, kind: Kind, text: str) -> LaunchFiles:
    return read_files([TextFile(name, kind, text)])


def test_a_value_of_yaml_has_its_place() -> None:
    text = "# ä\ndistributed_type: FSDP\nnum_processes: 8\nfsdp_config:\n  fsdp_version: 2\n"
    (configuration,) = read("a.yaml", Kind.YAML, text).configurations
    place = configuration.place(("fsdp_config", "fsdp_version"))
    assert (place.line, place.column, place.end_line, place.end_column) == (5, 2, 5, 17)
    assert configuration.values["fsdp_config"] == {"fsdp_version": 2}


def test_a_value_that_is_not_there_stands_in_its_section() -> None:
    text = '{\n "zero_optimization": {\n  "stage": 2\n },\n "bf16": {}\n}'
    (configuration,) = read("a.json", Kind.JSON, text).configurations
    assert configuration.place(("zero_optimization", "offload_param")).line == 2
    assert configuration.place(()).line == 2


def test_json_takes_what_deepspeed_takes() -> None:
    text = '{"a": 1, // one\n /* two */ "b": [1, 2,], # three\n "c": {"d": "auto",},}'
    values, spans = read_json(text)
    assert values == {"a": 1, "b": [1, 2], "c": {"d": "auto"}}
    assert text[slice(*spans[("c", "d")][2:])] == '"auto"'


@pytest.mark.parametrize(
    "text",
    [
        "[" * 200_000,
        "{" * 200_000,
        "- " * 100_000,
        '{"a":' * 50_000,
        "a: &a [x, x]\n"
        + "".join(
            f"{c}: &{c} [{', '.join([f'*{p}'] * 9)}]\n"
            for p, c in zip("abcdef", "bcdefg", strict=True)
        ),
        "a: &a [*a]",
        "a: 1\n---\nb: 2",
        "? [a, b]\n: c",
        "\t- a",
        "'",
        "\x00",
        "a: [1\nb: 2",
    ],
    ids=range(12),
)
def test_hostile_text_is_refused(text: str) -> None:
    for reader in (read_yaml, read_json):
        with pytest.raises(Unreadable):
            reader(text)


def test_no_object_is_built() -> None:
    values, _ = read_yaml("a: !!python/object/apply:os.system ['touch /tmp/x']")
    assert values == {"a": ["touch /tmp/x"]}


@given(st.text(alphabet="{}[]:,\"'#&*-!|> \n\tab01\\$", max_size=80))
def test_any_text_is_read_or_refused(text: str) -> None:
    for reader in (read_yaml, read_json):
        try:
            reader(text)
        except Unreadable as refused:
            assert 0 <= refused.offset <= len(text) + 1
    commands_of("run.sh", text)


def test_templates_are_passed_over_and_broken_files_leave_a_note() -> None:
    template = read("a.yaml", Kind.YAML, "distributed_type: {{ kind }}\nnum_processes: {{ n }}\n")
    assert not template.configurations
    assert not template.notes
    broken = read("a.yaml", Kind.YAML, "compute_environment: x\ndistributed_type: [FSDP\n")
    assert not broken.configurations
    assert broken.notes == [
        "a.yaml:3: not read as yaml: not YAML: did not find expected ',' or ']'"
    ]


def test_variables_lines_and_arrays_of_a_script() -> None:
    text = "N=4\nA=(torchrun --nnodes 2)\n\"${A[@]}\" --nproc_per_node=$N \\\n  'a b'.py $X\n"
    assert words(text) == [["torchrun", "--nnodes", "2", "--nproc_per_node=4", "a b.py", None]]


def test_a_variable_that_is_set_twice_is_not_known() -> None:
    assert words("N=4\nif true; then N=8; fi\ntorchrun $N\n")[-1] == ["torchrun", None]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A=x\nA+=' --lr 1'\ntorchrun $A\n", ["torchrun", "x", "--lr", "1"]),
        ("A=x\nA+=y\ntorchrun $A\n", ["torchrun", "xy"]),
        ('A=x\nA="$A --lr $LR"\nA+=" -v"\ntorchrun $A\n', ["torchrun", "x", "--lr", None, "-v"]),
        ('A="--to $X"\nA+=y\ntorchrun $A\n', ["torchrun", "--to", None]),
        ('A+=" --lr 1"\ntorchrun $A\n', ["torchrun", None, "--lr", "1"]),
        ("A=(x)\nA+=(--lr 'a b')\ntorchrun \"${A[@]}\"\n", ["torchrun", "x", "--lr", "a b"]),
        ('A="x"\nA+=" $@"\nB="torchrun $A"\n$B\n', ["torchrun", "x", None]),
        ('eval "torchrun --lr $LR x"\n', ["torchrun", "--lr", None, "x"]),
    ],
)
def test_what_is_added_to_a_variable_is_known(text: str, expected: list[str | None]) -> None:
    assert words(text)[-1] == expected


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("$((N * 2))", "16"),
        ("$[$N/(2*M)]", "1"),
        ("$((N - 1))", "7"),
        ("$(( ${N} % M ))", "2"),
        ("$((UNKNOWN * 2))", None),
        ("$((N / 0))", None),
        ("$((N++))", None),
        ("$((2**N))", None),
        ("$((N > 1))", None),
    ],
)
def test_a_shell_calculates_with_what_is_known(written: str, expected: str | None) -> None:
    assert words(f"N=8\nM=3\nrun {written}\n")[-1] == ["run", expected]


def test_what_may_not_be_added_is_not_sure() -> None:
    text = "A=x\nif $B; then A+=' --lr 1'; fi\n[ $C ] && A+=' -v'\nA+=' -w'\ntorchrun $A\n"
    command = commands_of("run.sh", text)[-1]
    assert [(w.text, w.sure, w.place.line) for w in command.words] == [
        ("torchrun", True, 5),
        ("x", True, 5),
        ("--lr", False, 2),
        ("1", False, 2),
        ("-v", False, 3),
        ("-w", True, 4),
    ]


def test_what_stands_in_front_is_as_sure_as_before() -> None:
    """voca dba8562 scripts/train_localization_v2.sh:105."""
    text = 'C=\'python a.py --lr 1\'\nif $B; then C="$C -v"; fi\nif $D; then C="$C -w"; fi\neval "torchrun --nnodes=$N $C"\n'
    command = commands_of("run.sh", text)[-1]
    assert [(w.text, w.sure, w.option) for w in command.words] == [
        ("torchrun", True, ""),
        (None, True, "--nnodes"),
        ("python", True, ""),
        ("a.py", True, ""),
        ("--lr", True, ""),
        ("1", True, ""),
        ("-v", False, ""),
        ("-w", False, ""),
    ]


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ('$(dirname "$0")/a.py', "./a.py"),
        ('"$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/a.py"', "./a.py"),
        ('$(cd "$(dirname "$0")/.." && pwd)/a.py', "./../a.py"),
        ("`dirname $0`/a.py", "./a.py"),
    ],
)
def test_a_path_that_begins_at_the_folder_of_the_script(written: str, text: str) -> None:
    for script in (f"torchrun {written}\n", f"A={written}\ntorchrun $A\n"):
        (word,) = (
            c.words[1] for c in commands_of("run.sh", script) if c.words[0].text == "torchrun"
        )
        assert (word.text, word.own) == (text, True), script


def test_an_argument_of_the_script_keeps_its_number() -> None:
    (command,) = commands_of("run.sh", 'C=$1\ntorchrun "$C" $2 x=$1\n')
    assert [word.given for word in command.words] == [0, 1, 2, 0]


def test_documents_are_data() -> None:
    assert words("cat <<EOF\ntorchrun train.py\nEOF\n") == [["cat"]]


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("torchrun --nproc_per_node=8 train.py", "train.py"),
        ("torchrun --standalone train.py", "train.py"),
        ("srun -N 2 timeout 60 torchrun --nnodes 2 src/train.py --x", "src/train.py"),
        ("bash -c 'torchrun --nproc_per_node 8 train.py'", "train.py"),
        ("python3 -u -m torch.distributed.launch --use_env train.py", "train.py"),
        ("accelerate launch --multi_gpu --num_processes 2 train.py", "train.py"),
        ("CUDA_VISIBLE_DEVICES=0 deepspeed --include localhost:0 train.py", "train.py"),
        ("uv run accelerate launch train.py", "train.py"),
    ],
)
def test_a_launch_is_found_with_its_script(text: str, script: str) -> None:
    ((_, launch),) = read("run.sh", Kind.SHELL, text).launches()
    assert launch.script is not None
    assert launch.script.text == script


@pytest.mark.parametrize(
    "text",
    [
        "pip install deepspeed accelerate",
        "echo torchrun train.py",
        "# torchrun train.py",
        "python train.py --deepspeed ds.json",
        "accelerate config",
    ],
)
def test_a_word_is_no_launch(text: str) -> None:
    assert not list(read("run.sh", Kind.SHELL, text).launches())


@pytest.mark.parametrize(
    "text",
    [
        "torchrun " + "${A:-" * 2_500 + "x" + "}" * 2_500,
        "A=(" * 60_000,
        "a | " * 60_000,
        'torchrun "$(' * 2_000,
        "if x; then " * 6_000,
        "torchrun '" * 20_000,
        "cat <<A\n" * 20_000,
        "a\n" * 100_000,
        'A="torchrun x"\n' + 'A="$A$A"\n' * 60 + "$A\n",
    ],
    ids=range(9),
)
def test_a_hostile_script_ends_nothing(text: str) -> None:
    assert not list(read("run.sh", Kind.SHELL, text).launches()) or "torchrun" in text


def test_a_dockerfile_keeps_its_lines() -> None:
    text = 'FROM a\nRUN pip install b \\\n && torchrun --nproc_per_node=2 a.py\nCMD ["torchrun", "b.py"]\n'
    found = [launch for _, launch in read("Dockerfile", Kind.DOCKERFILE, text).launches()]
    assert [(each.place.line, each.script and each.script.text) for each in found] == [
        (3, "a.py"),
        (4, "b.py"),
    ]


def test_a_makefile_keeps_its_lines() -> None:
    """hotr d3cb632 Makefile:25; in what goes on, a dash is no sign of make's."""
    text = (
        "GPUS ?= 8\n\ntrain: torchrun\n\t@echo $$HOME\n\t-python -m torch.distributed.launch \\\n\t\t--nproc_per_node=$(GPUS) \\\n"
        "\t\t--use_env main.py \\\n\t\t--lr 1e-4\n# torchrun old.py\ntest:\n\ttorchrun --nproc_per_node=2 main.py --eval\n"
    )
    found = [launch for _, launch in read("Makefile", Kind.MAKEFILE, text).launches()]
    assert [(each.place.line, each.script and each.script.text) for each in found] == [
        (5, "main.py"),
        (11, "main.py"),
    ]
    assert set(found[0].options) == {"nproc_per_node", "use_env"}
    assert found[0].options["nproc_per_node"].value is None
    assert set(found[0].arguments) == {"lr"}


def test_each_line_of_a_recipe_is_a_shell() -> None:
    text = "all:\n\tcd parts && torchrun a.py\n\ttorchrun b.py\n\tcd more; \\\n\ttorchrun c.py\n"
    read_apart = read("Makefile", Kind.MAKEFILE, text).scripts
    assert [[each.script and each.script.text for each in s.launches] for s in read_apart] == [
        ["a.py"],
        ["b.py"],
        ["c.py"],
    ]
    assert [list(enters(each)) for each in read_apart] == [["parts"], [], ["more"]]
    (as_one,) = read("Makefile", Kind.MAKEFILE, f".ONESHELL:\n{text}").scripts
    assert list(enters(as_one)) == ["parts", "more"]


def test_functions_of_make_and_its_dollars_leave_words_where_they_are() -> None:
    line = "\tN=$$(nproc) torchrun --nproc_per_node $$N $(if $(DEBUG),-m pdb) train.py --é $(or $(A), b) --lr $$LR"
    (launch,) = (found for _, found in read("Makefile", Kind.MAKEFILE, f"a:\n{line}\n").launches())
    assert launch.place.column == line.index("torchrun")
    assert launch.arguments["lr"].place.column == len(line[: line.index("--lr")].encode())
    assert not launch.complete


def test_a_text_for_a_shell_of_which_a_part_is_not_known() -> None:
    """COAT 80ec99f examples/OLMo/scripts/beaker/mitch-ish-7b.sh:30."""
    text = 'gantry run -- /bin/bash -c "torchrun --nnodes ${N}:${N} --nproc-per-node 8 train.py ${CONFIG} --save ${OUT}"\n'
    (found,) = (launch for _, launch in read("run.sh", Kind.SHELL, text).launches())
    assert found.script is not None
    assert found.script.text == "train.py"
    assert found.options["nnodes"].value is None
    assert found.arguments["save"].value is None
    assert not found.complete


def test_another_program_with_the_same_word_is_no_configuration() -> None:
    files = read("a.yaml", Kind.YAML, "distributed_type: ddp\nmodel: gpt\n")
    assert not list(files.of(Format.ACCELERATE))
