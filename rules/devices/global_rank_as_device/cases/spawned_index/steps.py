import torch.distributed as dist


def one_epoch(batches, args):
    for batch in batches:
        if args.rank == 0:
            print(len(batch))
        each = batch.cuda(args.gpu)
        dist.all_reduce(each)
