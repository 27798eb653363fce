"""Sources of samples that several workers read."""

from concurrent.futures import ThreadPoolExecutor, as_completed
from multiprocessing import Pool

from torch.utils.data import Dataset


class Source:
    # EasyCV 901ff18 easycv/datasets/detection/data_sources/base.py:103
    def __init__(self, files, read):
        self.rows = self.scanned(files, read)

    def scanned(self, files, read):
        rows = []
        with Pool(4) as pool:
            for _, row in enumerate(pool.imap_unordered(read, files)):  # expect: DL405
                if row:
                    rows.append(row)
        return rows

    def __len__(self):
        return len(self.rows)

    def sample(self, index):
        return self.rows[index]


class Pages(Dataset):
    def __init__(self, files, read):
        self.pages = []
        with ThreadPoolExecutor() as pool:
            asked = [pool.submit(read, file) for file in files]
            for done in as_completed(asked):  # expect: DL405
                self.pages.append(done.result())

    def __len__(self):
        return len(self.pages)

    def __getitem__(self, index):
        return self.pages[index]
