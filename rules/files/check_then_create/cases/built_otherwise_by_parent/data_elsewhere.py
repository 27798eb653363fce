import json
import os

from torch.utils.data import Dataset


class Windows(Dataset):
    def __init__(self, root, args, held_out):
        path = args.test_list if held_out else args.train_list
        if os.path.exists(path):
            with open(path) as file:
                self.windows = json.load(file)
        else:
            self.windows = [name for name in os.listdir(root) if (name[0] == "t") is held_out]
            with open(path, "w") as file:  # expect: DL305
                json.dump(self.windows, file)
