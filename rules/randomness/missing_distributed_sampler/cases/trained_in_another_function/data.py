"""Hands out the batches of a loader for ever."""

from torch.utils.data import DataLoader, Dataset


class Texts(Dataset):
    def __init__(self, folder):
        self.names = sorted(folder.glob("*.txt"))

    def __len__(self):
        return len(self.names)

    def __getitem__(self, at):
        return self.names[at].read_text()


def again(batches):
    while True:
        for batch in batches:
            yield batch


def batches_of(folder, size):
    loader = DataLoader(Texts(folder), batch_size=size, shuffle=True)  # expect: DL404
    return again(loader)
