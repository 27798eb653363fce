"""It keeps the scores of a whole data set, on the first GPU."""

import numpy as np


class Trainer:
    def __init__(self, args):
        self.args = args

    def validate(self, loader, epoch):
        scores = np.array([self.args.model(batch).item() for batch in loader])
        if self.args.gpu == 0:
            np.save(f"{self.args.out}/scores{epoch}.npy", scores)
