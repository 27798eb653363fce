"""CUDA_VISIBLE_DEVICES, set in time and too late."""

import os
import subprocess

import torch

# Bugs


def after_a_question(local_rank):
    if torch.cuda.is_available():
        os.environ["CUDA_VISIBLE_DEVICES"] = str(local_rank)  # expect: DL502


def after_a_model(model, index):
    model = model.cuda()
    os.environ["CUDA_VISIBLE_DEVICES"] = str(index)  # expect: DL502
    return model


def after_a_tensor(index):
    x = torch.ones(2, device="cuda")
    if index is not None:
        # too late
        os.environ["CUDA_VISIBLE_DEVICES"] = str(index)  # expect: DL502
    return x


def after_a_question_and_before_a_run(engine, index):
    torch.cuda.init()
    os.environ["CUDA_VISIBLE_DEVICES"] = str(index)  # expect: DL502
    engine.run(launcher="pytorch")


def after_another_device(local_rank):
    if torch.cuda.is_available():
        torch.cuda.set_device(0)
        os.environ["CUDA_VISIBLE_DEVICES"] = str(local_rank)  # expect: DL502


def after_its_own_device(local_rank):
    # DFC2025 45c5b5b train.py:157: nothing comes of it; information
    if torch.cuda.is_available():
        if local_rank != -1:
            torch.cuda.set_device(local_rank)
        os.environ["CUDA_VISIBLE_DEVICES"] = "0,1"  # expect: DL502


# Correct


def first(model, index):
    os.environ["CUDA_VISIBLE_DEVICES"] = str(index)
    return model.cuda()


def before_its_own_device(local_rank):
    os.environ["CUDA_VISIBLE_DEVICES"] = "0,1"
    torch.cuda.set_device(local_rank)


def for_a_child(command):
    if torch.cuda.is_available():
        os.environ["CUDA_VISIBLE_DEVICES"] = "0"
    subprocess.run(command, check=True)


def other_arm(model, index):
    if index is None:
        model = model.cuda()
    else:
        os.environ["CUDA_VISIBLE_DEVICES"] = str(index)
    return model


def on_the_cpu(model, index):
    model = model.to("cpu")
    os.environ["CUDA_VISIBLE_DEVICES"] = str(index)
    return model


def renamed(model):
    # verl 0.9.1 verl/single_controller/base/worker.py:253: what the process sees already
    if torch.cuda.is_available():
        devices = os.environ.pop("HIP_VISIBLE_DEVICES")
        os.environ["CUDA_VISIBLE_DEVICES"] = devices
    return model


class SpawnsItsRanks:
    # Uni-Mol 90f52c4 unimol_tools/unimol_tools/tasks/trainer.py:92: the ranks inherit the variable.
    def __init__(self, gpus):
        self.settle(gpus)

    def settle(self, gpus):
        if torch.cuda.is_available():
            os.environ["CUDA_VISIBLE_DEVICES"] = gpus

    def fit(self, work, ranks):
        torch.multiprocessing.spawn(work, nprocs=ranks)


class SpawnsNobody:
    def __init__(self, gpus):
        self.settle(gpus)

    def settle(self, gpus):
        if torch.cuda.is_available():
            os.environ["CUDA_VISIBLE_DEVICES"] = gpus  # expect: DL502

    def fit(self, net, batch):
        return net.cuda()(batch)
