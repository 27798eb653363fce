"""The doctor's checks on machines that are not here: GPUs, drivers, mounts, file servers.

A machine is a value, so nothing is mocked: each test states what the probes would have seen.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from doctor_machines import GIB, HOST, NETWORK, TORCH, gpu, machine, said, statuses, with_config
from hypothesis import given, settings
from hypothesis import strategies as st

from distlint.hardware.doctor.check import Status
from distlint.hardware.doctor.checks import CHECKS
from distlint.hardware.doctor.machine import (
    Machine,
    Options,
    Package,
    SharedMemory,
    StorageFacts,
    Unknown,
)
from distlint.hardware.doctor.probes.host import shared_memory
from distlint.hardware.doctor.report import as_json, judge, render
from distlint.hardware.gpus import GpuQueryError, parse_query, visible_gpus
from distlint.hardware.strategy import ModelParallel, StrategyError, decide
from distlint.hardware.version_numbers import requirement, satisfies
from distlint.hardware.visible_devices import read_visible_devices
from distlint.reporting.style import Style


def test_a_machine_without_faults_has_none() -> None:
    report = judge(machine(), CHECKS, 1.0)
    assert report.exit_code == 0
    assert {r.status for r in report.results} <= {Status.OK, Status.SKIPPED}


@settings(deadline=None)
@given(st.sampled_from([check.name for check in CHECKS]))
def test_no_check_crashes_where_nothing_was_seen(name: str) -> None:
    hung = Unknown("it hung", failed=True)
    blind = Machine(Options(), {}, *[hung] * 11)
    assert said(blind, name)
    assert said(Machine(Options(), {}), name)


def test_a_check_that_crashes_does_not_hide_the_others() -> None:
    from distlint.hardware.doctor.check import Check, ok

    def crash(_: Machine) -> Any:
        raise KeyError("x")

    report = judge(machine(), (Check("a", "g", crash), Check("b", "g", lambda _: [ok("b")])), 0.0)
    assert [r.status for r in report.results] == [Status.ERROR, Status.OK]
    assert report.exit_code == 1


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"torch": Unknown("import torch fails: libcudart", failed=True)}, "libcudart"),
        ({"gpus": (gpu(0, driver="515.1"),)}, "driver 515.1"),
        ({"gpus": (gpu(0, compute=(12, 0)),)}, "no kernels for NVIDIA H100 (12.0)"),
    ],
)
def test_builds_that_do_not_run_on_the_driver(changes: dict[str, Any], words: str) -> None:
    ((status, saw),) = said(machine(**changes), "torch-build")
    assert status == "error" and words in saw


def test_a_cpu_build_on_a_machine_with_gpus() -> None:
    cpu = replace(TORCH, cuda_build=None, cuda_available=False, nccl=None, device_count=0)
    assert statuses(machine(torch=cpu), "torch-build") == {"error"}
    assert statuses(machine(torch=cpu), "backends") == {"error"}


@pytest.mark.parametrize(
    ("value", "status"),
    [
        (None, "ok"),
        ("0,1", "ok"),
        ("1, 0", "ok"),
        ("-1", "ok"),
        ("GPU-00,GPU-11", "ok"),
        ("", "error"),
        ("0,0", "error"),
        ("0,2", "error"),
        ("0;1", "error"),
        ("GPU-00,1", "error"),
    ],
)
def test_cuda_visible_devices(value: str | None, status: str) -> None:
    environ = {} if value is None else {"CUDA_VISIBLE_DEVICES": value}
    assert statuses(machine(environ=environ), "cuda-visible-devices") == {status}


@settings(deadline=None)
@given(
    st.text(alphabet="0123,-+ x;", max_size=8)
    | st.lists(st.integers(-2, 9).map(str), max_size=4).map(",".join)
    | st.lists(st.sampled_from(["GPU-1", "GPU-2", "MIG-1", "0"]), max_size=3).map(",".join)
)
def test_visible_devices_are_read_as_torch_reads_them(value: str) -> None:
    torch_cuda = pytest.importorskip("torch.cuda")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CUDA_VISIBLE_DEVICES", value)
        try:
            theirs = torch_cuda._parse_visible_devices()
        except ValueError:  # torch 2.13 itself fails on a lone sign
            assert read_visible_devices(value).malformed
            return
    assert list(read_visible_devices(value).devices or ()) == theirs


def test_uuid_beginnings_and_order() -> None:
    gpus = (gpu(0), gpu(1), gpu(2))
    assert [g.index for g in visible_gpus(gpus, "GPU-2,GPU-0")] == [2, 0]
    assert visible_gpus(gpus, "7,0") == ()


@pytest.mark.parametrize(("processes", "status"), [(1, "ok"), (2, "ok"), (3, "error")])
def test_processes_against_gpus(processes: int, status: str) -> None:
    on = machine(options=Options(num_processes=processes))
    assert statuses(on, "gpus-and-processes") == {status}
    assert statuses(on, "model-parallel") == {status}


@pytest.mark.parametrize(
    ("shm", "status"),
    [(None, "warn"), (64 << 20, "error"), (512 << 20, "warn"), (8 * GIB, "ok")],
)
def test_shared_memory_by_size(shm: int | None, status: str) -> None:
    seen = None if shm is None else SharedMemory("/dev/shm", shm, shm)
    assert statuses(machine(host=replace(HOST, shared_memory=seen)), "shared-memory") == {status}


def test_the_probe_of_shared_memory_takes_its_mount(tmp_path: Any) -> None:
    found = shared_memory(str(tmp_path))
    assert found is not None and found.size > 0
    assert shared_memory(str(tmp_path / "absent")) is None


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({}, "ok"),
        ({"open_files": 1024}, "warn"),
        ({"infiniband": True, "locked_memory": 8 << 20}, "error"),
        ({"infiniband": True, "locked_memory": None}, "ok"),
        ({"processes": 100}, "warn"),
    ],
)
def test_ulimits(changes: dict[str, Any], status: str) -> None:
    assert statuses(machine(host=replace(HOST, **changes)), "ulimits") == {status}


@pytest.mark.parametrize(
    ("threads", "processes", "status"),
    [(None, 2, "ok"), ("8", 2, "ok"), ("9", 2, "warn"), ("x", 2, "error"), ("0", 1, "error")],
)
def test_threads_against_cores(threads: str | None, processes: int, status: str) -> None:
    environ = {} if threads is None else {"OMP_NUM_THREADS": threads}
    on = machine(environ=environ, options=Options(num_processes=processes))
    assert statuses(on, "threads") == {status}


def test_launcher_variables_are_right_under_a_launcher() -> None:
    environ = {"RANK": "0", "WORLD_SIZE": "2"}
    assert statuses(machine(environ=environ), "launcher-variables") == {"error"}
    under = replace(HOST, launcher="torchrun")
    assert statuses(machine(environ=environ, host=under), "launcher-variables") == {"ok"}
    settings = {"ACCELERATE_USE_FSDP": "true", "FSDP_VERSION": "2"}
    assert statuses(machine(environ=settings), "launcher-variables") == {"warn"}


@pytest.mark.parametrize(
    ("environ", "changes", "status"),
    [
        ({}, {}, "ok"),
        ({}, {"port_error": "Address already in use"}, "warn"),
        ({"MASTER_PORT": "29500"}, {"port_error": "Address already in use"}, "error"),
        ({"MASTER_PORT": "x"}, {"port": -1}, "error"),
        ({"MASTER_PORT": "29500"}, {"port_error": "in use", "master_is_here": False}, "ok"),
    ],
)
def test_master_port(environ: dict[str, str], changes: dict[str, Any], status: str) -> None:
    on = machine(environ=environ, network=replace(NETWORK, **changes))
    assert statuses(on, "master-port") == {status}


def test_names_that_do_not_resolve() -> None:
    gone = replace(NETWORK, master=(), master_error="Name or service not known")
    on = machine(environ={"MASTER_ADDR": "node-zero"}, network=gone)
    ((status, saw),) = said(on, "host-names")
    assert status == "error" and "MASTER_ADDR=node-zero" in saw
    assert statuses(machine(network=replace(NETWORK, own_error="unknown")), "host-names") == {
        "warn"
    }


@pytest.mark.parametrize(
    ("environ", "status"),
    [
        ({}, "ok"),
        ({"NCCL_DEBUG": "INFO"}, "ok"),
        ({"NCCL_P2P_DISABLE": "1", "NCCL_P2P_LEVEL": "NVL"}, "warn"),
        ({"NCCL_P2P_DISABLE": "1", "NCCL_SHM_DISABLE": "1"}, "warn"),
        ({"NCCL_IB_DISABLE": "1", "NCCL_IB_HCA": "mlx5_0"}, "warn"),
        ({"NCCL_IB_DISABLE": "1", "NCCL_NET": "IB"}, "error"),
        ({"NCCL_DEBUG_FILE": "log"}, "warn"),
        ({"TORCH_NCCL_BLOCKING_WAIT": "1", "NCCL_BLOCKING_WAIT": "0"}, "warn"),
        ({"TORCH_NCCL_ASYNC_ERROR_HANDLING": "0"}, "warn"),
        ({"TORCH_NCCL_DUMP_ON_TIMEOUT": "1", "TORCH_NCCL_ENABLE_MONITORING": "0"}, "warn"),
        ({"TORCH_DISTRIBUTED_DEBUG": "verbose"}, "error"),
        ({"TORCH_DISTRIBUTED_DEBUG": "DETAIL"}, "ok"),
        ({"CUDA_LAUNCH_BLOCKING": "1"}, "warn"),
        ({"NCCL_SOCKET_IFNAME": "eth"}, "ok"),
        ({"NCCL_SOCKET_IFNAME": "=eth"}, "error"),
        ({"NCCL_SOCKET_IFNAME": "^docker"}, "ok"),
        ({"NCCL_SOCKET_IFNAME": "lo"}, "warn"),
        ({"GLOO_SOCKET_IFNAME": "eth0"}, "ok"),
        ({"GLOO_SOCKET_IFNAME": "ib0"}, "error"),
    ],
)
def test_settings_that_contradict(environ: dict[str, str], status: str) -> None:
    assert statuses(machine(environ=environ), "communication-settings") == {status}


GOOD = {"distributed_type": "MULTI_GPU", "num_processes": 2, "mixed_precision": "bf16"}


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({**GOOD, "num_procceses": 2}, "did you mean num_processes?"),
        ({"num_processes": 2}, "no distributed_type"),
        ({**GOOD, "distributed_type": "MULTIGPU"}, "'MULTIGPU'"),
        ({**GOOD, "mixed_precision": False}, "boolean false"),
        ({**GOOD, "mixed_precision": "bfloat16"}, "'bfloat16'"),
        ({**GOOD, "num_processes": "two"}, "'two'"),
        ({**GOOD, "num_processes": 3, "num_machines": 2}, "3 processes on 2 machines"),
        ({**GOOD, "num_machines": 2, "machine_rank": 2, "main_process_ip": "a"}, "machine_rank 2"),
        ({**GOOD, "num_machines": 2}, "no main_process_ip"),
        ({**GOOD, "num_machines": 2, "machine_rank": "a"}, "machine_rank a of 2"),
        ({**GOOD, "num_machines": 2, "main_process_ip": "127.0.0.1"}, "is 127.0.0.1 for 2"),
        (
            {**GOOD, "num_machines": 2, "main_process_ip": "a", "main_process_port": 0},
            "main_process_port is 0 for 2 machines",
        ),
        ({**GOOD, "num_processes": -3}, "num_processes is -3"),
        ({**GOOD, "num_processes": 0}, "num_processes is 0"),
    ],
)
def test_configurations_that_accelerate_refuses(values: dict[str, Any], words: str) -> None:
    results = said(with_config(values), "accelerate-config")
    assert any(status == "error" and words in saw for status, saw in results), results


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({**GOOD, "num_processes": 4}, "4 processes on GPUs; 2 are visible"),
        ({**GOOD, "distributed_type": "MULTI_CPU"}, "MULTI_CPU with 2 processes"),
        ({**GOOD, "distributed_type": "NO"}, "'NO' with 2 processes"),
        ({**GOOD, "use_cpu": True}, "use_cpu: true with MULTI_GPU"),
        ({**GOOD, "gpu_ids": "0"}, "gpu_ids is 0 with MULTI_GPU"),
        ({**GOOD, "gpu_ids": 0}, "gpu_ids is 0, not text"),
        ({**GOOD, "gpu_ids": [0, 1]}, "gpu_ids is [0, 1], not text"),
        ({**GOOD, "gpu_ids": "0,7"}, "gpu_ids is 0,7 and names 7; 2 GPUs are installed"),
        ({**GOOD, "gpu_ids": "0,0"}, "gpu_ids is '0,0'"),
        ({**GOOD, "gpu_ids": "0;1"}, "gpu_ids is '0;1'"),
        ({**GOOD, "distributed_type": "FSDP", "gpu_ids": "1,2"}, "names 2; 2 GPUs are installed"),
    ],
)
def test_configurations_for_another_machine(values: dict[str, Any], words: str) -> None:
    results = said(with_config(values), "config-on-this-machine")
    assert any(status == "error" and words in saw for status, saw in results), results


def test_a_configuration_that_goes_with_the_machine() -> None:
    # accelerate lowers the name of the precision.
    assert statuses(with_config({**GOOD, "mixed_precision": "BF16"}), "accelerate-config") == {"ok"}
    for check in ("accelerate-config", "config-on-this-machine", "config-sections"):
        assert statuses(with_config(GOOD), check) == {"ok"}
    old = (gpu(0, (7, 5)), gpu(1))
    assert statuses(with_config(GOOD, gpus=old), "config-on-this-machine") == {"warn"}


FSDP2 = {"fsdp_version": 2, "fsdp_auto_wrap_policy": "TRANSFORMER_BASED_WRAP"}


@pytest.mark.parametrize(
    ("kind", "section", "status"),
    [
        ("FSDP", FSDP2, "ok"),
        ("MULTI_GPU", FSDP2, "warn"),
        ("FSDP", {**FSDP2, "fsdp_ofload_params": True}, "warn"),
        ("FSDP", {**FSDP2, "fsdp_reshard_after_forward": "FULL_SHARD"}, "error"),
        (
            "FSDP",
            {**FSDP2, "fsdp_version": 1, "fsdp_reshard_after_forward": "SHARD_GRAD_OP"},
            "warn",
        ),
        ("FSDP", {**FSDP2, "fsdp_version": 1, "fsdp_sharding_strategy": "SHARD_GRAD_OP"}, "ok"),
        ("FSDP", {**FSDP2, "fsdp_backward_prefetch": "BACKWARD_PRE"}, "warn"),
        ("FSDP", {**FSDP2, "fsdp_state_dict_type": "LOCAL_STATE_DICT"}, "error"),
        ("FSDP", {**FSDP2, "fsdp_auto_wrap_policy": "WRAP"}, "error"),
        ("FSDP", {"fsdp_version": 2}, "warn"),
        ("FSDP", {**FSDP2, "fsdp_version": 3}, "error"),
    ],
)
def test_sections_against_the_type(kind: str, section: dict[str, Any], status: str) -> None:
    values = {**GOOD, "distributed_type": kind, "fsdp_config": section}
    assert statuses(with_config(values), "config-sections") == {status}


ZERO2 = {"zero_optimization": {"stage": 2}}
DEEPSPEED = (Package("deepspeed", "0.19.8", ()),)


@pytest.mark.parametrize(
    ("json_values", "extra", "status"),
    [
        (ZERO2, {}, "ok"),
        ({}, {}, "error"),
        ({**ZERO2, "fp16": {"enabled": True}, "bf16": {"enabled": True}}, {}, "error"),
        ({"zero_optimization": {"stage": 2, "offload_param": {"device": "cpu"}}}, {}, "warn"),
        ({"zero_optimization": {"stage": 3, "offload_param": {"device": "nvme"}}}, {}, "error"),
        ({**ZERO2, "train_batch_size": 5, "train_micro_batch_size_per_gpu": 2}, {}, "error"),
        ({**ZERO2, "train_batch_size": 4, "train_micro_batch_size_per_gpu": 2}, {}, "ok"),
        ({**ZERO2, "train_batch_size": 3}, {}, "error"),
        ({**ZERO2, "train_batch_size": 6, "gradient_accumulation_steps": 2}, {}, "error"),
        ({**ZERO2, "train_batch_size": 8, "train_micro_batch_size_per_gpu": "auto"}, {}, "ok"),
        ({"zero_optimization": {"stage": 5}}, {}, "error"),
        ({"zero_optimization": {"stage": 3, "offload_param": {"device": "gpu"}}}, {}, "error"),
        ({"zero_optimization": {"stage": 3, "overlap_com": True}}, {}, "error"),
        ({"zero_optimization": {"stage": 3, "offload_param": {"pin_mem": True}}}, {}, "error"),
        ({"zero_optimization": {"stage": "auto", "reduce_bucket_size": 5e8}}, {}, "ok"),
        ({"zero_optimization": {"stage": 2, "reduce_bucket_size": 0}}, {}, "error"),
        ({**ZERO2, "fp16": {"enabled": "auto", "initial_scale_power": 16}}, {}, "ok"),
        ({**ZERO2, "bf16": {"enable": True}}, {}, "error"),
        ({**ZERO2, "gradient_cliping": 1.0}, {}, "warn"),
        ({**ZERO2, "gradient_accumulation_steps": 0}, {}, "error"),
        ({**ZERO2, "fp16": {"enabled": True}, "amp": {"enabled": True}}, {}, "error"),
        ({**ZERO2, "fp16": {"enabled": True}, "torch_autocast": {"enabled": True}}, {}, "error"),
        ({**ZERO2, "nebula": {"enabled": True}}, {}, "error"),
        ({**ZERO2, "_comment": "by hand", "steps_per_print": 100}, {}, "ok"),
        (ZERO2, {"zero_stage": 2}, "error"),
        (ZERO2, {"zero3_init_flag": True}, "warn"),
    ],
)
def test_deepspeed_json(json_values: Any, extra: dict[str, Any], status: str) -> None:
    values = {
        "distributed_type": "DEEPSPEED",
        "num_processes": 2,
        "deepspeed_config": {"deepspeed_config_file": "ds.json", **extra},
    }
    on = with_config(values, json_values, packages=DEEPSPEED)
    assert statuses(on, "deepspeed-json") == {status}
    assert "error" in statuses(with_config(values, json_values, packages=()), "deepspeed-json")


def test_batches_are_of_all_machines() -> None:
    """train_batch_size counts the processes of every machine, not those of this one."""
    values = {
        "distributed_type": "DEEPSPEED",
        "num_processes": 4,
        "num_machines": 2,
        "deepspeed_config": {"deepspeed_config_file": "ds.json"},
    }
    batch = {**ZERO2, "train_batch_size": 8, "train_micro_batch_size_per_gpu": 2}
    assert statuses(with_config(values, batch, packages=DEEPSPEED), "deepspeed-json") == {"ok"}


def test_an_older_deepspeed_still_has_what_a_newer_one_removed() -> None:
    values = {"distributed_type": "DEEPSPEED", "num_processes": 2}
    old = (Package("deepspeed", "0.15.0", ()),)
    amp = {**ZERO2, "amp": {"enabled": True}}
    assert statuses(with_config(values, amp, packages=old), "deepspeed-json") == {"ok"}
    both = {**amp, "fp16": {"enabled": True}}
    assert statuses(with_config(values, both, packages=old), "deepspeed-json") == {"error"}
    assert statuses(with_config(values, amp, packages=DEEPSPEED), "deepspeed-json") == {"error"}


def test_storage() -> None:
    good = StorageFacts("out", True, 100 * GIB, "ext4")
    assert statuses(machine(storage=good), "checkpoints") == {"ok"}
    full = machine(storage=good, options=Options(parameters=7 * 10**9))
    assert statuses(full, "checkpoints") == {"error"}
    for bad in (
        replace(good, write_error="Permission denied"),
        replace(good, rename_error="Permission denied"),
    ):
        assert statuses(machine(storage=bad), "checkpoints") == {"error"}
    hung = Unknown("did not answer within 6 s", failed=True)
    assert statuses(machine(storage=hung), "checkpoints") == {"error"}


@pytest.mark.parametrize(
    ("packages", "status"),
    [
        ([("torch", "2.13.0", ()), ("accelerate", "1.15.0", ("torch>=2.0.0",))], "ok"),
        ([("torch", "1.13.0", ()), ("accelerate", "1.15.0", ("torch>=2.0.0",))], "warn"),
        ([("torch", "2.5.1", ()), ("transformers", "5.23.0", ())], "error"),
        ([("torch", "2.2.0", ()), ("numpy", "2.1.0", ())], "error"),
        ([("torch", "2.13.0", ()), ("torchvision", "0.20.0", ("torch==2.5.0",))], "warn"),
    ],
)
def test_versions(packages: list[tuple[str, str, tuple[str, ...]]], status: str) -> None:
    found = tuple(Package(*package) for package in packages)
    assert statuses(machine(packages=found), "versions") == {status}


@settings(deadline=None)
@given(
    st.tuples(*[st.integers(0, 12)] * 3),
    st.sampled_from(["==", ">=", "<=", ">", "<", "!=", "~="]),
    st.tuples(*[st.integers(0, 12)] * 3),
)
def test_versions_compare_as_packaging_compares(
    have: tuple[int, ...], operator: str, want: tuple[int, ...]
) -> None:
    specifiers = pytest.importorskip("packaging.specifiers")
    version, clause = ".".join(map(str, have)), operator + ".".join(map(str, want))
    assert satisfies(version, clause) == specifiers.SpecifierSet(clause).contains(version)


def test_requirements_of_metadata() -> None:
    assert requirement("Torch_Vision[all] (>=2.0,<3) ; python_version > '3'") == (
        "torch-vision",
        ">=2.0,<3",
    )
    assert satisfies("2.13.0+cpu", ">=2.6,<3") and not satisfies("2.13.0", "==2.12.*")


def test_three_states_with_a_reason() -> None:
    no = decide(ModelParallel.DECIDE, gpus_there=8, parameters=10**9, memory=80 * GIB)
    assert not no.model_parallel and "fits" in no.reason
    yes = decide(ModelParallel.DECIDE, gpus_there=8, parameters=7 * 10**9, memory=80 * GIB)
    assert yes.model_parallel and "does not fit" in yes.reason
    assert not decide(ModelParallel.DECIDE, gpus_there=1).model_parallel
    assert decide(ModelParallel.YES, gpus_there=2).gpus == 2
    assert not decide(ModelParallel.NO, gpus_there=8).model_parallel
    with pytest.raises(StrategyError, match="2 GPUs are asked for and 1 is visible"):
        decide(ModelParallel.DECIDE, gpus_there=1, gpus_asked=2)
    with pytest.raises(StrategyError, match="needs two GPUs and 1 is visible"):
        decide(ModelParallel.YES, gpus_there=1)
    with pytest.raises(StrategyError, match="by no strategy"):
        decide(ModelParallel.DECIDE, gpus_there=2, parameters=10**12, memory=24 * GIB)


def test_device_map_and_several_processes() -> None:
    bypass = {"ACCELERATE_BYPASS_DEVICE_MAP": "true"}
    two = Options(num_processes=2)
    assert statuses(machine(environ=bypass), "device-map") == {"warn"}
    assert statuses(machine(environ=bypass, options=two), "device-map") == {"error"}
    asked = Options(num_processes=2, model_parallel="yes")
    assert statuses(machine(options=asked), "device-map") == {"error"}


def test_memory_against_the_plan() -> None:
    assert statuses(machine(options=Options(parameters=7 * 10**9)), "memory") == {"ok"}
    assert statuses(machine(options=Options(parameters=10**12)), "memory") == {"error"}


def test_nvidia_smi_in_its_forms() -> None:
    text = (
        "0, GPU-ab, NVIDIA A100, 81920, 8.0, 550.54\n1, GPU-cd, NVIDIA GB10, [N/A], 12.1, 580.1\n"
    )
    first, second = parse_query(text)
    assert (first.memory, first.compute) == (80 * GIB, (8, 0))
    assert (second.memory, second.compute) == (0, (12, 1))
    with pytest.raises(GpuQueryError):
        parse_query("Unable to determine the device handle")


def test_the_record_and_the_text_say_the_same() -> None:
    report = judge(machine(environ={"RANK": "0"}), CHECKS, 1.0)
    record = as_json(report)
    assert record["exit_code"] == 1
    assert record["counts"]["error"] == 1
    text = render(report, Style(), 100)
    entry = next(e for e in record["checks"] if e["status"] == "error")
    assert " ".join(entry["do"].split()) in " ".join(text.split())
