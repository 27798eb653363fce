import numpy as np


def by_class(predictions, labels, loader):
    known = np.array([label for _, label in loader])
    print(loader.dataset.labels)
    hits = [a == b for a, b in zip(predictions, labels) if (known == b).sum() > 20]
    return np.mean(hits), hits
