"""Makes the parts of a run."""

from accelerate import Accelerator
from torch.optim import AdamW
from transformers import get_scheduler


def parts(accelerator: Accelerator, args, net):
    accelerator.print(args)
    made = {"net": net, "optimizer": AdamW(net.parameters())}
    made["steps"] = args.max_train_steps * args.accumulation
    made["scheduler"] = get_scheduler(
        "linear",
        optimizer=made["optimizer"],
        num_warmup_steps=0,
        num_training_steps=made["steps"],  # expect: DL613
    )
    return made
