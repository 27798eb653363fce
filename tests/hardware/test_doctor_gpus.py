"""The doctor's checks of GPUs: drivers that do not answer, lost GPUs, GPUs of several kinds."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

import pytest
from doctor_machines import GIB, TORCH, gpu, machine, said, statuses, with_config

from distlint.hardware.doctor.checks.devices import all_alike
from distlint.hardware.doctor.machine import Unknown
from distlint.hardware.gpus import Gpu, GpuQueryError, installed_gpus, parse_query, visible_gpus


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("Failed to initialize NVML: Driver/library version mismatch", "driver was updated"),
        (
            "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.",
            "kernel module is not loaded",
        ),
        ("Failed to initialize NVML: Driver Not Loaded", "kernel module is not loaded"),
        ("Failed to initialize NVML: Insufficient Permissions", "may not open"),
        ("Failed to initialize NVML: Unknown Error", "container lost its access"),
        ("Unable to determine the device handle for GPU 0000:41:00.0: Unknown", "off the bus"),
        ("nvidia-smi did not answer within 5 s", "the driver has lost"),
        ("something else", "does not answer for its GPUs"),
    ],
)
def test_each_answer_of_the_driver_is_explained(answer: str, why: str) -> None:
    failed = Unknown(f"nvidia-smi failed: {answer}", failed=True)
    (result,) = all_alike(machine(gpus=failed))
    assert result.status.value == "error" and why in result.why, result
    # Also where no torch is installed, which only skips its own checks.
    absent = Unknown("torch is not installed here")
    assert statuses(machine(gpus=failed, torch=absent), "gpus") == {"error"}


ROWS = "0, GPU-ab, NVIDIA A100, 81920, 8.0, 550.54\n"


@pytest.mark.parametrize(
    ("row", "shown"),
    [
        ("1, GPU-cd, [GPU is lost], [GPU is lost], [GPU is lost], 550.54", "GPU 1 (GPU is lost)"),
        ("1, [Unknown Error], NVIDIA A100, [Unknown Error], 8.0, 550.54", "GPU 1 (Unknown Error)"),
        ("1, GPU-cd, NVIDIA A100, [GPU requires reset], 8.0, 550.54", "GPU 1 (GPU requires reset)"),
        (
            "Unable to determine the device handle for GPU0000:41:00.0: GPU is lost.  Reboot",
            "GPU 0000:41:00.0 (GPU is lost.  Reboot)",
        ),
    ],
)
def test_lost_gpus_among_nvidia_smis_rows(row: str, shown: str) -> None:
    gpus = parse_query(ROWS + row + "\n")
    results = said(machine(gpus=gpus), "gpus")
    assert any(s == "error" and shown in saw and "1 of 2" in saw for s, saw in results), results
    assert [one.index for one in visible_gpus(gpus, None)] == [0]
    assert visible_gpus(gpus, "1") == ()


def test_rows_are_kept_where_nvidia_smi_fails_for_one_gpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It exits with 15 when one GPU is lost, and still answers for the others."""
    lost = "Unable to determine the device handle for GPU0000:41:00.0: Unknown Error"
    fake = tmp_path / "nvidia-smi"
    fake.write_text(f"#!/bin/sh\necho '{ROWS.strip()}'\necho '{lost}'\nexit 15\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    first, second = installed_gpus()
    assert (first.name, second.lost) == ("NVIDIA A100", "Unknown Error")
    fake.write_text(f"#!/bin/sh\necho '{lost}'\nexit 15\n")
    with pytest.raises(GpuQueryError, match="Unable to determine"):
        installed_gpus()


A100 = Gpu(0, "GPU-a", "NVIDIA A100", 40 * GIB, (8, 0), "580.1")
V100 = Gpu(1, "GPU-b", "NVIDIA V100", 16 * GIB, (7, 0), "580.1")


def test_gpus_of_several_kinds() -> None:
    ((status, saw),) = said(machine(gpus=(A100, V100)), "gpus")
    assert status == "warn" and "1 x NVIDIA A100 (40.0 GiB), 1 x NVIDIA V100 (16.0 GiB)" in saw
    chosen = machine(gpus=(A100, V100), environ={"CUDA_VISIBLE_DEVICES": "0"})
    assert statuses(chosen, "gpus") == {"ok"}
    # ECC switched off on one card is no other kind of card.
    nearly = (gpu(0), Gpu(1, "GPU-1", "NVIDIA H100", 79 * GIB, (9, 0), "580.1"))
    assert statuses(machine(gpus=nearly), "gpus") == {"ok"}


@pytest.mark.parametrize(
    ("environ", "status"),
    [
        ({}, "ok"),
        ({"CUDA_VISIBLE_DEVICES": "0"}, "warn"),
        ({"CUDA_VISIBLE_DEVICES": "0", "CUDA_DEVICE_ORDER": "FASTEST_FIRST"}, "warn"),
        ({"CUDA_VISIBLE_DEVICES": "0", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}, "ok"),
        ({"CUDA_VISIBLE_DEVICES": "GPU-a"}, "ok"),
        ({"CUDA_DEVICE_ORDER": "PCI_BUS"}, "error"),
    ],
)
def test_numbers_of_gpus_of_several_kinds(environ: dict[str, str], status: str) -> None:
    assert statuses(machine(gpus=(A100, V100), environ=environ), "cuda-device-order") == {status}


def test_numbers_of_the_configuration_count_too() -> None:
    values = {"distributed_type": "MULTI_GPU", "num_processes": 2, "gpu_ids": "0,1"}
    on = with_config(values, gpus=(A100, V100))
    assert statuses(on, "cuda-device-order") == {"warn"}
    same = with_config(values, environ={"CUDA_VISIBLE_DEVICES": "0,1"})
    assert statuses(same, "cuda-device-order") == {"ok"}


def test_a_build_without_cuda_names_all_kinds_of_gpus() -> None:
    facts = dataclasses.replace(TORCH, cuda_build=None, cuda_available=False)
    gpus = parse_query(ROWS + "1, GPU-cd, NVIDIA RTX 3090, 24576, 8.6, 550.54\n")
    (_, saw), *_ = said(machine(gpus=gpus, torch=facts), "torch-build")
    assert saw.endswith("1 x NVIDIA A100, 1 x NVIDIA RTX 3090 installed")


def test_a_number_of_processes_below_one_is_judged_once() -> None:
    values = {"compute_environment": "LOCAL_MACHINE", "distributed_type": "FSDP"}
    there = with_config(values | {"num_processes": -3}, gpus=())
    assert statuses(there, "accelerate-config") == {"error"}
    assert statuses(there, "config-on-this-machine") == {"skipped"}
