"""Whatever stands in a configuration or in the environment, no check crashes on it."""

from __future__ import annotations

from typing import Any

from doctor_machines import machine, with_config
from hypothesis import given, settings
from hypothesis import strategies as st

from distlint.hardware.doctor.checks import CHECKS
from distlint.hardware.doctor.checks.allocator import VARIABLES
from distlint.hardware.doctor.checks.scheduler import PLACES
from distlint.hardware.doctor.checks.settings import CONTRADICTIONS
from distlint.hardware.doctor.machine import Argument, Machine, ModelFacts, Rendezvous, ScriptFacts
from distlint.hardware.doctor.report import judge
from distlint.knowledge.configuration import deepspeed_keys, keys
from distlint.knowledge.configuration.values import SETTINGS

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-3, 9)
    | st.floats(-2, 2)
    | st.sampled_from(["", "no", "auto", "all", "FSDP", "DEEPSPEED", "MULTI_GPU", "NO", "2", "x,y"])
    | st.text(max_size=4)
)
VALUES = (
    SCALARS
    | st.lists(SCALARS, max_size=2)
    | st.dictionaries(st.text(max_size=3), SCALARS, max_size=2)
)
SECTIONS = {
    section.key: VALUES
    | st.dictionaries(st.sampled_from(sorted(section.keys)) | st.integers(0, 2), VALUES, max_size=4)
    for section in keys.SECTIONS
}
_ALWAYS = {
    "distributed_type": st.sampled_from(sorted(keys.DISTRIBUTED_TYPES)) | VALUES,
    "num_processes": st.sampled_from([1, 2, 4]) | VALUES,
}
CONFIGURATIONS = st.fixed_dictionaries(
    _ALWAYS,
    optional={**dict.fromkeys(sorted(keys.CLUSTER_KEYS - {*_ALWAYS}), VALUES), **SECTIONS},
)
ZERO = VALUES | st.dictionaries(st.sampled_from(sorted(deepspeed_keys.ZERO)), VALUES, max_size=4)
DEEPSPEED = st.dictionaries(
    st.sampled_from(sorted(deepspeed_keys.TOP_LEVEL)), VALUES, max_size=4
) | st.fixed_dictionaries({"zero_optimization": ZERO})


def crashed(on: Machine) -> list[str]:
    results = judge(on, CHECKS, 0.0).results
    return [result.saw for result in results if "the check crashed" in result.saw]


@settings(deadline=None, max_examples=150)
@given(CONFIGURATIONS, DEEPSPEED)
def test_any_configuration(values: dict[str, Any], deepspeed: dict[str, Any]) -> None:
    script = ScriptFacts("a.py", (Argument("Accelerator", "mixed_precision", 3, 1),))
    model = ModelFacts("m", "llama", {"num_attention_heads": 4}, frozenset({"Block"}), ())
    assert crashed(with_config(values, deepspeed, script=script, model=model)) == []


NAMES = sorted(
    {name for row in CONTRADICTIONS for name in row.names}
    | {name for row in PLACES for name in (row.name, row.count)}
    | {*VARIABLES, "NODE_RANK", "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "OMP_NUM_THREADS"}
    | {"MASTER_ADDR", "MASTER_PORT", "SLURM_JOB_ID", "SLURM_GPUS_ON_NODE", "NCCL_SOCKET_IFNAME"}
)


@settings(deadline=None, max_examples=150)
@given(
    st.dictionaries(
        st.sampled_from(NAMES),
        st.sampled_from(["", "0", "1", "2", "-1", "lo", "x", "0,1", "²", ":", "a:[", "1e9"])
        | st.text(max_size=5),
        max_size=6,
    )
)
def test_any_environment(environ: dict[str, str]) -> None:
    from dataclasses import replace

    from doctor_machines import NETWORK

    meeting = Rendezvous("a", "", False, 1, "", "")
    assert crashed(machine(environ=environ)) == []
    values = {"distributed_type": "MULTI_GPU", "num_processes": 2, "num_machines": 2}
    network = replace(NETWORK, configured=meeting)
    assert crashed(with_config(values, environ=environ, network=network)) == []


def test_rows_of_the_tables_are_unique() -> None:
    rows = [(row.section, row.key, *row.only.items()) for row in SETTINGS]
    assert len(set(rows)) == len(rows)
    names = [check.name for check in CHECKS]
    assert len(set(names)) == len(names)
