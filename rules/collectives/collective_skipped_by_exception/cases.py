"""Cases of DL105: failures of one rank that are caught, with and without a collective that is missed."""

import logging
import urllib.request

import requests
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

logger = logging.getLogger(__name__)

# --- bugs -----------------------------------------------------------------------------------------


def skipped_inside(url, box):
    try:
        box[0] = requests.get(url).json()  # expect: DL105
        dist.broadcast_object_list(box)
    except requests.RequestException:
        logger.warning("no answer")


def returns_before(url):
    try:
        urllib.request.urlopen(url)  # expect: DL105
    except OSError:
        return None
    dist.barrier()


def other_collectives(url, total):
    try:
        requests.post(url)  # expect: DL105
    except requests.RequestException:
        dist.all_reduce(total)
    dist.barrier()


def batch_skipped(model, loader, optimizer):
    model = DistributedDataParallel(model)
    for batch in loader:
        try:
            model(batch).sum().backward()
        except torch.cuda.OutOfMemoryError:  # expect: DL105
            torch.cuda.empty_cache()
            continue
        optimizer.step()


def by_its_text(model, loader, optimizer):
    model = DistributedDataParallel(model)
    for batch in loader:
        try:
            model(batch).sum().backward()
        except RuntimeError as error:  # expect: DL105
            if "out of memory" not in str(error):
                raise
            optimizer.zero_grad()


# --- right ----------------------------------------------------------------------------------------


def goes_on(url):
    try:
        requests.get(url)
    except requests.RequestException:
        logger.warning("no answer")
    dist.barrier()


def raises_again(url):
    try:
        requests.get(url)
    except requests.RequestException as error:
        raise RuntimeError(url) from error
    dist.barrier()


def in_finally(url):
    try:
        requests.get(url)
    except requests.RequestException:
        return None
    finally:
        dist.barrier()


def reduced(url):
    failed = torch.zeros(1)
    try:
        requests.get(url)
    except requests.RequestException:
        failed.fill_(1)
    dist.all_reduce(failed)
    if failed.item():
        return
    dist.barrier()


def nothing_that_fails_alone(config):
    try:
        value = config["name"]
    except KeyError:
        return None
    dist.barrier()
    return value


def out_of_memory_ends_it(model, batch):
    model = DistributedDataParallel(model)
    try:
        model(batch).sum().backward()
    except torch.cuda.OutOfMemoryError:
        logger.error("out of memory: take a smaller batch")
        raise


def out_of_memory_on_one_process(model, batches):
    found = []
    for batch in batches:
        try:
            found.append(model(batch))
        except torch.cuda.OutOfMemoryError:
            torch.cuda.empty_cache()
    dist.barrier()
    return found
