from accelerate import Accelerator
from parts import ByLine, Whole
from torch.utils.data import DataLoader


def main(model, optimizer):
    accelerator = Accelerator()
    loader = DataLoader(Whole("lines.csv"))
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        accelerator.backward(model(batch).mean())
        optimizer.step()


if __name__ == "__main__":
    main(None, None)
