import os

import torch.distributed as dist
from films import put_together

folder = "films"


def save_films():
    number = len(os.listdir(folder)) + 1
    put_together(os.path.join(folder, f"{number}.mp4"), "sound.wav")


if dist.is_initialized():
    if dist.get_rank() == 0:
        save_films()
else:
    save_films()
