"""The doctor's checks of environment variables: names, allocator, interfaces, threads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from doctor_machines import HOST, NETWORK, machine, said, statuses, with_config

from distlint.hardware.doctor.checks.allocator import OPTIONS, problem_with
from distlint.hardware.doctor.checks.variable_names import KNOWN
from distlint.hardware.doctor.machine import Options


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("NCCL_SOCKET_IFNAMES", "NCCL_SOCKET_IFNAME"),
        ("NCCL_P2P_DISABLED", "NCCL_P2P_DISABLE"),
        ("NCCL_DEBUG_SUBSYSTEM", "NCCL_DEBUG_SUBSYS"),
        ("TORCH_NCCL_ASYNC_ERROR_HANDELING", "TORCH_NCCL_ASYNC_ERROR_HANDLING"),
        ("GLOO_SOCKET_IF_NAME", "GLOO_SOCKET_IFNAME"),
        ("PYTORCH_CUDA_ALLOC_CONFIG", "PYTORCH_CUDA_ALLOC_CONF"),
        ("CUDA_VISIBLE_DEVICE", "CUDA_VISIBLE_DEVICES"),
        ("MASTER_ADDRESS", "MASTER_ADDR"),
        ("OMP_NUM_THREAD", "OMP_NUM_THREADS"),
    ],
)
def test_misspelt_names_of_variables(name: str, near: str) -> None:
    from distlint.hardware.doctor.checks.variable_names import CHECKS

    (result,) = CHECKS[0].judge(machine(environ={name: "1"}))
    assert result.status.value == "warn" and name in result.saw and result.do.startswith(near)


@pytest.mark.parametrize(
    "name",
    [
        "CUDA_HOME",
        "CUDA_VERSION",
        "NCCL_OFI_PLUGIN",
        "PYTORCH_VERSION",
        "NCCL_IB_HCA",
        "MASTER_KEY",
    ],
)
def test_other_names_are_left_alone(name: str) -> None:
    assert statuses(machine(environ={name: "1"}), "variable-names") == {"ok"}


def test_the_table_holds_the_names_of_the_other_checks() -> None:
    from distlint.hardware.doctor.checks.settings import CONTRADICTIONS

    assert {name for row in CONTRADICTIONS for name in row.names} <= KNOWN


ALLOCATOR = [
    ("max_split_size_mb:128", True),
    ("expandable_segments:True,max_split_size_mb:128", True),
    ("expandable_segments: True, garbage_collection_threshold: 0.8", True),
    ("roundup_power2_divisions:[256:1,512:2,>:4]", True),
    ("max_split_size_mb:128,", True),
    ("", True),
    ("max_split_size_mb:10", False),
    ("max_split_size_mb:x", False),
    ("max_split_size_mb", False),
    ("max_split_size_mb=128", False),
    ("max_split_size_mb:128;expandable_segments:True", False),
    ("expandable_segments:True max_split_size_mb:128", False),
    ("expandable_segments:true", False),
    ("expandable_segments:1", False),
    ("garbage_collection_threshold:1.5", False),
    ("garbage_collection_threshold:0", False),
    ("roundup_power2_divisions:3", False),
    ("roundup_power2_divisions:[256:3,>:4]", False),
    ("roundup_power2_divisions:[256:1", False),
    ("max_non_split_rounding_mb:10", False),
    ("large_segment_size_mb:10", False),
    ("pinned_use_background_threads:yes", False),
]


@pytest.mark.parametrize(("text", "right"), ALLOCATOR)
def test_the_allocators_variable(text: str, right: bool) -> None:
    for name in ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"):
        assert statuses(machine(environ={name: text}), "allocator") == {"ok" if right else "error"}


@pytest.fixture
def torch_parser() -> Iterator[Any]:
    torch = pytest.importorskip("torch")
    parse = getattr(torch._C, "_accelerator_setAllocatorSettings", None)
    if parse is None or torch.cuda.is_available():
        pytest.skip("this torch has no parser that can be called without consequences")
    yield parse
    parse("")


@pytest.mark.parametrize(("text", "right"), ALLOCATOR)
def test_torch_refuses_the_same_texts(torch_parser: Any, text: str, right: bool) -> None:
    if right:
        torch_parser(text)
    else:
        with pytest.raises((ValueError, RuntimeError)):
            torch_parser(text)


def test_keys_of_the_allocator_that_do_not_exist() -> None:
    """Only a CUDA build knows all keys, and refuses the others."""
    assert problem_with("max_split_size:128") == (
        "there is no max_split_size (did you mean max_split_size_mb?)",
        f"one of {', '.join(OPTIONS)}.",
    )
    assert problem_with("backend:cudamalloc") is not None
    assert problem_with("backend:cudaMallocAsync") is None


def test_two_names_of_the_allocators_setting() -> None:
    both = {"PYTORCH_CUDA_ALLOC_CONF": "backend:native", "PYTORCH_ALLOC_CONF": ""}
    assert statuses(machine(environ=both), "allocator") == {"warn"}


REMOTE = replace(NETWORK, master=("10.0.0.7",), master_is_here=False)


@pytest.mark.parametrize("variable", ["NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME"])
def test_loopback_only_with_rank_0_elsewhere(variable: str) -> None:
    environ = {variable: "lo", "MASTER_ADDR": "node-zero"}
    ((status, saw),) = said(machine(environ=environ, network=REMOTE), "communication-settings")
    assert status == "error" and "node-zero" in saw
    two = {
        "distributed_type": "MULTI_GPU",
        "num_processes": 4,
        "num_machines": 2,
        "main_process_ip": "10.0.0.7",
    }
    ((status, saw),) = said(with_config(two, environ={variable: "lo"}), "communication-settings")
    assert status == "error" and "10.0.0.7" in saw
    excluded = {"NCCL_SOCKET_IFNAME": "^docker", "GLOO_SOCKET_IFNAME": "eth0"}
    assert statuses(machine(environ=excluded, network=REMOTE), "communication-settings") == {"ok"}


@pytest.mark.parametrize(
    ("environ", "status"),
    [
        ({"NCCL_DEBUG": "DEBUG"}, "warn"),
        ({"NCCL_DEBUG": "info"}, "ok"),
        ({"NCCL_P2P_LEVEL": "nvl"}, "warn"),
        ({"NCCL_P2P_LEVEL": "NVLINK"}, "warn"),
        ({"NCCL_P2P_LEVEL": "NVL"}, "ok"),
        ({"NCCL_P2P_LEVEL": "4"}, "ok"),
        ({"NCCL_NET_GDR_LEVEL": "SYSTEM"}, "warn"),
    ],
)
def test_levels_of_nccl(environ: dict[str, str], status: str) -> None:
    assert statuses(machine(environ=environ), "communication-settings") == {status}


def test_the_advice_on_threads_is_not_what_is_there() -> None:
    from distlint.hardware.doctor.checks.limits import threads

    (result,) = threads(
        machine(
            environ={"OMP_NUM_THREADS": "1"},
            host=replace(HOST, cores=2),
            options=Options(num_processes=4),
        )
    )
    assert result.status.value == "warn"
    assert "OMP_NUM_THREADS" not in result.do and "start 2 processes" in result.do
