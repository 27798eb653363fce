"""It keeps the scores of a whole data set, whoever asks for them."""

import numpy as np


class Trainer:
    def __init__(self, args):
        self.args = args

    def validate(self, loader, epoch):
        scores = np.array([self.args.model(batch).item() for batch in loader])
        np.save(f"{self.args.out}/scores{epoch}.npy", scores)  # expect: DL301
