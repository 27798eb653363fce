import json
import random

from torch.utils.data import Dataset


def read_jsonl(path):
    with open(path) as file:
        return [json.loads(line) for line in file]


class LazySupervisedDataset(Dataset):
    def __init__(self, processor, data_args):
        super().__init__()
        self.processor = processor
        records = []
        for name in data_args.dataset_use.split(","):
            records += read_jsonl(f"annotations/{name}.jsonl")
        random.shuffle(records)
        self.records = records

    def __len__(self):
        return len(self.records)

    def __getitem__(self, i):
        record = self.records[i]
        return self.processor(text=record["text"], images=record.get("image"))
