"""Nothing shows that rank 0 alone opens the board."""

from start import start
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.tensorboard import SummaryWriter


def main(args, net, batches, optimizer):
    start(args)
    net = DDP(net)
    board = None
    if args.curves and args.worker == 0:
        board = SummaryWriter(args.folder)  # expect: DL704
    for step, batch in enumerate(batches):
        loss = net(batch).mean()
        loss.backward()
        optimizer.step()
        if board is not None:
            board.add_scalar("loss", loss.item(), step)


if __name__ == "__main__":
    main(None, None, [], None)
