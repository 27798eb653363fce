"""Files named by the device of an Accelerator: champ 02e5533 train_s1.py:563, train_s2.py:639."""

import torch
from accelerate import Accelerator


def keep(picture, path):
    torch.save(picture, path)


def check(batch, model, loader, folder):
    accelerator = Accelerator()
    model, loader = accelerator.prepare(model, loader)
    accelerator.wait_for_everyone()
    torch.save(batch, f"{folder}/data-rank{accelerator.device.index}.pt")
    keep(batch, f"{folder}/video-rank{accelerator.device.index}.pt")
    torch.save(batch, f"{folder}/data-{accelerator.device}.pt")
    torch.save(batch, folder + "/data-" + str(accelerator.device) + ".pt")
