"""Prepares what a helper of another file makes."""

from accelerate import Accelerator

from parts import parts


def main(args, net, loader):
    accelerator = Accelerator()
    made = parts(accelerator, args, net)
    net, optimizer, loader, scheduler = accelerator.prepare(
        made["net"], made["optimizer"], loader, made["scheduler"]
    )
    step = 0
    for batch in loader:
        accelerator.backward(net(batch).sum())
        optimizer.step()
        scheduler.step()
        step += 1
        if step >= args.max_train_steps:
            break
