import torch
import torch.distributed as dist


def save(model, path):
    dist.barrier()
    if dist.get_rank() == 0:
        torch.save(model.state_dict(), path)
    dist.barrier()


if __name__ == "__main__":
    dist.init_process_group("nccl")
    model = torch.nn.Linear(4, 4).cuda()
    save(model, "shown_checkpoint.pth")
    dist.barrier()
    model.load_state_dict(torch.load("shown_checkpoint.pth"))  # expect: DL505
