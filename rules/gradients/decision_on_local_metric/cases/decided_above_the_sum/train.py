import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler


def main(data, epochs, device):
    dist.init_process_group("nccl")
    model = DDP(torch.nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters())
    sampler = DistributedSampler(data)
    loader = DataLoader(data, sampler=sampler)
    best_loss = float("inf")
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        epoch_loss = 0.0
        num_batches = 0
        for batch in loader:
            loss = model(batch).mean()
            loss.backward()
            optimizer.step()
            epoch_loss += loss.item()
            num_batches += 1
        avg_loss = epoch_loss / num_batches
        if dist.get_rank() == 0:
            if avg_loss < best_loss:  # expect: DL601
                best_loss = avg_loss
                torch.save(model.module.state_dict(), "best.pt")
        loss_tensor = torch.tensor([avg_loss], device=device)
        dist.all_reduce(loss_tensor, op=dist.ReduceOp.AVG)
        avg_loss = loss_tensor.item()
        print(epoch, avg_loss)
