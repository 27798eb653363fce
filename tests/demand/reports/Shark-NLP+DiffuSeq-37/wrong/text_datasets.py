from torch.utils.data import DataLoader, Dataset

from corpus import read_pairs


class TextDataset(Dataset):
    def __init__(self, pairs):
        self.pairs = pairs

    def __len__(self):
        return len(self.pairs)

    def __getitem__(self, idx):
        return self.pairs[idx]


def infinite_loader(data_loader):
    while True:
        yield from data_loader


def load_data_text(batch_size, data_dir, split="train", loop=True):
    dataset = TextDataset(read_pairs(data_dir, split))
    data_loader = DataLoader(dataset, batch_size=batch_size, shuffle=True, num_workers=4)
    return infinite_loader(data_loader) if loop else iter(data_loader)
