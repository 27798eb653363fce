"""Ranks that are asked for before and after the group exists."""

import torch.distributed as dist
from detectron2.data import build_detection_train_loader
from detectron2.utils import comm


def get_rank():
    if not dist.is_available() or not dist.is_initialized():
        return 0
    return dist.get_rank()


# Bugs

RANK = dist.get_rank() if dist.is_initialized() else 0  # expect: DL509
MAIN = get_rank() == 0  # expect: DL509


def log(text, rank=get_rank()):  # expect: DL509
    print(rank, text)


def main():
    # who am I
    rank = dist.get_rank() if dist.is_available() and dist.is_initialized() else 0  # expect: DL509
    dist.init_process_group("gloo")
    if rank == 0:
        print("main")


def detection(config):
    # Cream 4a13c40 CDARTS/CDARTS_segmentation/train/train_cydas.py:196
    batches = iter(build_detection_train_loader(config))  # expect: DL509
    shown = comm.is_main_process()  # expect: DL509
    dist.init_process_group("nccl", init_method="env://")
    return batches, shown


class Logger:
    rank = get_rank()  # expect: DL509


# Correct


def detection_after(config):
    dist.init_process_group("nccl", init_method="env://")
    return build_detection_train_loader(config), comm.get_rank()


def launched_by_detectron2(config):
    return build_detection_train_loader(config), comm.get_rank()


def after():
    dist.init_process_group("gloo")
    rank = dist.get_rank() if dist.is_initialized() else 0
    return rank


def when_called():
    return get_rank() == 0


later = lambda: get_rank()  # noqa: E731


def known():
    return dist.get_rank()


def size_of(matrix, rank=0):
    return matrix.size(rank)


if __name__ == "__main__":
    main()
    print(get_rank())
