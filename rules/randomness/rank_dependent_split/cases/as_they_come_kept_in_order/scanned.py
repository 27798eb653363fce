"""Sources of samples that several workers read, and that are in one order on all ranks."""

from concurrent.futures import ThreadPoolExecutor, as_completed
from multiprocessing import Pool

from torch.utils.data import Dataset


class Source:
    def __init__(self, files, read):
        self.rows = self.scanned(files, read)
        self.times = self.timed(files, read)

    def scanned(self, files, read):
        rows = []
        with Pool(4) as pool:
            for number, row in pool.imap_unordered(read, enumerate(files)):
                rows.append((number, row))
        rows.sort()
        return rows

    def timed(self, files, read):
        with Pool(4) as pool:
            return list(pool.imap_unordered(read, files))

    def __len__(self):
        return len(self.rows)

    def sample(self, index):
        return self.rows[index], min(self.times)


class Pages(Dataset):
    def __init__(self, files, read):
        self.pages = [None] * len(files)
        with ThreadPoolExecutor() as pool:
            asked = {pool.submit(read, file): place for place, file in enumerate(files)}
            for done in as_completed(asked):
                self.pages[asked[done]] = done.result()

    def __len__(self):
        return len(self.pages)

    def __getitem__(self, index):
        return self.pages[index]
