import click
import torch
import torch.distributed as dist


@click.group()
def main():
    pass


@main.command()
@click.option("--path")
def train(path):
    dist.init_process_group("nccl")
    torch.save(torch.nn.Linear(2, 2).state_dict(), path)  # expect: DL301


if __name__ == "__main__":
    main()
