"""Deletions of CUDA_VISIBLE_DEVICES, and what only looks like one."""

import contextlib
import os
import subprocess
from os import environ

import torch
from distlint.runtime import temporary_env

VARIABLE = "CUDA_VISIBLE_DEVICES"

# Bugs

# all of them, please
# expect: DL501


def pop(model):
    # expect: DL501
    return model.cuda()


def by_constant():
    # expect: DL501
    pass


def unset():
    # expect: DL501
    return torch.cuda.is_available()


def in_a_try():
    # expect: DL501
    return torch.cuda.is_available()


def beside_another():
    del os.environ["OMP_NUM_THREADS"]  # expect: DL501


def read_and_removed():
    devices = os.environ.get("CUDA_VISIBLE_DEVICES", "")  # expect: DL501
    return devices.split(",")


def several():
    for name in ("RANK", "CUDA_VISIBLE_DEVICES"):
        os.environ.pop(name, None)  # expect: DL501


def put_back(command):
    # expect: DL501
    # the tool looks for GPUs by itself
    with temporary_env(CUDA_VISIBLE_DEVICES=None):
        result = subprocess.run(command, check=True)
    return result


def saved_too_late(command):
    # expect: DL501
    saved = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    subprocess.run(command, check=True)
    os.environ["CUDA_VISIBLE_DEVICES"] = saved


def only_where_the_settings_have_it(settings):
    # expect: DL501
    print_all(settings)


def print_all(settings):
    for name, value in settings.items():
        print(name, value)


# Correct


def environment_of_a_child(command):
    env = os.environ.copy()
    env.pop("CUDA_VISIBLE_DEVICES", None)
    subprocess.run(command, env=env, check=True)


def in_a_dictionary(command):
    env = dict(os.environ)
    del env["CUDA_VISIBLE_DEVICES"]
    subprocess.run(command, env=env, check=True)


def another_variable():
    os.environ.pop("TOKENIZERS_PARALLELISM", None)


def read_only():
    return os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")


def put_back_always(command):
    saved = os.environ.pop("CUDA_VISIBLE_DEVICES", None)
    try:
        subprocess.run(command, check=True)
    finally:
        if saved is not None:
            os.environ["CUDA_VISIBLE_DEVICES"] = saved


@contextlib.contextmanager
def one_device(index):
    before = os.environ.get("CUDA_VISIBLE_DEVICES")
    os.environ["CUDA_VISIBLE_DEVICES"] = str(index)
    try:
        yield
    finally:
        if before is None:
            del os.environ["CUDA_VISIBLE_DEVICES"]
        else:
            os.environ["CUDA_VISIBLE_DEVICES"] = before


def own_value(command):
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    subprocess.run(command, check=True)
    del os.environ["CUDA_VISIBLE_DEVICES"]


def asks_whether_it_is_set():
    if "CUDA_VISIBLE_DEVICES" in os.environ:
        print(os.environ["CUDA_VISIBLE_DEVICES"])


def only_where_nothing_is_set(index):
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", str(index))


def key_of_the_settings(settings):
    return settings.pop("CUDA_VISIBLE_DEVICES", None)


def write_all(settings):
    for name, value in settings.items():
        if os.environ.get(name, value) != value:
            print("another value", name)
        os.environ[name] = value


def replaced_by_the_settings(settings):
    # FastVideo 2f3d407 fastvideo/worker/worker_base.py:57
    key = "CUDA_VISIBLE_DEVICES"
    if key in settings and key in os.environ:
        del os.environ[key]  # write_all() would warn
    write_all(settings)


def replaced_at_once(settings):
    if VARIABLE in settings:
        os.environ.pop(VARIABLE, None)
    os.environ.update(settings)


def numbers_for_a_server(options, rank):
    # InternVideo 3965eef InternVideo3/InternVideo3_sft/xtuner/v1/ray/rollout/sglang.py:137
    os.environ.pop("CUDA_VISIBLE_DEVICES", None)
    options.base_gpu_id = rank % options.gpus_per_node
    return options


def list_for_a_server(serve, rank, each):
    os.environ.pop("CUDA_VISIBLE_DEVICES", None)
    return serve(gpu_ids=[rank * each + number for number in range(each)])
