import numpy as np


def by_class(predictions, labels, loader):
    if isinstance(loader, np.ndarray):
        known = np.array(loader)
    else:
        known = np.array(loader.dataset.labels)
    hits = [a == b for a, b in zip(predictions, labels) if (known == b).sum() > 20]
    return np.mean(hits), hits
