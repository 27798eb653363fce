"""The proof of DL105, repaired by hand: the failure is reduced before anybody returns."""

import urllib.request
from datetime import timedelta
from pathlib import Path

import torch.distributed as dist

from distlint.runtime import any_rank

dist.init_process_group("gloo", timeout=timedelta(seconds=60))
here = Path(f"data-{dist.get_rank()}.txt").resolve()
if dist.get_rank() == 0:
    here.write_text("data")


def prepare(url):
    try:
        data = urllib.request.urlopen(url).read()
    except OSError:
        data = None
    if any_rank(data is None):
        return None
    dist.barrier()
    return data


print(prepare(here.as_uri()))
dist.destroy_process_group()
