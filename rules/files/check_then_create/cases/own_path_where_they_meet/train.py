# VideoX-Fun 804a425 videox_fun/utils/utils.py:265
import os

from accelerate import Accelerator
from films import put_together


def main(args, model, loader):
    accelerator = Accelerator()
    model, loader = accelerator.prepare(model, loader)
    for step, batch in enumerate(loader):
        loss = accelerator.gather(model(batch)).mean()
        accelerator.backward(loss)
        put_together(os.path.join(args.out, f"{step}-rank{accelerator.process_index}.mp4"), args.sound)
