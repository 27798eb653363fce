def one_epoch(batches, args):
    for batch in batches:
        if args.rank == 0:
            print(len(batch))
        yield batch.cuda(args.gpu)
