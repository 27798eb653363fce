import json
import random

from torch.utils.data import Dataset
from transformers import Trainer


class Shuffled(Dataset):
    # KVTP b634abb llava/train/train_siglip.py:1396: of another script, from which this one was copied
    def __init__(self, path):
        super(Shuffled, self).__init__()
        self.rows = json.load(open(path))
        random.shuffle(self.rows)

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
    data = make_data(arguments.path)
    trainer = Trainer(model=model, args=arguments, train_dataset=data)
    trainer.train()


if __name__ == "__main__":
    train(None, None)
