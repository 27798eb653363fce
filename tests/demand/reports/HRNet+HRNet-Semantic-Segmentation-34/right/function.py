import logging

import torch
import torch.distributed as dist

from meters import AverageMeter


def reduce_tensor(inp):
    """Reduce the loss from all processes so that process 0 has the averaged result."""
    world_size = dist.get_world_size()
    if world_size < 2:
        return inp
    with torch.no_grad():
        reduced_inp = inp.detach().clone()
        dist.reduce(reduced_inp, dst=0)
    return reduced_inp / world_size


def train(config, epoch, trainloader, optimizer, model, writer_dict, device):
    model.train()
    ave_loss = AverageMeter()
    rank = dist.get_rank()
    for i_iter, (images, labels) in enumerate(trainloader):
        losses, _ = model(images.to(device), labels.long().to(device))
        loss = losses.mean()
        reduced_loss = reduce_tensor(loss)
        model.zero_grad()
        loss.backward()
        optimizer.step()
        ave_loss.update(reduced_loss.item())
        if i_iter % config.print_freq == 0 and rank == 0:
            logging.info("Epoch: %d Iter: %d Loss: %.6f", epoch, i_iter, ave_loss.average())
            writer_dict["writer"].add_scalar("train_loss", ave_loss.average(), writer_dict["steps"])
            writer_dict["steps"] += 1
