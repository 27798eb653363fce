import json
import random

from torch.utils.data import Dataset
from transformers import Trainer


class Shuffled(Dataset):
    # what the script trains on
    def __init__(self, path):
        super(Shuffled, self).__init__()
        self.rows = json.load(open(path))
        random.shuffle(self.rows)  # expect: DL405

    def __getitem__(self, number):
        return self.rows[number]


class AsTheyStand(Dataset):
    def __init__(self, path):
        self.rows = json.load(open(path))

    def __getitem__(self, number):
        return self.rows[number]


def make_shuffled(path):
    return Shuffled(path)


def make_data(path):
    return AsTheyStand(path)


def train(model, arguments):
    data = make_shuffled(arguments.path)
    trainer = Trainer(model=model, args=arguments, train_dataset=data)
    trainer.train()


if __name__ == "__main__":
    train(None, None)
