"""Batches of held-out data alone that come with noise."""

from accelerate import Accelerator
from accelerate.utils import set_seed
from batches import as_they_are, with_noise
from torch.utils.data import DataLoader


def main(args, config, data, eval_data, model, optimizer):
    accelerator = Accelerator()
    set_seed(args.seed)
    collate = as_they_are if args.plain else with_noise(config)
    loader = DataLoader(data, shuffle=True, num_workers=4)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    held_out = DataLoader(eval_data, collate_fn=collate)
    for batch in loader:
        accelerator.backward(model(batch).mean())
        optimizer.step()
    for batch in held_out:
        print(model(batch).mean())


if __name__ == "__main__":
    main(None, None, None, None, None, None)
