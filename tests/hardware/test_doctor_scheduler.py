"""The doctor's checks of what schedulers and launchers said: SLURM, NODE_RANK, ranks, rendezvous."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from doctor_machines import HOST, NETWORK, gpu, machine, said, statuses, with_config

from distlint.hardware.doctor.machine import Machine, Options, Rendezvous

FOUR = tuple(gpu(index) for index in range(4))
ONE_NODE = {"distributed_type": "MULTI_GPU", "num_processes": 4}
TWO_NODES = {
    **ONE_NODE,
    "num_processes": 8,
    "num_machines": 2,
    "machine_rank": 0,
    "main_process_ip": "node0",
}
JOB = {"SLURM_JOB_ID": "7", "SLURM_NNODES": "1", "SLURM_NTASKS": "1"}


def on(values: dict[str, Any], environ: dict[str, str], **changes: Any) -> Machine:
    return with_config(
        values, environ=environ, gpus=FOUR, options=Options(config_file="a.yaml"), **changes
    )


def the_error(machine: Machine, check: str) -> str:
    errors = [saw for status, saw in said(machine, check) if status == "error"]
    assert len(errors) == 1, said(machine, check)
    return errors[0]


@pytest.mark.parametrize(
    ("values", "environ", "words"),
    [
        (ONE_NODE, {**JOB, "SLURM_NTASKS": "4"}, "SLURM_NTASKS=4 on 1 node, and a launcher"),
        (
            TWO_NODES,
            {**JOB, "SLURM_NNODES": "2", "SLURM_NTASKS": "8"},
            "SLURM_NTASKS=8 on 2 nodes",
        ),
        (TWO_NODES, {**JOB, "SLURM_NNODES": "2", "SLURM_NTASKS": "1"}, "SLURM_NTASKS=1 on 2"),
        (TWO_NODES, JOB, "num_machines is 2, SLURM gave 1 node"),
        (
            TWO_NODES,
            {**JOB, "SLURM_NNODES": "2", "SLURM_NTASKS": "2", "SLURM_NODEID": "1"},
            "SLURM_NODEID=1, machine_rank is 0",
        ),
        (ONE_NODE, {**JOB, "SLURM_GPUS_ON_NODE": "2"}, "SLURM_GPUS_ON_NODE=2, 4 processes"),
        ({}, {**JOB, "SLURM_PROCID": "1", "RANK": "0"}, "RANK=0, SLURM_PROCID=1"),
        ({}, {**JOB, "SLURM_PROCID": "0", "WORLD_SIZE": "4"}, "WORLD_SIZE=4, SLURM_NTASKS=1"),
    ],
)
def test_slurm_against_the_launcher(
    values: dict[str, Any], environ: dict[str, str], words: str
) -> None:
    assert words in the_error(on(values, environ), "slurm")


def test_slurm_that_goes_with_the_launcher() -> None:
    two = {**JOB, "SLURM_NNODES": "2", "SLURM_NTASKS": "2", "SLURM_NODEID": "0"}
    assert statuses(on(TWO_NODES, two), "slurm") == {"ok"}
    assert statuses(on(ONE_NODE, JOB), "slurm") == {"ok"}
    assert statuses(on(ONE_NODE, {}), "slurm") == {"skipped"}
    # srun starts every rank itself, without a launcher.
    by_srun = {**JOB, "SLURM_NTASKS": "4", "SLURM_PROCID": "3", "RANK": "3", "WORLD_SIZE": "4"}
    assert statuses(on({}, by_srun), "slurm") == {"ok"}
    # torchrun numbers its workers by itself, in the one task of each node.
    worker = {**JOB, "SLURM_PROCID": "0", "RANK": "3", "TORCHELASTIC_RUN_ID": "none"}
    assert statuses(on({}, worker), "slurm") == {"ok"}
    # Nobody said that this job uses the configuration of the default place.
    default = with_config(ONE_NODE, environ={**JOB, "SLURM_NTASKS": "4"})
    assert statuses(default, "slurm") == {"warn"}
    assert statuses(on(ONE_NODE, {**JOB, "SLURM_NNODES": "2"}), "slurm") == {"error", "warn"}


@pytest.mark.parametrize(
    ("values", "node_rank", "status"),
    [
        (TWO_NODES, "0", "ok"),
        (TWO_NODES, "1", "error"),
        (TWO_NODES, "2", "error"),
        (TWO_NODES, "one", "error"),
        (ONE_NODE, "1", "warn"),
        (ONE_NODE, "0", "ok"),
        ({}, "1", "ok"),
    ],
)
def test_node_rank(values: dict[str, Any], node_rank: str, status: str) -> None:
    assert statuses(on(values, {"NODE_RANK": node_rank}), "node-rank") == {status}


@pytest.mark.parametrize(
    ("environ", "words"),
    [
        ({"RANK": "2", "WORLD_SIZE": "2"}, "RANK=2 with WORLD_SIZE=2"),
        ({"RANK": "-1", "WORLD_SIZE": "2"}, "RANK=-1"),
        ({"WORLD_SIZE": "0"}, "WORLD_SIZE=0"),
        ({"LOCAL_RANK": "x"}, "LOCAL_RANK=x"),
        ({"LOCAL_RANK": "4", "LOCAL_WORLD_SIZE": "4"}, "LOCAL_RANK=4"),
        ({"SLURM_PROCID": "4", "SLURM_NTASKS": "4"}, "SLURM_PROCID=4"),
        (
            {"SLURM_PROCID": "0", "RANK": "0", "WORLD_SIZE": "2"},
            "no MASTER_ADDR and no MASTER_PORT",
        ),
    ],
)
def test_ranks_out_of_range(environ: dict[str, str], words: str) -> None:
    assert words in the_error(machine(environ=environ), "rank-variables")


def test_ranks_in_range() -> None:
    good = {"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "a", "MASTER_PORT": "1"}
    assert statuses(machine(environ=good), "rank-variables") == {"ok"}
    under = replace(HOST, launcher="mpirun")
    without = {"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "a"}
    assert statuses(machine(environ=without, host=under), "rank-variables") == {"error"}


HERE = Rendezvous("node0", "", True, 29501, "", "")


@pytest.mark.parametrize(
    ("values", "changes", "status"),
    [
        (TWO_NODES, {}, "ok"),
        (TWO_NODES, {"error": "Name or service not known"}, "error"),
        (TWO_NODES, {"is_here": False}, "error"),
        ({**TWO_NODES, "machine_rank": 1}, {}, "warn"),
        ({**TWO_NODES, "machine_rank": 1}, {"is_here": False}, "ok"),
        (TWO_NODES, {"port_error": "Address already in use"}, "error"),
        (ONE_NODE, {"port_error": "Address already in use"}, "warn"),
    ],
)
def test_the_configurations_rendezvous(
    values: dict[str, Any], changes: dict[str, Any], status: str
) -> None:
    network = replace(NETWORK, configured=replace(HERE, **changes))
    assert statuses(on(values, {}, network=network), "config-rendezvous") == {status}


def test_a_leftover_process_is_named() -> None:
    held = replace(HERE, port_error="Address already in use", holder="python train.py (process 7)")
    network = replace(NETWORK, configured=held)
    saw = the_error(on(TWO_NODES, {}, network=network), "config-rendezvous")
    assert "by python train.py (process 7)" in saw
    default = replace(
        NETWORK, port_error="Address already in use", holder="python a.py (process 8)"
    )
    environ = {"MASTER_PORT": "29500"}
    saw = the_error(machine(environ=environ, network=default), "master-port")
    assert "by python a.py (process 8)" in saw
