"""Goes wrong on 2 ranks: fails with error Default process group has not been initialized.
Fix: unsafe
Requires: accelerate

The training is at its end, and the model is never written.
"""

import torch
from accelerate import Accelerator


def main() -> None:
    accelerator = Accelerator(cpu=True)
    weight = accelerator.reduce(torch.ones(1))
    accelerator.end_training()

    accelerator.wait_for_everyone()  # expect: DL112
    print(weight.item())


main()
