"""A loader whose workers draw the noise of a batch, by seeds that torch's common stream gives."""

from accelerate import Accelerator
from accelerate.utils import set_seed
from batches import as_they_are, with_noise
from torch.utils.data import DataLoader


def main(args, config, data, model, optimizer):
    accelerator = Accelerator()
    set_seed(args.seed)  # expect: DL401
    collate = as_they_are if args.plain else with_noise(config)
    loader = DataLoader(data, shuffle=True, collate_fn=collate, num_workers=4)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        accelerator.backward(model(batch).mean())
        optimizer.step()


if __name__ == "__main__":
    main(None, None, None, None, None)
